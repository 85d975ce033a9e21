"""`Contracts`: what the tools of one or more servers promised, keyed by server and by the name on the wire. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, final

from mcp_guard import _words
from mcp_guard._contract import Contract


@final
class Contracts:
    """A set of contracts. Give one to several guards, and they share what one of them has listed."""

    def __init__(self) -> None:
        self._listed: dict[str, dict[str, Contract]] = {}
        self._registered: dict[str, dict[str, Contract]] = {}
        self.listing_truncated: bool = False
        """Whether a listing was left before its end: a repeated cursor, or over `Limits.pages` or `Limits.tools`."""

    def register(self, contract: Contract, *, server: str = "") -> None:
        """Add a contract of your own. It goes before what the server lists under this name, now and later.

        Raises:
            TypeError: `contract` is no `Contract`.
        """
        if not isinstance(contract, Contract):
            raise TypeError(f"register takes a Contract, not {type(contract).__name__}; see Contract.from_tool(tool)")
        self._registered.setdefault(server, {})[contract.name] = contract

    def learn(self, contracts: Iterable[Contract], *, server: str = "") -> None:
        """Take a whole listing: it replaces what was listed of this server before.

        Two equal definitions count once; two different ones of a name make its contract unusable, ``ambiguous``.
        """
        known = self._listed.get(server, {})
        listed: dict[str, Contract] = {}
        for contract in contracts:
            earlier = listed.get(contract.name)
            if earlier is None:
                old = known.get(contract.name)
                # an unchanged tool keeps the contract that is already compiled
                listed[contract.name] = old if old is not None and old == contract else contract
            elif earlier != contract:
                listed[contract.name] = earlier.ambiguous()
        self._listed[server] = listed

    def of(self, server: str = "") -> Mapping[str, Contract]:
        """The contracts of one server, by the tool's name on the wire."""
        return MappingProxyType({**self._listed.get(server, {}), **self._registered.get(server, {})})

    def get(self, tool: str, *, server: str = "") -> Contract | None:
        """The contract of one tool, or `None`."""
        registered = self._registered.get(server, {}).get(tool)
        return self._listed.get(server, {}).get(tool) if registered is None else registered

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
