"""Walks one schema, once: its dialect, its subschemas, the names it declares, every reference resolved.

The walk follows the tables of `_dialects`, so that what only looks like a reference (in `const`, `enum`, `examples`, or
as the name of a property) stays data. A reference leads the walk on: what it points to is a schema, wherever it stands.
Nothing is fetched. Nothing recurses: the depth is the server's to choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from mcp_guard import _words
from mcp_guard._canonical import Flaw, is_object, plain
from mcp_guard._dialects import (
    DEFAULT,
    LEGACY,
    REFERENCES,
    TABLES,
    URIS,
    VALUE_KEYWORDS,
    Dialect,
    Misplaced,
    Position,
    Use,
    declared,
    dialect_of,
    positions,
)
from mcp_guard._facts import Unusable, UnusableReason

if TYPE_CHECKING:
    from referencing import Registry, Resource, Specification
    from referencing._core import Resolver

    from mcp_guard.policy import Limits

_CHARACTER: Final = r"(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})"
_URI_REFERENCE: Final = re.compile(rf"(?:{_CHARACTER}|[\[\]])*(?:#{_CHARACTER}*)?")
_KEYWORDS: Final = frozenset[str]().union(*TABLES.values(), VALUE_KEYWORDS)
_METASCHEMA: Final = 60
"""Subschemas that a reference to a published metaschema counts for: about what the largest of them has."""
_SPECIFICATIONS: Final[dict[Dialect, str]] = {
    "draft4": "DRAFT4",
    "draft6": "DRAFT6",
    "draft7": "DRAFT7",
    "draft2019-09": "DRAFT201909",
    "draft2020-12": "DRAFT202012",
}


@dataclass(frozen=True, slots=True)
class Edge:
    """From a schema to one that it applies, holds or refers to."""

    keyword: str
    token: str | int | None
    to: int
    use: Use


@dataclass(slots=True)
class Node:
    """One schema that is an object, and where it was found: `edge` of the node `parent`, or a root."""

    schema: dict[str, Any]
    dialect: Dialect
    parent: int = -1
    path: tuple[str | int, ...] = ()
    edges: list[Edge] = field(default_factory=list[Edge])
    booleans: int = 0
    """How many of its subschemas are `true` or `false`."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the walk found. `nodes[0]` is the root of `schema`, in which each dialect has its usual spelling."""

    dialect: Dialect
    schema: dict[str, Any]
    nodes: list[Node]
    names: frozenset[str]
    resources: dict[str, dict[str, Any]]
    """Documents outside the schema that a reference leads to: the caller's, and metaschemas of other dialects."""
    closed: bool
    """Whether all that is applied stands in `nodes`: no reference leads to a published metaschema."""


class Refused(Exception):  # noqa: N818  # becomes a fact
    """The schema can't be used."""

    def __init__(self, reason: UnusableReason, detail: str, value: Any = None) -> None:
        super().__init__(reason)
        self.unusable = Unusable(reason, detail, value)


class _Nowhere(Exception):  # noqa: N818  # becomes `Refused`, when its place is known
    def __init__(self, reason: UnusableReason, detail: str) -> None:
        super().__init__(reason)
        self.reason: UnusableReason = reason
        self.detail = detail


def survey(schema: dict[str, Any], limits: Limits, resources: Mapping[str, dict[str, Any]]) -> Survey:
    """Walk a schema that is plain JSON.

    Raises:
        Refused: A dialect is not known, a keyword misplaced, a reference without a target or without an end.
    """
    walk = _Walk(limits, resources)
    walk.start(schema)
    respelled = walk.respelled(schema)
    if respelled is not schema:
        schema = respelled
        walk = _Walk(limits, resources)
        walk.start(schema)
    walk.place(schema)
    walk.follow()
    walk.tie_dynamic()
    return Survey(walk.dialect, schema, walk.nodes, frozenset(walk.names), walk.needed(), not walk.metaschemas)


class _Documents:
    """The caller's documents by URI, each copied when it is first asked for."""

    def __init__(self, given: Mapping[str, dict[str, Any]], limits: Limits) -> None:
        self._given = {uri.removesuffix("#"): each for uri, each in given.items()}
        self._limits = limits
        self._read: dict[str, dict[str, Any]] = {}

    def get(self, uri: str) -> dict[str, Any] | None:
        uri = uri.removesuffix("#")
        if uri not in self._read and uri in self._given:
            limits = self._limits
            copied = plain(self._given[uri], depth=limits.schema_depth, size=limits.schema_bytes)
            if isinstance(copied, Flaw) or not is_object(copied.value):
                raise Refused("invalid_schema", "a document that the schema refers to is no schema that can be read")
            self._read[uri] = copied.value
        return self._read.get(uri)

    def used(self) -> dict[str, dict[str, Any]]:
        return self._read


class _Walk:
    def __init__(self, limits: Limits, resources: Mapping[str, dict[str, Any]]) -> None:
        self.nodes: list[Node] = []
        self.names: set[str] = set()
        self.documents = _Documents(resources, limits)
        self.dialect: Dialect = DEFAULT
        self._limits = limits
        self._count = 0
        self._index: dict[int, int] = {}  # id of a schema -> its node; the nodes keep the schemas alive
        self._resolvers: list[Resolver[Any]] = []  # of each node
        self._resolved: dict[tuple[int, str], tuple[Any, Resolver[Any]]] = {}
        self._anchored: dict[str, list[int]] = {}
        self._recursive: list[int] = []
        self._dynamic: list[tuple[int, str, str]] = []  # node, keyword, name of the anchor
        self._respell: list[int] = []
        self._published: dict[int, str] = {}  # id of a metaschema's document -> its URI
        self.metaschemas: set[str] = set()

    def start(self, schema: dict[str, Any]) -> None:
        self.dialect = self._dialect_of(schema, DEFAULT)
        self._grow(schema, self.dialect)

    def place(self, schema: dict[str, Any]) -> None:
        """Index the identifiers of the document, and give each node its resolver."""
        root = self._resource(schema, self.dialect)
        try:
            base = root.id() or ""
            resolver = self._registry().with_resource(base, root).crawl().resolver(base)
        except Exception:  # noqa: BLE001  # it also reads what the walk leaves out, and takes it to be well formed
            raise Refused("invalid_schema", "a keyword's value is not what the dialect asks for") from None
        self._place(resolver)

    def follow(self) -> None:
        """Resolve the references of every node; what they lead to adds nodes at the end."""
        index = 0
        while index < len(self.nodes):
            node = self.nodes[index]
            for keyword in REFERENCES[node.dialect]:
                if keyword in node.schema:
                    self._refer(index, keyword)
            index += 1

    # the subschemas

    def _grow(self, schema: dict[str, Any], dialect: Dialect) -> int:
        """Add a schema and all that it holds; the node of it."""
        first = len(self.nodes)
        self._add(schema, dialect, -1, ())
        todo = [first]
        while todo:
            index = todo.pop()
            node = self.nodes[index]
            if node.dialect in LEGACY and "$ref" in node.schema:
                continue  # its siblings are void
            self.names.update(declared(node.schema))
            for at in self._positions(index):
                if isinstance(at.schema, bool):
                    node.booleans += 1
                    self._counted()
                    continue
                to = self._index.get(id(at.schema))
                if to is None:
                    path = (at.keyword,) if at.token is None else (at.keyword, at.token)
                    to = self._add(at.schema, node.dialect, index, path)
                    todo.append(to)
                node.edges.append(Edge(at.keyword, at.token, to, at.use))
        return first

    def _add(self, schema: dict[str, Any], dialect: Dialect, parent: int, path: tuple[str | int, ...]) -> int:
        index = len(self.nodes)
        self._counted()
        node = Node(schema, dialect, parent, path)
        self.nodes.append(node)
        self._index[id(schema)] = index
        if "$schema" in schema:
            node.dialect = self._dialect_of(schema, dialect)
        self._respell += [index] if _is_odd(node) else []
        self._identify(index, node)
        return index

    def _counted(self, more: int = 1) -> None:
        self._count += more
        allowed = self._limits.subschemas
        if self._count > allowed:
            raise Refused("too_complex", f"subschemas: {allowed} are allowed, found more")

    def _positions(self, index: int) -> Iterator[Position]:
        node = self.nodes[index]
        try:
            yield from positions(node.schema, node.dialect)
        except Misplaced as error:
            path = (error.keyword,) if error.token is None else (error.keyword, error.token)
            detail = f"{self._where(index, *path)} is no schema, and a schema has to stand there"
            raise Refused("invalid_schema", detail) from None

    def _identify(self, index: int, node: Node) -> None:
        keyword = "id" if node.dialect == "draft4" else "$id"
        if keyword in node.schema and not (node.dialect in LEGACY and "$ref" in node.schema):
            uri = node.schema[keyword]
            if not (isinstance(uri, str) and is_uri_reference(uri)):
                raise Refused("invalid_schema", f"{self._where(index, keyword)} is no URI reference", uri)
            self._counted(2)  # each makes a document of its own, which is three times the work
        anchor = node.schema.get("$dynamicAnchor")
        if isinstance(anchor, str):
            self._anchored.setdefault(anchor, []).append(index)
        if node.schema.get("$recursiveAnchor") is True:
            self._recursive.append(index)

    def _place(self, resolver: Resolver[Any]) -> None:
        """Give each node that is new its resolver: parents stand before their children."""
        for node in self.nodes[len(self._resolvers) :]:
            if node.parent >= 0:
                resolver = self._resolvers[node.parent]
                if "$id" in node.schema or "id" in node.schema:
                    resolver = resolver.in_subresource(self._resource(node.schema, node.dialect))
            self._resolvers.append(resolver)

    # documents and dialects

    def _registry(self) -> Registry[Any]:
        from referencing import Registry
        from referencing.exceptions import NoSuchResource

        resources: dict[str, Resource[Any]] = {}

        def retrieve(uri: str) -> Resource[Any]:
            found = self.documents.get(uri)
            if found is None:
                raise NoSuchResource(ref=uri)  # type: ignore[call-arg]  # attrs makes it
            if uri not in resources:
                resources[uri] = self._resource(found, self._dialect_of(found, self.dialect))
            return resources[uri]

        published = _metaschemas()
        self._published = {id(published[uri].contents): uri for uri in published}
        return Registry[Any](retrieve=retrieve).combine(published)  # type: ignore[call-arg]  # attrs makes it

    def _resource(self, schema: dict[str, Any], dialect: Dialect) -> Resource[Any]:
        import referencing.jsonschema

        specification: Specification[Any] = getattr(referencing.jsonschema, _SPECIFICATIONS[dialect])
        return specification.create_resource(schema)

    def _dialect_of(self, schema: dict[str, Any], inherited: Dialect) -> Dialect:
        """The dialect of a schema: what it names, directly or through a metaschema that the caller has given."""
        if "$schema" not in schema:
            return inherited
        uri = schema["$schema"]
        for _ in range(8):  # a metaschema of a metaschema ...
            found = dialect_of(uri)
            if found is not None:
                return found
            document = self.documents.get(uri) if isinstance(uri, str) else None
            if document is None or "$schema" not in document:
                break
            uri = document["$schema"]
        raise Refused("unknown_dialect", "its $schema names no dialect that is known here", schema["$schema"])

    # the references

    def _refer(self, index: int, keyword: str) -> None:
        node = self.nodes[index]
        reference = node.schema[keyword]
        key = (id(self._resolvers[index]), reference if isinstance(reference, str) else "")
        if key not in self._resolved:
            try:
                self._resolved[key] = self._resolve(reference, self._resolvers[index])
            except _Nowhere as error:
                detail = f"{self._where(index, keyword)} {error.detail}"
                raise Refused(error.reason, detail, reference) from None
        target, beyond = self._resolved[key]
        if isinstance(target, bool) and node.dialect != "draft4":
            node.booleans += 1
            return
        if not isinstance(target, dict):
            detail = f"{self._where(index, keyword)} points to something that is no schema"
            raise Refused("dangling_ref", detail, reference)
        schema = cast("dict[str, Any]", target)
        to = self._index.get(id(schema))
        if to is None:
            uri = self._published.get(id(beyond.lookup("#").contents))
            if uri is not None:
                node.booleans += _METASCHEMA  # known to be sound: nothing in it has to be looked at
                self.metaschemas.add(uri)
                return
            to = self._grow(schema, node.dialect)
            self._place(beyond)
        node.edges.append(Edge(keyword, None, to, "in_place"))
        fragment = reference.partition("#")[2]
        if fragment and schema.get("$dynamicAnchor") == fragment:
            self._dynamic.append((index, keyword, fragment))
        elif keyword == "$recursiveRef" and schema.get("$recursiveAnchor") is True:
            self._dynamic.append((index, keyword, ""))

    def _resolve(self, reference: object, resolver: Resolver[Any]) -> tuple[Any, Resolver[Any]]:
        from referencing import exceptions  # the heavy import waits

        if not (isinstance(reference, str) and is_uri_reference(reference)):
            raise _Nowhere("invalid_schema", "is no URI reference")
        try:
            resolved = resolver.lookup(reference)
        except (exceptions.PointerToNowhere, exceptions.NoSuchAnchor, exceptions.InvalidAnchor):
            raise _Nowhere("dangling_ref", "points to nothing in its document") from None
        except exceptions.Unresolvable as error:
            cause = error.__cause__ and error.__cause__.__cause__
            if isinstance(cause, Refused):  # the document is there and can't be used
                raise cause from None
            raise _Nowhere("remote_ref", "points out of the document, and nothing is fetched") from None
        except Exception:  # noqa: BLE001  # an index that is no number, an identifier in data that is no text ...
            raise _Nowhere("dangling_ref", "points to nothing in its document") from None
        return resolved.contents, resolved.resolver

    def tie_dynamic(self) -> None:
        """A dynamic reference may lead to any anchor of its name: the way through the schema decides which."""
        hubs: dict[str, int] = {}  # one knot for all references of a name and all its anchors
        for index, keyword, name in self._dynamic:
            if name not in hubs:
                anchors = self._anchored.get(name, []) if name else self._recursive
                hubs[name] = len(self.nodes)
                edges = [Edge(keyword, None, to, "in_place") for to in anchors]
                self.nodes.append(Node({}, self.nodes[index].dialect, index, (keyword,), edges))
            node = self.nodes[index]
            node.edges = [edge for edge in node.edges if edge.keyword != keyword]
            node.edges.append(Edge(keyword, None, hubs[name], "in_place"))

    def _where(self, index: int, *path: str | int) -> str:
        return where(self.nodes, index, self.names, *path)

    def needed(self) -> dict[str, dict[str, Any]]:
        """The documents that an engine has to be given: it knows the metaschemas of the schema's own dialect."""
        # one that names no dialect has that of the schema
        needed = {uri: {"$schema": URIS[self.dialect], **each} for uri, each in self.documents.used().items()}
        folders = {uri.rpartition("/schema")[0] for uri in self.metaschemas if "/schema" in uri}
        folders.discard(URIS[self.dialect].rpartition("/schema")[0])
        published = _metaschemas()
        for uri in published if folders else ():
            if any(uri.startswith(f"{folder}/") for folder in folders):
                needed.setdefault(uri, published.contents(uri))
        return needed

    def respelled(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with `$schema` and `$ref` as everyone reads them.

        Not everyone knows another spelling of a dialect, and jsonschema-rs passes by the empty reference, which is the
        document itself (RFC 3986, section 4.4).
        """
        if not self._respell:
            return schema
        copied = plain(schema, depth=self._limits.schema_depth, size=self._limits.schema_bytes)
        if isinstance(copied, Flaw):
            return schema
        for index in self._respell:
            target: Any = copied.value
            for token in tokens(self.nodes, index):
                target = target[token]
            if dialect_of(target.get("$schema")) is not None:
                target["$schema"] = URIS[self.nodes[index].dialect]
            if target.get("$ref") == "":
                target["$ref"] = "#"
        return cast("dict[str, Any]", copied.value)


def _is_odd(node: Node) -> bool:
    named: Any = node.schema.get("$schema")
    respelt = dialect_of(named) is not None and named.removesuffix("#") != URIS[node.dialect].removesuffix("#")
    return respelt or node.schema.get("$ref") == ""


def _metaschemas() -> Registry[Any]:
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it says that it is typed

    registry: Registry[Any] = REGISTRY
    return registry


def is_uri_reference(text: str) -> bool:
    """Whether a text is a URI reference (RFC 3986)."""
    if not _URI_REFERENCE.fullmatch(text):
        return False
    if text.startswith("#"):
        return True
    try:
        urlsplit(text)
    except ValueError:
        return False
    return True


def tokens(nodes: list[Node], index: int) -> tuple[str | int, ...]:
    """The path of a node from the root that it hangs on."""
    parts: list[tuple[str | int, ...]] = []
    while index >= 0:
        parts.append(nodes[index].path)
        index = nodes[index].parent
    return tuple(token for path in reversed(parts) for token in path)


def where(nodes: list[Node], index: int, names: Iterable[str], *path: str | int) -> str:
    """A place in the schema as it may be shown: keywords, indices and declared names; anything else is ``*``."""
    return _words.shown_pointer((*tokens(nodes, index), *path), _KEYWORDS.union(names)) or "the root"
