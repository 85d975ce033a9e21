"""`Contracts`: what the tools of one or more servers promised, keyed by server and by the name on the wire.

No I/O but in `save` and `load`. What they write and read is the lock file that `guard(pins=...)` takes.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final, get_args

from mcp_guard import _words
from mcp_guard._canonical import Flaw, FlawCode
from mcp_guard._contract import Contract
from mcp_guard._drift import between
from mcp_guard._facts import Change, is_array, is_object
from mcp_guard._kept import Kept
from mcp_guard.policy import Limits

FORMAT: Final = "mcp-guard-contracts"
VERSION: Final = 1
"""The version of the file's format: raised where an older reader would misread a file."""
_UNSEEN: Final = re.compile(r"[^\n\x20-\x7e]")


@final
class Contracts:
    """A set of contracts. Give one to several guards, and they share what one of them has listed."""

    def __init__(self) -> None:
        self._listed: dict[str, dict[str, Contract]] = {}
        self._registered: dict[str, dict[str, Contract]] = {}
        self._until: dict[str, float | None] = {}
        self._kept = Kept()
        self.listing_truncated: bool = False
        """Whether a listing was left before its end: a repeated cursor, or over `Limits.pages`, `tools` or
        `listing_bytes`."""

    def register(self, contract: Contract, *, server: str = "") -> None:
        """Add a contract of your own. It goes before what the server lists under this name, now and later.

        Raises:
            TypeError: `contract` is no `Contract`.
        """
        if not isinstance(contract, Contract):
            raise TypeError(f"register takes a Contract, not {type(contract).__name__}; see Contract.from_tool(tool)")
        self._registered.setdefault(server, {})[contract.name] = contract

    def learn(self, contracts: Iterable[Contract], *, server: str = "", until: float | None = None) -> None:
        """Take a whole listing, `contracts`: it replaces what was listed of this `server` before.

        Two equal definitions count once; two different ones of a name make its contract unusable, ``ambiguous``.
        `until` is when it is out of date by the server's own word, on the clock of those who list.
        """
        known = self._listed.get(server, {})
        listed: dict[str, Contract] = {}
        for contract in contracts:
            earlier = listed.get(contract.name)
            if earlier is None:
                old = known.get(contract.name)
                # an unchanged tool keeps the contract that is already compiled
                keep = old is not None and old == contract and not old.is_ambiguous
                listed[contract.name] = old if keep and old is not None else contract
            elif earlier != contract:
                listed[contract.name] = earlier.ambiguous()
        for contract in listed.values():
            contract.keep_in(self._kept)
        self._listed[server] = listed
        self._until[server] = until

    def replace(self, old: Contract, new: Contract, *, server: str = "") -> None:
        """Put `new`, made again of `old`, in its place, where that very one still is with this `server`."""
        for kept in (self._registered.get(server, {}), self._listed.get(server, {})):
            if kept.get(old.name) is old:
                kept[old.name] = new
                new.keep_in(self._kept)

    def is_listed(self, server: str = "") -> bool:
        """Whether a server's contracts were listed by one of those who share this set, and not only loaded."""
        return server in self._until

    def is_of(self, server: str) -> bool:
        """Whether a listing of this server is in the set, be it an empty one."""
        return server in self._listed

    def holds(self, server: str, now: float) -> bool:
        """Whether a `server`'s contracts are in date by its own word; `now` is on the clock of `learn`'s `until`."""
        until = self._until.get(server)
        return until is None or now < until

    def of(self, server: str = "") -> Mapping[str, Contract]:
        """The contracts of one server, by the tool's name on the wire."""
        return MappingProxyType({**self._listed.get(server, {}), **self._registered.get(server, {})})

    def get(self, tool: str, *, server: str = "") -> Contract | None:
        """The contract of one tool of the `server` (its name in this set), or `None`. One of your own goes first."""
        registered = self._registered.get(server, {}).get(tool)
        return self._listed.get(server, {}).get(tool) if registered is None else registered

    def published(self, tool: str, *, server: str = "") -> Contract | None:
        """What the server itself says of a tool, also where a registered contract goes before it; or `None`."""
        return self._listed.get(server, {}).get(tool)

    def is_registered(self, tool: str, *, server: str = "") -> bool:
        """Whether there is a contract of your own for this tool of the `server` (its name in this set)."""
        return tool in self._registered.get(server, {})

    def diff(self, other: Contracts) -> tuple[Change, ...]:
        """What is different in `other`: what changed since this was listed. By server and tool, in their order.

        Compared is what the servers list: names, descriptions, input and output schemas, annotations. Contracts of
        your own are not compared, nor are titles, icons and `_meta`.

        Raises:
            TypeError: `other` is no `Contracts`.
        """
        if not isinstance(other, Contracts):
            raise TypeError(f"diff takes a Contracts, not {type(other).__name__}; see Contracts.load(path)")
        return tuple(
            change
            for server in sorted({*self._listed, *other._listed})
            for change in between(self._listed.get(server, {}), other._listed.get(server, {}), server=server)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to a file, all at once: readable JSON, sorted, the same bytes for the same contracts.

        What a reader of the file could not see (control, bidi, zero-width characters) is written as an escape.

        Raises:
            OSError: The file can't be written; what was there before is as it was.
        """
        target = Path(os.path.realpath(path))  # a link goes on being one
        content = {
            "format": FORMAT,
            "version": VERSION,
            "servers": _written(self._listed),
            "registered": _written(self._registered),
        }
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            with draft.open("x", encoding="utf-8", newline="\n") as file:
                file.write(_UNSEEN.sub(_visible, text) + "\n")
            draft.replace(target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, limits: Limits | None = None) -> Contracts:
        """The set that `save` wrote. Nothing in it is compiled before it is asked for.

        Args:
            path: The file.
            limits: The bounds of the contracts in it; `None` for those of `Limits()`.

        Raises:
            OSError: The file can't be read.
            ValueError: It is not what `save` wrote: broken, changed by hand, something else, or of a newer version.
        """
        path = Path(path)
        try:
            content: Any = json.loads(path.read_bytes().decode("utf-8"))
        except json.JSONDecodeError as exc:
            where = f"line {exc.lineno}, column {exc.colno}"
            raise ValueError(f"{path} is no JSON ({where}); is a merge in it unresolved?") from None
        except (UnicodeDecodeError, ValueError, RecursionError):
            raise ValueError(f"{path} is no JSON file of mcp_guard") from None
        if not is_object(content) or content.get("format") != FORMAT:
            raise ValueError(f"{path} was not written by Contracts.save: it does not say that it is {FORMAT!r}")
        if content.get("version") != VERSION:
            raise ValueError(f"{path} is in another version of the format than {VERSION}; this mcp_guard can't read it")
        loaded = cls()
        try:
            loaded._listed = _read(content.get("servers"), limits)
            loaded._registered = _read(content.get("registered"), limits)
            for contract in loaded:
                contract.keep_in(loaded._kept)
        except _BrokenError as exc:
            raise ValueError(f"{path}: {exc}; it was changed by hand, or damaged: write it anew") from None
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in self.__dict__.items() if name != "_kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _kept=Kept())
        for contract in self:
            contract.keep_in(self._kept)

    def __getitem__(self, tool: str) -> Contract:
        """The contract of the one tool of this name.

        Raises:
            KeyError: No server lists it, or more than one does; then ask with `get(tool, server=...)`.
        """
        found = [c for s in self.servers() if (c := self.get(tool, server=s)) is not None]
        if len(found) != 1:
            raise KeyError(f"{len(found)} contracts are named {_words.name(str(tool))}")
        return found[0]

    def __contains__(self, tool: Any) -> bool:
        return any(self.get(tool, server=s) is not None for s in self.servers())

    def __iter__(self) -> Iterator[Contract]:
        for server in self.servers():
            yield from self.of(server).values()

    def __len__(self) -> int:
        return sum(len(self.of(s)) for s in self.servers())

    def __repr__(self) -> str:
        return f"Contracts({len(self)} of {len(self.servers())} servers)"

    def servers(self) -> list[str]:
        """The servers of which there are contracts."""
        return sorted({*self._listed, *self._registered})


class _BrokenError(Exception):
    """What does not fit in a file that was read."""


def _written(contracts: Mapping[str, Mapping[str, Contract]]) -> dict[str, Any]:
    return {server: {name: _entry(c) for name, c in tools.items()} for server, tools in contracts.items()}


def _entry(contract: Contract) -> dict[str, Any]:
    entry: dict[str, Any] = {"definition": contract.definition, "fingerprints": contract.fingerprints}
    if contract.flaws:
        entry["not_kept"] = {key: [flaw.code, flaw.found] for key, flaw in contract.flaws.items()}
    if contract.is_ambiguous:
        entry["ambiguous"] = True
    return entry


def _read(content: object, limits: Limits | None) -> dict[str, dict[str, Contract]]:
    if not is_object(content) or not all(map(is_object, content.values())):
        raise _BrokenError("its tools are not where they should be")
    return {
        server: {name: _contract(name, entry, limits) for name, entry in tools.items()}
        for server, tools in content.items()
    }


def _contract(name: str, entry: object, limits: Limits | None) -> Contract:
    shown = _words.name(name)
    definition = entry.get("definition") if is_object(entry) else None
    if not is_object(entry) or not is_object(definition) or definition.get("name") != name:
        raise _BrokenError(f"the tool {shown} has no definition of its name")
    not_kept = entry.get("not_kept", {})
    if not is_object(not_kept):
        raise _BrokenError(f"the tool {shown} is not written as save writes it")
    flaws = {key: _flaw(shown, flaw) for key, flaw in not_kept.items()}
    contract = Contract(name, definition={**definition, **flaws}, limits=limits, defer=True)
    if contract.fingerprints != entry.get("fingerprints"):
        raise _BrokenError(f"the definition of the tool {shown} does not fit its fingerprints")
    return contract.ambiguous() if entry.get("ambiguous") is True else contract


def _flaw(shown: str, written: object) -> Flaw:
    if is_array(written) and len(written) == 2:  # noqa: PLR2004  # code and number
        code, found = written
        if code in get_args(FlawCode) and isinstance(found, int):
            return Flaw(code, found)
    raise _BrokenError(f"the tool {shown} is not written as save writes it")


def _visible(match: re.Match[str]) -> str:
    character = match[0]
    if _words.escape(character) == character:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
