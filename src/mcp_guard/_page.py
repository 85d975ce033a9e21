"""How one page of a tool's data is read: its items, the cursor of the next page, whether it is cut short. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias, cast, final

from mcp_guard import _words
from mcp_guard._canonical import canonical_json
from mcp_guard._facts import Violation, is_array, is_object, json_type
from mcp_guard._readers import is_plain

Selector: TypeAlias = str | Callable[[Any], Any]
"""Where something stands: the name of a member, a JSON pointer (RFC 6901: empty, or with a slash in front), or a
function of the value."""

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_SHORT: Final = 40  # characters; what is longer is remembered by its hash


class Nothing(Enum):
    """What is found where nothing stands."""

    ABSENT = "absent"


ABSENT: Final = Nothing.ABSENT


@final
@dataclass(frozen=True, slots=True)
class Page:
    """One page. `marks` has for each item what its key is known by, `None` where it has no key."""

    items: tuple[Any, ...]
    marks: tuple[Hashable | None, ...]
    cursor: Any
    """Of the next page, `None` where there is none."""
    truncated: bool


class Unreadable(Exception):  # noqa: N818  # a way out of the reading; it goes no further than `PageReader.read`
    """What the caller asked for is not in the page."""

    def __init__(self, violation: Violation, cause: Exception | None = None) -> None:
        self.violation = violation
        self.cause = cause


@final
class PageReader:
    """Where a tool has what makes a page.

    Raises:
        TypeError: A selector is neither a string nor a plain function.
        ValueError: A string is no JSON pointer.
    """

    def __init__(
        self, items: Selector, next_cursor: Selector, truncated: Selector | None, key: Selector | None
    ) -> None:
        self._items = _Place("items", items)
        self._next_cursor = _Place("next_cursor", next_cursor)
        self._truncated = None if truncated is None else _Place("truncated", truncated)
        self._key = None if key is None else _Place("key", key)

    def read(self, value: Any) -> Page | Unreadable:
        """The page that a tool's data is, or why it is none."""
        try:
            items = self._items.find_all(value)
            cursor = self._next_cursor.find(value)
            cursor = None if cursor is ABSENT else cursor
            self.mark(cursor)
            truncated = ABSENT if self._truncated is None else self._truncated.find(value)
            return Page(
                items=items,
                marks=tuple(None if self._key is None else self._key.mark(self._key.find(item)) for item in items),
                cursor=cursor,
                truncated=truncated is not ABSENT and bool(truncated),
            )
        except Unreadable as out:
            return out

    def mark(self, cursor: Any) -> Hashable | None:
        """What a cursor is known by."""
        return self._next_cursor.mark(cursor)

    def repeated(self, page: Page) -> Violation:
        """What is wrong with a page whose cursor was there before."""
        return self._next_cursor.violation("cursor", page.cursor, "is a cursor that was there before")


@final
class _Place:
    """Where one thing stands in a page or an item."""

    def __init__(self, name: str, given: object) -> None:
        self._name = name
        self._path: tuple[str, ...] | None = None
        self._function: Callable[[Any], Any] | None = None
        if isinstance(given, str):
            self._path = _path(name, given)
        elif is_plain(given):
            self._function = cast("Callable[[Any], Any]", given)
        else:
            raise TypeError(
                f"{name} takes the name of a member, a JSON pointer or a plain function, not {type(given).__name__}"
            )

    def find(self, value: Any) -> Any:
        """What stands there, or `ABSENT`."""
        if self._function is not None:
            return self._asked(self._function, value)
        for token in self._path or ():
            if is_object(value) and token in value:
                value = value[token]
            elif is_array(value) and _INDEX.fullmatch(token) and int(token) < len(value):
                value = value[int(token)]
            else:
                return ABSENT
        return value

    def find_all(self, value: Any) -> tuple[Any, ...]:
        """The items that stand there. Null is an empty list, as some languages write it; nothing at all is a fault."""
        found = self.find(value)
        if found is ABSENT:
            raise Unreadable(self.violation("required", value, "must be there, as a list"))
        if found is None:
            return ()
        if is_array(found):
            return tuple(found)
        if self._function is not None and _is_iterable(found):
            return tuple(self._asked(list, found))
        raise Unreadable(self.violation("type", found, "must be array"))

    def mark(self, value: Any) -> Hashable | None:
        """Something by which JSON-equal values are known, `None` for nothing and null."""
        if value is ABSENT or value is None:
            return None
        written = canonical_json(value)
        if written is not None:
            return written if len(written) <= _SHORT else hashlib.blake2b(written, digest_size=16).digest()
        self._asked(hash, value)
        return "made", value

    def violation(self, keyword: str, value: Any, says: str) -> Violation:
        """A `Violation` at this place. Its pointer is the caller's own, so it may be shown."""
        at = _words.pointer(self._path or ())
        shown = _words.line(at) if self._function is None else f"what {self._name}= gives"
        return Violation(at, "", keyword, None, json_type(value), value, shown, says)

    def _asked(self, function: Callable[[Any], Any], value: Any) -> Any:
        try:
            return function(value)
        except Exception as exc:
            says = f"is refused by what was given as {self._name}= ({type(exc).__name__})"
            raise Unreadable(Violation("", "", "type", None, json_type(value), value, "", says), exc) from exc


def _is_iterable(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _path(name: str, text: str) -> tuple[str, ...]:
    if text and not text.startswith("/"):
        return (text,)
    if re.search("~(?![01])", text):
        raise ValueError(f"{name}={text!r} is no JSON pointer: after ~ there stands 0 or 1 (RFC 6901)")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])
