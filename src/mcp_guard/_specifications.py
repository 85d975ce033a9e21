"""How `referencing` reads a document of each dialect: its own rules for names, our tables for where subschemas stand.

Its own tables stop at `dependencies` of both kinds: where the first holds a schema, it takes all of them for schemas
and fails over the lists of names; where the first is a list, it passes the schemas by. An embedded document that names
another dialect is still read by its own tables: what it takes for that can't be changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from mcp_guard._canonical import is_object
from mcp_guard._dialects import Dialect, positions

if TYPE_CHECKING:
    from referencing import Resource, Specification

_NAMES: Final[dict[Dialect, str]] = {
    "draft4": "DRAFT4",
    "draft6": "DRAFT6",
    "draft7": "DRAFT7",
    "draft2019-09": "DRAFT201909",
    "draft2020-12": "DRAFT202012",
}


def as_resource(schema: Any, dialect: Dialect) -> Resource[Any]:
    """A schema as a resource of the `referencing` package."""
    return _specification(dialect).create_resource(schema)


@cache
def _specification(dialect: Dialect) -> Specification[Any]:
    import referencing.jsonschema  # the heavy import waits

    theirs = getattr(referencing.jsonschema, _NAMES[dialect])

    def subschemas(schema: dict[str, Any]) -> Iterator[Any]:
        # what is `true` or `false` names nothing, and in draft-04 would not even be asked
        return (at.schema for at in positions(schema, dialect) if is_object(at.schema))

    return referencing.Specification(  # type: ignore[call-arg]  # attrs makes it
        name=theirs.name,
        id_of=theirs.id_of,
        subresources_of=subschemas,
        maybe_in_subresource=theirs.maybe_in_subresource,
        anchors_in=theirs._anchors_in,  # noqa: SLF001  # what its constructor takes is kept under no other name
    )
