"""Walks one schema, once: its dialect, its subschemas, the names it declares, every reference resolved.

The walk follows the tables of `_dialects`, so that what only looks like a reference (in `const`, `enum`, `examples`, or
as the name of a property) stays data. A reference leads the walk on: what it points to is a schema, wherever it stands.
Nothing is fetched. Nothing recurses: the depth is the server's to choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import unquote, urljoin, urlsplit

from mcp_guard import _words
from mcp_guard._canonical import Flaw, is_array, is_object, plain
from mcp_guard._dialects import (
    DECLARING,
    DEFAULT,
    LEGACY,
    REFERENCES,
    TABLES,
    URIS,
    VALUE_KEYWORDS,
    Dialect,
    Misplaced,
    Use,
    declared,
    dialect_of,
    positions,
)
from mcp_guard._documents import Documents, look_up, own_name
from mcp_guard._facts import Unusable, UnusableReason
from mcp_guard._json import same_json
from mcp_guard._panic import contain
from mcp_guard._specifications import as_resource

if TYPE_CHECKING:
    from referencing import Registry, Resource

    from mcp_guard.policy import Limits

_CHARACTER: Final = r"(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})"
_URI_REFERENCE: Final = re.compile(rf"(?:{_CHARACTER}|[\[\]])*(?:#{_CHARACTER}*)?")
_KEYWORDS: Final = frozenset[str]().union(*TABLES.values(), VALUE_KEYWORDS)
_METASCHEMA: Final = 60
"""Subschemas that a reference to a published metaschema counts for: about what the largest of them has."""
_SPELT: Final = 1_000_000
"""Characters of all identifiers: one of 3 KB in each of 90 levels was measured to take 800 ms and 60 MB."""
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LACKING: Final = 200
"""References to documents that are not there, after which the walk ends: each costs an exception or two."""
_NAMING: Final = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})
_TELLING: Final = _NAMING.union(["$schema"], *REFERENCES.values())
"""What of a schema is more than keywords to hold a value against. Most have none of it."""


class Edge(NamedTuple):
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

    def __init__(self, reason: UnusableReason, detail: str, value: Any = None, documents: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.unusable = Unusable(reason, detail, value, documents)


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
    walk.place()
    walk.follow()
    walk.hold_apart()
    walk.tie_dynamic()
    return Survey(walk.dialect, schema, walk.nodes, frozenset(walk.names), walk.needed(), not walk.metaschemas)


class _Walk:
    def __init__(self, limits: Limits, resources: Mapping[str, dict[str, Any]]) -> None:
        self.nodes: list[Node] = []
        self.names: set[str] = set()
        self._documents = Documents(resources, limits)
        self.dialect: Dialect = DEFAULT
        self._limits = limits
        self._count = 0
        self._anonymous = True  # no part of it names itself or another dialect, and each was walked
        self._base = ""
        self._crawled: Registry[Any] | None = None
        self._telling: list[int] = []  # the nodes that have one of `_TELLING`
        self._lengths: list[int] = []  # of each node: the characters that what it is relative to has at most
        self._characters = 0
        self._index: dict[int, int] = {}  # id of a schema -> its node; the nodes keep the schemas alive
        self._bases: list[str] = []  # of each node: what its references are relative to
        self._resolved: dict[tuple[str, str | None], tuple[Any, Any]] = {}
        self._anchored: dict[str, list[int]] = {}
        self._recursive: list[int] = []
        self._dynamic: list[tuple[int, str, str]] = []  # node, keyword, name of the anchor
        self._respell: list[int] = []
        self._published: dict[int, str] = {}  # id of a metaschema's document -> its URI
        self.metaschemas: set[str] = set()
        self._addresses: dict[str, list[int]] = {}  # the nodes that go by an address
        self._arrived: list[str] = []  # documents that were asked for and not yet walked
        self._named: dict[int, str] = {}  # see `look_up`
        self._lacking: dict[str, None] = {}  # in the order in which they were missed
        self._missed: list[tuple[int, str, Unusable]] = []  # node, keyword

    def start(self, schema: dict[str, Any]) -> None:
        self._documents.beside(schema)
        self.dialect = self._dialect_of(schema, DEFAULT)
        self._grow(schema, self.dialect)

    def place(self) -> None:
        """Index the identifiers of the document, and give each node its base."""
        if not self._anonymous:
            self._crawled = self._crawl()
        self._addresses[self._base] = [0]
        self._place(self._base)

    @property
    def _registry(self) -> Registry[Any]:
        """In an anonymous document there is nothing to crawl for, and only an unusual reference asks for this."""
        if self._crawled is None:
            self._crawled = self._crawl()
        return self._crawled

    def _crawl(self) -> Registry[Any]:
        root = as_resource(self.nodes[0].schema, self.dialect)
        try:
            self._base = root.id() or ""
            registry: Registry[Any] = self._known().with_resource(self._base, root).crawl()
        except BaseException as error:  # noqa: BLE001  # it reads what the walk leaves out too, and takes it to be sound
            contain(error)
            raise Refused("invalid_schema", "a keyword's value is not what the dialect asks for") from None
        return registry

    def follow(self) -> None:
        """Resolve the references of every node; what they lead to adds nodes at the end.

        A document that is not there ends it only when all is known that is not there, or that is wrong besides.
        """
        at, known = 0, 0
        while True:
            while at < len(self._telling) and len(self._missed) < _LACKING:
                node = self.nodes[self._telling[at]]
                for keyword in REFERENCES[node.dialect]:
                    if keyword in node.schema:
                        self._refer(self._telling[at], keyword)
                at += 1
            if not self._missed or len(self._documents.used) == known:
                break
            known = len(self._documents.used)
            again, self._missed = self._missed, []  # a document that came later may hold what was missed
            self._lacking.clear()
            for index, keyword, _ in again:
                self._refer(index, keyword)
        if self._missed:
            _, _, first = self._missed[0]
            raise Refused(first.reason, first.detail, first.value, tuple(self._lacking))

    def hold_apart(self) -> None:
        """See that no two go by one name: which of them is meant would be a matter of who looks, and in what order.

        A schema or a document can call itself, or a part of itself, by any name, also by another's.
        """
        for address, indices in self._addresses.items():
            found = [self.nodes[index].schema for index in indices]
            found += [_metaschemas().contents(address)] if address and address in _metaschemas() else []
            given = self._document(address)
            found += [] if given is None else [given]
            ours = address.startswith("json-schema:")  # what engines call a schema that has no name
            if ours or not all(same_json(found[0], each) for each in found[1:]):
                raise Refused("invalid_schema", "two of its parts or documents go by one name", address)

    # the subschemas

    def _grow(self, schema: dict[str, Any], dialect: Dialect) -> int:
        """Add a schema and all that it holds; the node of it."""
        first = len(self.nodes)
        self._add(schema, dialect, -1, ())
        todo = [first]
        while todo:
            index = todo.pop()
            node = self.nodes[index]
            held = node.schema
            if node.dialect in LEGACY and "$ref" in held:
                continue  # its siblings are void
            if not DECLARING.isdisjoint(held):
                self.names.update(declared(held))
            if TABLES[node.dialect].keys().isdisjoint(held):
                continue
            try:
                for keyword, token, inner, use in positions(held, node.dialect):
                    if isinstance(inner, bool):
                        node.booleans += 1
                        self._counted()
                        continue
                    to = self._index.get(id(inner))
                    if to is None:
                        path = (keyword,) if token is None else (keyword, token)
                        to = self._add(inner, node.dialect, index, path)
                        todo.append(to)
                    node.edges.append(Edge(keyword, token, to, use))
            except Misplaced as error:
                path = (error.keyword,) if error.token is None else (error.keyword, error.token)
                detail = f"{self._where(index, *path)} is no schema, and a schema has to stand there"
                raise Refused("invalid_schema", detail) from None
        return first

    def _add(self, schema: dict[str, Any], dialect: Dialect, parent: int, path: tuple[str | int, ...]) -> int:
        index = len(self.nodes)
        self._counted()
        node = Node(schema, dialect, parent, path, [])
        self.nodes.append(node)
        self._index[id(schema)] = index
        self._lengths.append(self._lengths[parent] if parent >= 0 else 0)
        if not _TELLING.isdisjoint(schema):
            self._telling.append(index)
            if "$schema" in schema:
                node.dialect = self._dialect_of(schema, dialect)
                self._anonymous = self._anonymous and index == 0
            self._respell += [index] if _is_odd(node) else []
            voids = node.dialect in LEGACY and "$ref" in schema and len(schema) > 1
            self._anonymous = self._anonymous and not voids and _NAMING.isdisjoint(schema)
            self._identify(index, node)
        return index

    def _counted(self, more: int = 1) -> None:
        self._count += more
        allowed = self._limits.subschemas
        if self._count > allowed:
            raise Refused("too_complex", f"subschemas: {allowed} are allowed, found more")

    def _spelt(self, characters: int) -> None:
        self._characters += characters
        if self._characters > _SPELT:
            detail = f"characters of identifiers, each in full: {_SPELT} are allowed, found more"
            raise Refused("too_complex", detail)

    def _identify(self, index: int, node: Node) -> None:
        keyword = "id" if node.dialect == "draft4" else "$id"
        if keyword in node.schema and not (node.dialect in LEGACY and "$ref" in node.schema):
            uri = node.schema[keyword]
            if not (isinstance(uri, str) and is_uri_reference(uri)):
                raise Refused("invalid_schema", f"{self._where(index, keyword)} is no URI reference", uri)
            self._counted(2)  # each makes a document of its own, which is three times the work
            # it is put after what it is relative to, and stands there in full
            self._lengths[index] = len(uri) + (0 if _ABSOLUTE.match(uri) else self._lengths[index])
            self._spelt(self._lengths[index])
        for _ in _anchors(node):
            self._spelt(self._lengths[index])
        anchor = node.schema.get("$dynamicAnchor")
        if isinstance(anchor, str):
            self._anchored.setdefault(anchor, []).append(index)
        if node.schema.get("$recursiveAnchor") is True:
            self._recursive.append(index)

    def _place(self, base: str) -> None:
        """Give each node that is new its base: parents stand before their children."""
        if self._anonymous:
            self._bases += [base] * (len(self.nodes) - len(self._bases))
        for index in range(len(self._bases), len(self.nodes)):
            node = self.nodes[index]
            if node.parent >= 0:
                base = self._bases[node.parent]
                if "$id" in node.schema or "id" in node.schema:
                    resource = as_resource(node.schema, node.dialect)
                    if resource.id():
                        base = own_name(base, resource)
                        self._addresses.setdefault(base, []).append(index)
            self._bases.append(base)
            for anchor in _anchors(node):
                self._addresses.setdefault(f"{base}#{anchor}", []).append(index)

    # documents and dialects

    def _take_in(self) -> None:
        """Walk each document that a reference has led to, and all of it: the engine reads all of it too."""
        while self._arrived:
            uri = self._arrived.pop()
            document = self._documents.used[uri]
            odd = len(self._respell)
            root = self._grow(document, self.dialect)
            for index in self._respell[odd:]:
                self._respelled(index, self.nodes[index].schema)
            resource = as_resource(document, self.nodes[root].dialect)
            name = own_name(uri, resource)
            if name != uri:
                self._named[id(document)] = name
            for address in {uri, name}:
                self._addresses.setdefault(address, []).append(root)
            self._crawled = self._registry.with_resource(uri, resource).crawl()
            self._place(name)

    def _document(self, uri: str) -> dict[str, Any] | None:
        found = self._documents.get(uri)
        if isinstance(found, Unusable):
            raise Refused(found.reason, found.detail)
        return found

    def _known(self) -> Registry[Any]:
        from referencing import Registry
        from referencing.exceptions import NoSuchResource

        resources: dict[str, Resource[Any]] = {}

        def retrieve(uri: str) -> Resource[Any]:
            found = self._document(uri)
            if found is None:
                self._lacking[uri] = None
                raise NoSuchResource(ref=uri)  # type: ignore[call-arg]  # attrs makes it
            if uri not in resources:
                resources[uri] = as_resource(found, self._dialect_of(found, self.dialect))
                self._arrived.append(uri)
            return resources[uri]

        published = _metaschemas()
        self._published = {id(published[uri].contents): uri for uri in published}
        return Registry[Any](retrieve=retrieve).combine(published)  # type: ignore[call-arg]  # attrs makes it

    def _dialect_of(self, schema: dict[str, Any], inherited: Dialect) -> Dialect:
        """The dialect of a schema: what it names, directly or through a metaschema that the caller has given."""
        if "$schema" not in schema:
            return inherited
        uri = schema["$schema"]
        for _ in range(8):  # a metaschema of a metaschema ...
            found = dialect_of(uri)
            if found is not None:
                return found
            document = self._document(uri) if isinstance(uri, str) else None
            if document is None or "$schema" not in document:
                break
            uri = document["$schema"]
        raise Refused("unknown_dialect", "its $schema names no dialect that is known here", schema["$schema"])

    # the references

    def _refer(self, index: int, keyword: str) -> None:
        node = self.nodes[index]
        reference = node.schema[keyword]
        key = (self._bases[index], reference if isinstance(reference, str) else None)
        if key not in self._resolved:
            try:
                self._resolved[key] = self._resolve(reference, self._bases[index])
            except _Nowhere as error:
                refused = Refused(error.reason, f"{self._where(index, keyword)} {error.detail}", reference)
                if error.reason != "remote_ref":
                    raise refused from None
                self._missed.append((index, keyword, refused.unusable))
                return
        target, around = self._resolved[key]
        if isinstance(target, bool) and node.dialect != "draft4":
            node.booleans += 1
            return
        if not isinstance(target, dict):
            detail = f"{self._where(index, keyword)} points to something that is no schema"
            raise Refused("dangling_ref", detail, reference)
        schema = cast("dict[str, Any]", target)
        to = self._index.get(id(schema))
        if to is None:
            uri = self._published.get(id(around))
            if uri is not None:
                node.booleans += _METASCHEMA  # known to be sound: nothing in it has to be looked at
                self.metaschemas.add(uri)
                return
            at = index if reference.startswith("#") else self._index.get(id(around), index)
            to = self._grow(schema, self.nodes[at].dialect)
            self._place(self._bases[at])
        node.edges.append(Edge(keyword, None, to, "in_place"))
        fragment = reference.partition("#")[2]
        if fragment and schema.get("$dynamicAnchor") == fragment:
            self._dynamic.append((index, keyword, fragment))
        elif keyword == "$recursiveRef" and schema.get("$recursiveAnchor") is True:
            self._dynamic.append((index, keyword, ""))

    def _resolve(self, reference: object, base: str) -> tuple[Any, Any]:
        """What a reference leads to, and the document that this stands in, or the part with a name of its own."""
        if not (isinstance(reference, str) and is_uri_reference(reference)):
            raise _Nowhere("invalid_schema", "is no URI reference")
        near = self._near(reference) if self._anonymous and not base else None
        if near is not None:
            return near, self.nodes[0].schema
        from referencing import exceptions  # the heavy import waits

        try:
            address = reference.partition("#")[0]
            if address and self._documents.given and urljoin(base, address) not in self._registry:
                self._registry.resolver(base).lookup(address)
                self._take_in()  # what it calls itself has to be known
            resolved = look_up(self._registry.resolver(base), reference, self._named)
            return resolved.contents, resolved.resolver.lookup("#").contents
        except Refused:
            raise
        except (exceptions.PointerToNowhere, exceptions.NoSuchAnchor, exceptions.InvalidAnchor):
            raise _Nowhere("dangling_ref", "points to nothing in its document") from None
        except exceptions.Unresolvable as error:
            cause = error.__cause__ and error.__cause__.__cause__
            if isinstance(cause, Refused):  # the document is there and can't be used
                raise cause from None
            raise _Nowhere("remote_ref", "points out of the document, and nothing is fetched") from None
        except BaseException as error:  # noqa: BLE001  # an index that is no number, an identifier that is no text ...
            contain(error)
            raise _Nowhere("dangling_ref", "points to nothing in its document") from None

    def _near(self, reference: str) -> dict[str, Any] | None:
        """The node that a pointer leads to in an anonymous document; `None` where it takes a closer look."""
        target: Any = self.nodes[0].schema
        if reference != "#" and not reference.startswith("#/"):
            return None
        try:
            for token in unquote(reference[2:]).split("/") if reference != "#" else ():
                if is_array(target):
                    target = target[int(token)]
                elif is_object(target) and _NAMING.isdisjoint(target):
                    target = target[token.replace("~1", "/").replace("~0", "~")]
                else:
                    return None
        except (LookupError, ValueError):
            return None
        return target if id(target) in self._index else None

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
        needed = {uri: {"$schema": URIS[self.dialect], **each} for uri, each in self._documents.used.items()}
        folders = {uri.rpartition("/schema")[0] for uri in self.metaschemas if "/schema" in uri}
        folders.discard(URIS[self.dialect].rpartition("/schema")[0])
        for uri in _metaschemas() if folders else ():
            if any(uri.startswith(f"{folder}/") for folder in folders):
                needed.setdefault(uri, _metaschemas().contents(uri))
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
            self._respelled(index, target)
        return cast("dict[str, Any]", copied.value)

    def _respelled(self, index: int, schema: dict[str, Any]) -> None:
        if dialect_of(schema.get("$schema")) is not None:
            schema["$schema"] = URIS[self.nodes[index].dialect]
        if schema.get("$ref") == "":
            schema["$ref"] = "#"


def _anchors(node: Node) -> set[str]:
    """The plain names of a schema, for fragments."""
    if node.dialect in LEGACY:
        words = [node.schema.get("id" if node.dialect == "draft4" else "$id")]
        return {word[1:] for word in words if isinstance(word, str) and word.startswith("#")}
    words = [node.schema.get(keyword) for keyword in ("$anchor", "$dynamicAnchor")]
    return {word for word in words if isinstance(word, str)}


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
