"""``mcp-guard explain``: what a rule, an error or an exit status is about."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from mcp_guard.cli import common


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("explain", help="say what a rule, a kind of error or an exit status is about")
    parser.add_argument("code", nargs="?", metavar="CODE", help="without it all there are")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    texts = _texts()
    if args.code is None:
        common.put("".join(f"{code:26} {text.splitlines()[0]}\n" for code, text in texts.items()))
        return common.FINE
    if args.code not in texts:
        near = difflib.get_close_matches(str(args.code), texts, 1)
        hint = f"; do you mean {near[0]}?" if near else "; `mcp-guard explain` lists all"
        raise common.FailedError(common.USAGE, f"there is no code {args.code!r}{hint}")
    common.put(texts[args.code] + "\n")
    return common.FINE


def _texts() -> dict[str, str]:
    import inspect

    from mcp_guard import errors
    from mcp_guard._lint import RULES

    texts = {r.code: f"{r.title} ({r.level})\n\n{r.why}\n\nWhat to do: {r.what_to_do}" for r in RULES.values()}
    for kind in vars(errors).values():
        code = vars(kind).get("kind") if inspect.isclass(kind) and issubclass(kind, errors.GuardError) else None
        if isinstance(code, str):
            texts[code] = f"{kind.__name__}: {inspect.cleandoc(kind.__doc__ or '')}"
    texts.update({str(status): says for status, says in common.STATUSES.items()})
    return texts
