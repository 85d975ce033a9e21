"""The reference as Markdown for language models: what mkdocstrings shows of a name, as signatures and docstrings.

Needs griffe, which the environment of `make docs` has.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import griffe

ROOT: Final = Path(__file__).parents[1]
_BLOCK: Final = re.compile(r"^::: ([\w.]+)\n((?: {4}.*\n)*)", re.MULTILINE)


def written_out(text: str) -> str:
    """A page with each `::: name` replaced by what there is to say of that name."""
    return _BLOCK.sub(lambda match: _told(match[1], alone="members: false" in match[2]), text)


@cache
def _package() -> griffe.Object | griffe.Alias:
    extensions = griffe.load_extensions(str(ROOT / "scripts" / "literal_blocks.py"))
    return griffe.load("mcp_guard", search_paths=[str(ROOT / "src")], extensions=extensions)


def _told(name: str, *, alone: bool) -> str:
    found = _package()[name.removeprefix("mcp_guard.")]
    parts = [f"### {name}", _described(found)]
    if found.is_class and not alone:
        members = [member for each, member in found.members.items() if not each.startswith("_")]
        parts += [f"#### {name}.{member.name}\n\n{_described(member)}" for member in members if member.docstring]
    return "\n\n".join(part for part in parts if part) + "\n"


def _described(found: griffe.Object | griffe.Alias) -> str:
    target = found.final_target if isinstance(found, griffe.Alias) else found
    text = target.docstring.value if target.docstring else ""
    sign = target.signature() if isinstance(target, (griffe.Function, griffe.Class)) else ""
    return "\n\n".join(part for part in (f"```python\n{sign}\n```" if sign else "", text) if part)
