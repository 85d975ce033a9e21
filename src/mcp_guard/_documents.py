"""The documents beside a schema that its references may lead to: by which names, how large. Decides about no schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from mcp_guard._canonical import Flaw, is_array, is_object, plain
from mcp_guard._facts import Unusable

if TYPE_CHECKING:
    from referencing import Resource
    from referencing._core import Resolved, Resolver

    from mcp_guard.policy import Limits


class Documents:
    """The caller's documents by URI, each copied when it is first asked for.

    They and the schema that refers to them have to be within the bounds of one schema.
    """

    def __init__(self, given: Mapping[str, dict[str, Any]], limits: Limits) -> None:
        self.given = {uri.removesuffix("#"): each for uri, each in given.items()}
        self.used: dict[str, dict[str, Any]] = {}
        """Those that were asked for."""
        self._limits = limits
        self._room = limits.schema_bytes

    def beside(self, schema: dict[str, Any]) -> None:
        """Count the schema that they stand beside."""
        if self.given:
            copied = plain(schema, depth=self._limits.schema_depth, size=self._room)
            self._room = 0 if isinstance(copied, Flaw) else self._room - copied.size

    def get(self, uri: str) -> dict[str, Any] | Unusable | None:
        """A copy of the document at a URI, or why it can't be used; `None` where there is none."""
        uri = uri.removesuffix("#")
        if uri not in self.used and uri in self.given:
            copied = plain(self.given[uri], depth=self._limits.schema_depth, size=self._room)
            if isinstance(copied, Flaw) and copied.code in {"too_large", "too_deep"}:
                limit = "schema_bytes" if copied.code == "too_large" else "schema_depth"
                allowed = getattr(self._limits, limit)
                return Unusable("too_complex", f"{limit}: {allowed} are allowed, found more in what it refers to")
            if isinstance(copied, Flaw) or not is_object(copied.value):
                return Unusable("invalid_schema", "a document that the schema refers to is no schema that can be read")
            self._room -= copied.size
            self.used[uri] = copied.value
        return self.used.get(uri)


def own_name(uri: str, resource: Resource[Any]) -> str:
    """What a document that is kept under a URI calls itself."""
    return urljoin(uri, resource.id() or "")


def look_up(resolver: Resolver[Any], reference: str, named: Mapping[int, str]) -> Resolved[Any]:
    """What a reference leads to.

    `named`: the names, by identity, of the documents that call themselves something else than they are kept under. That
    name is what their references are relative to (RFC 3986, section 5.1.1); `referencing` passes it by.
    """
    address, _, fragment = reference.partition("#")
    if named and address:
        document = resolver.lookup(address)
        name = named.get(id(document.contents))
        if name is not None:
            return document.resolver.lookup(f"{name}#{fragment}")
    return resolver.lookup(reference)


def leads_out(schema: object) -> bool:
    """Whether anything in a JSON value looks like a reference to elsewhere than in the value itself."""
    todo: list[Any] = [schema]
    while todo:
        each = todo.pop()
        if is_object(each):
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                reference = each.get(keyword)
                if isinstance(reference, str) and not reference.startswith("#"):
                    return True
        todo += each.values() if is_object(each) else each if is_array(each) else ()
    return False
