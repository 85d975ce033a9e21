"""Lets mkdocstrings read `::` before a block of code, as docstrings write it: in Markdown the indent alone says so."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class LiteralBlocks(Extension):
    """Leaves a colon, or nothing, of each `::` at the end of a line."""

    def on_object(self, *, obj: Object, **_kwargs: Any) -> None:
        """Griffe has made something of a definition; its docstring is not parsed yet."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                r"(?m)^(.*?)(:?):$", lambda m: m[1] and m[1] + ":" if m[2] else m[0], obj.docstring.value
            )
