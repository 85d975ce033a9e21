"""Reads a schema's subschemas one at a time, as they are needed, and lets the engine be asked about each.

A subschema is known to the engine by its address (the document's URI and a pointer), so that what it refers to stays in
reach. References are resolved by `referencing`, over the documents at hand alone: nothing is ever fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote, urldefrag, urljoin

from mcp_guard._checks import Check, refused
from mcp_guard._dialects import URIS, Dialect, dialect_of
from mcp_guard._documents import look_up, own_name
from mcp_guard._exact import Test
from mcp_guard._facts import is_array, is_object
from mcp_guard._parts import Parts
from mcp_guard._plain import Priced, Weigh, steps_to_make
from mcp_guard._rules import VOCABULARIES, Rule, Vocabulary
from mcp_guard._specifications import as_resource

if TYPE_CHECKING:
    from referencing import Registry

HOME: Final = "json-schema:///mcp-guard"
"""The URI of a schema that has none."""

_HOPS: Final = 100
_LONGEST: Final = 20_000
"""Characters of an address: names can be long, and stand in each other."""
_STEPS_A_NODE, _STEPS_A_REFERENCE = 3, 25
_SMALL_TESTS, _SMALL_NODES = 30, 2_000
_ONE: Final = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
    }
)
_MANY: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_NAMED: Final = frozenset({"dependencies", "dependentSchemas", "patternProperties", "properties"})
_BESIDE: Final[dict[str, tuple[str, ...]]] = {
    "additionalProperties": ("properties", "patternProperties"),
    "additionalItems": ("items",),
    "items": ("prefixItems",),
    "contains": ("minContains", "maxContains"),
}
"""What else has to stand beside a keyword, so that it means the same."""


class Node:
    """One subschema, read: its keywords as checks and rules, its subschemas reached from it."""

    __slots__ = ("_address", "_documents", "_keeps", "_kids", "_test", "checks", "rules", "schema", "scope", "words")

    def __init__(self, documents: Documents, schema: Any, scope: Scope) -> None:
        self.schema = schema
        self._documents = documents
        self.scope = scope
        self._kids: dict[int | str, Node] = {}
        self._test: Test | bool | None = False
        self._keeps: dict[str, Test | None] = {}
        self.words: Mapping[str, Any] = {}
        self.checks: list[tuple[str, Check]] = []
        self.rules: list[tuple[str, Any, Rule]] = []
        self._address: str | Literal[False] | None = False
        if is_object(schema):
            vocabulary = scope.vocabulary
            alone = vocabulary.lone_ref and isinstance(schema.get("$ref"), str)
            self.words = {"$ref": schema["$ref"]} if alone else schema
            for word, asked in self.words.items():
                if word in vocabulary.rules:
                    self.rules.append((word, asked, vocabulary.rules[word]))
                elif word in vocabulary.checks and (word != "format" or documents.formats):
                    self.checks.append((word, vocabulary.checks[word](asked, schema)))
        elif schema is False:
            self.checks.append(("false", refused))

    def forget(self) -> None:
        """Let go of what was made of it."""
        self._kids.clear()
        self._keeps.clear()
        self._test = None

    @property
    def address(self) -> str | None:
        """Its URI in the documents; `None` where it has none."""
        if self._address is False:
            self._address = self._documents.address(self.schema)
        return self._address

    def sub(self, schema: Any) -> Node:
        """A subschema of this one."""
        kid = self._kids.get(id(schema))
        if kid is None:
            kid = self._kids[id(schema)] = self._documents.node(schema, self.scope, inside=True)
        return kid

    def target(self, keyword: str) -> Node:
        """What a reference of this one points to."""
        kid = self._kids.get(keyword)
        if kid is None:
            kid = self._kids[keyword] = self._documents.referred(keyword, self.words[keyword], self.scope)
        return kid

    @property
    def trivial(self) -> bool:
        """Nothing is asked."""
        return not self.checks and not self.rules

    @property
    def is_made(self) -> bool:
        """Whether the engine has compiled it already."""
        return not isinstance(self._test, bool)

    @property
    def compiling(self) -> int:
        """What that takes, in units of `_roles`."""
        return self._documents.compiling(self.schema)

    def test(self) -> Test | None:
        """The engine's own test of this subschema; `None` where it can't be asked."""
        if isinstance(self._test, bool):
            self._test = None if self.address is None else self._documents.parts.test({"$ref": self.address})
        return self._test

    def has_kept(self, keyword: str) -> bool:
        """Whether the engine has compiled one keyword of it already."""
        return keyword in self._keeps

    def keeps(self, keyword: str) -> Test | None:
        """The engine's own test of one keyword with subschemas; `None` where it can't be asked."""
        if keyword not in self._keeps:
            alone = self._alone(keyword)
            self._keeps[keyword] = None if alone is None else self._documents.parts.test(alone)
        return self._keeps[keyword]

    def members(self, names: Iterable[str]) -> Test | None:
        """The engine's own test of some properties together; `None` where it can't be asked."""
        if self.address is None:
            return None
        asked = self.words["properties"]
        pointed = {name: _pointed(asked[name], f"{self.address}/properties/{_token(name)}") for name in names}
        return self._documents.parts.test({"properties": pointed})

    def each(self) -> Test | None:
        """The engine's own test of all elements of an array; `None` where it can't be asked."""
        if "" not in self._keeps:
            every = {"items": {"$ref": self.address}}
            self._keeps[""] = None if self.address is None else self._documents.parts.test(every)
        return self._keeps[""]

    def _alone(self, keyword: str) -> dict[str, Any] | None:
        if self.address is None:
            return None
        asked = self.words[keyword]
        if keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            address = self.target(keyword).address
            return None if address is None else {"$ref": address}
        shape = self._shape(keyword, asked)
        if shape is None:
            return None
        alone: dict[str, Any] = {keyword: shape}
        for word in _BESIDE.get(keyword, ()):
            if word in self.words:
                alone[word] = _open(self.words[word])
        if keyword == "if":
            alone |= {word: self._shape(word, self.words[word]) for word in ("then", "else") if word in self.words}
        return alone

    def _shape(self, keyword: str, asked: Any) -> Any:
        address = f"{self.address}/{_token(keyword)}"
        if keyword in _MANY and is_array(asked):
            return [_pointed(schema, f"{address}/{index}") for index, schema in enumerate(asked)]
        if keyword in _NAMED:
            return {name: _pointed(schema, f"{address}/{_token(name)}") for name, schema in asked.items()}
        return _pointed(asked, address) if keyword in _ONE else None


def _pointed(schema: Any, address: str) -> Any:
    return {"$ref": address} if isinstance(schema, dict) else schema


def _open(word: Any) -> Any:
    """The same names, patterns or places, with nothing asked of what is there."""
    anything: dict[str, Any] = {}
    if is_object(word):
        return {name: anything for name in word}  # noqa: C420  # a fresh dictionary each would be no better
    return [anything for _ in word] if is_array(word) else word


def _token(token: str) -> str:
    return quote(token.replace("~", "~0").replace("/", "~1"), safe="~!$&'()*+,;=:@")


class Scope:
    """Where a subschema stands: its dialect, and from where its references are resolved."""

    __slots__ = ("key", "resolver", "vocabulary")

    def __init__(self, vocabulary: Vocabulary, resolver: Any, *, dynamic: bool) -> None:
        self.vocabulary = vocabulary
        self.resolver = resolver
        # the same subschema means something else where it was reached through other resources
        self.key = tuple(dict.fromkeys(uri for uri, _ in resolver.dynamic_scope())) if dynamic else ()


class Documents:
    """A schema and the documents that it may refer to, for one way of taking `format`.

    `parts` asks the engine about them. `compiling`: what it takes to compile a subschema, in units of `_roles`, by its
    identity.
    """

    def __init__(
        self,
        schema: dict[str, Any],
        dialect: Dialect,
        resources: Mapping[str, dict[str, Any]],
        *,
        parts: Callable[[Mapping[str, dict[str, Any]]], Parts],
        compiling: Mapping[int, int],
        formats: bool,
    ) -> None:
        from referencing import Registry

        self.formats = formats
        self.owed = 0
        """Steps that reading has taken since they were last paid for."""
        self._compiling = compiling
        # of each object and array in the documents, by identity: where it hangs, by what name
        self._places: dict[int, tuple[int, str | int]] = {}
        self._roots: dict[int, str] = {}
        self._nodes: dict[tuple[int, tuple[str, ...]], Node] = {}
        self._made = 0
        self._targets: dict[tuple[int, str, str], tuple[Any, Scope, Scope]] = {}
        self._tests: dict[tuple[str, int | str], tuple[Any, Priced]] = {}
        rules = VOCABULARIES[dialect]
        own_id = schema.get("id" if dialect == "draft4" else "$id")
        voided = rules.lone_ref and "$ref" in schema
        home = urldefrag(urljoin(HOME, own_id))[0] if isinstance(own_id, str) and not voided else HOME
        documents = {**resources, home: schema}
        found = _Found()
        for uri, document in documents.items():
            self._roots[id(document)] = f"{uri}#"
            self._index(document, found)
        self.parts = parts(documents)
        # A part of a document, asked about alone, is entered through no other resource, which a dynamic reference would
        # tell.
        self.guided = self.parts.installed and not (found.dynamic and found.resources > 1)
        self._dynamic = found.dynamic or found.published
        nothing: Registry[Any] = Registry()
        # of each document its dialect, by identity
        self._documents: dict[int, Dialect] = {
            id(each): dialect_of(each.get("$schema")) or dialect for each in documents.values()
        }
        kept = {uri: as_resource(each, self._documents[id(each)]) for uri, each in documents.items()}
        named = {uri: own_name(uri, resource) for uri, resource in kept.items() if uri != home}
        self._named = {id(kept[uri].contents): name for uri, name in named.items() if name != uri.removesuffix("#")}
        registry = nothing.with_resources(kept.items())
        if self._named or found.resources or found.anchored:  # else each look at a name would go through all of them
            registry = registry.crawl()
        if found.published:
            from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it says that it is typed

            registry = REGISTRY.combine(registry)
            for uri in (uri.rstrip("#") for uri in URIS.values()):
                # entered at its root, a metaschema has the dynamic scope that it is meant to have
                self._roots.setdefault(id(REGISTRY.contents(uri)), f"{uri}#")
        scope = Scope(rules, registry.resolver(home), dynamic=self._dynamic)
        self.root = self.node(schema, scope, inside=False)

    @property
    def is_small(self) -> bool:
        """Whether little was made of the schema until now, so that it may be kept for the next explanation."""
        return self.parts.made <= _SMALL_TESTS and self._made <= _SMALL_NODES

    def close(self) -> None:
        """Let go of the nodes: they hold each other, and with them what the engine made of each."""
        for node in self._nodes.values():
            node.forget()
        self._nodes.clear()
        self._targets.clear()

    def node(self, schema: Any, scope: Scope, *, inside: bool) -> Node:
        """The node of a subschema. `inside`: it is a subschema of what the scope is of, and no reference's target."""
        node = self._read(schema, scope, inside=inside)
        for _ in range(_HOPS):
            # a mere reference is what it refers to
            if node.checks or [word for word, *_ in node.rules] != ["$ref"]:
                break
            node = self._read(*self._resolved("$ref", node.words["$ref"], node.scope), inside=False)
        return node

    def referred(self, keyword: str, reference: str, scope: Scope) -> Node:
        """The node that a reference leads to."""
        return self.node(*self._resolved(keyword, reference, scope), inside=False)

    def address(self, schema: Any) -> str | None:
        """The URI of a part of the documents; `None` where it is none, or that would be very long."""
        tokens: list[str] = []
        here, length = id(schema), 0
        while here not in self._roots:
            place = self._places.get(here)
            if place is None or length > _LONGEST:
                return None
            here, token = place
            tokens.append(_token(token) if isinstance(token, str) else str(token))
            length += len(tokens[-1]) + 1
        return "/".join((self._roots[here], *reversed(tokens)))

    def compiling(self, schema: Any) -> int:
        """What it takes to compile a subschema, in units of `_roles`."""
        return self._compiling.get(id(schema), self._compiling.get(0, 0))

    def keyword(self, keyword: str, asked: Any, weigh: Weigh) -> Priced:
        """The test of one keyword without subschemas."""
        key = (keyword, asked if isinstance(asked, str) else id(asked))
        known = self._tests.get(key)
        if known is None:
            plain = not self.parts.installed
            self.owed += steps_to_make(keyword, asked, weigh, plain=plain)
            # `asked` is kept with it, so that nothing else can get its identity
            known = self._tests[key] = (asked, self.parts.keyword(keyword, asked))
        return known[1]

    def _read(self, schema: Any, scope: Scope, *, inside: bool) -> Node:
        key = (id(schema), scope.key)
        node = self._nodes.get(key)
        if node is None:
            self._made += 1
            self.owed += _STEPS_A_NODE
            node = self._nodes[key] = Node(self, schema, self._entered(schema, scope, inside=inside))
        return node

    def _entered(self, schema: Any, scope: Scope, *, inside: bool) -> Scope:
        if not is_object(schema):
            return scope
        if inside and ("$id" in schema or "id" in schema):
            resource = as_resource(schema, scope.vocabulary.dialect)
            scope = Scope(scope.vocabulary, scope.resolver.in_subresource(resource), dynamic=self._dynamic)
        other = dialect_of(schema.get("$schema"))
        if other is not None and other != scope.vocabulary.dialect:
            scope = Scope(VOCABULARIES[other], scope.resolver, dynamic=self._dynamic)
        return scope

    def _resolved(self, keyword: str, reference: str, scope: Scope) -> tuple[Any, Scope]:
        key = (id(scope.resolver), keyword, reference)
        known = self._targets.get(key)
        if known is None:
            self.owed += _STEPS_A_REFERENCE
            # the scope is kept with it, so that nothing else can get its resolver's identity
            known = self._targets[key] = (*self._looked_up(keyword, reference, scope), scope)
        return known[0], known[1]

    def _looked_up(self, keyword: str, reference: str, scope: Scope) -> tuple[Any, Scope]:
        from referencing.jsonschema import lookup_recursive_ref

        if keyword == "$recursiveRef":
            resolved = lookup_recursive_ref(scope.resolver)
        else:
            resolved = look_up(scope.resolver, reference, self._named)
        vocabulary = scope.vocabulary
        if len(self._documents) > 1 and not reference.startswith("#"):  # a part of a document is in its dialect
            around = resolved.resolver.lookup("#").contents
            vocabulary = VOCABULARIES[self._documents.get(id(around), vocabulary.dialect)]
        return resolved.contents, Scope(vocabulary, resolved.resolver, dynamic=self._dynamic)

    def _index(self, document: dict[str, Any], found: _Found) -> None:
        todo: list[Any] = [document]
        while todo:
            part = todo.pop()
            if is_object(part):
                found.look(part)
            for token, each in part.items() if is_object(part) else enumerate(part):
                if is_object(each) or is_array(each):
                    self._places[id(each)] = (id(part), token)
                    todo.append(each)


class _Found:
    """What is to be known about a whole document before any part of it is asked about."""

    def __init__(self) -> None:
        self.resources = 0
        self.anchored = False
        self.dynamic = False
        self.published = False

    def look(self, part: dict[str, Any]) -> None:
        # what stands in `const` or the like is taken for a schema too: it costs speed and nothing else
        self.resources += "$id" in part or "id" in part
        self.anchored = self.anchored or "$anchor" in part or "$dynamicAnchor" in part
        self.dynamic = self.dynamic or "$dynamicRef" in part or "$recursiveRef" in part
        reference = part.get("$ref")
        if isinstance(reference, str) and "json-schema.org/" in reference:
            self.published = True
