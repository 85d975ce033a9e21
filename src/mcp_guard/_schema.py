"""`CompiledSchema`: one schema that can be used, and the way from what a server sent to it. Puts the parts together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, final

from mcp_guard import _engine, _words
from mcp_guard._canonical import Flaw, is_object, plain, values_of
from mcp_guard._cost import MICROSECOND, patterns_of, weigh
from mcp_guard._dialects import URIS, dialect_of
from mcp_guard._effort import Estimator, Size
from mcp_guard._facts import Unusable, Violation
from mcp_guard._look import Look
from mcp_guard._patterns import cost_of
from mcp_guard._references import Refused, Survey, survey, where

if TYPE_CHECKING:
    from mcp_guard._dialects import Dialect
    from mcp_guard._explain import Explainer
    from mcp_guard.policy import Limits


@final
class CompiledSchema:
    """One usable schema: decides at once, explains on demand. `compiling`: see `weigh`."""

    def __init__(self, schema: dict[str, Any], survey: Survey, limits: Limits, compiling: list[int]) -> None:
        self.schema = schema
        """As the server sent it."""
        self.dialect: Dialect = survey.dialect
        self.names: frozenset[str] = survey.names
        """The property names declared anywhere in it."""
        self.has_formats: bool = not survey.closed or any("format" in node.schema for node in survey.nodes)
        """Whether asserting `format` could make a difference."""
        self.compiling: int = compiling[0]
        """What compiling it takes, in units of `_roles`."""
        self.has_property_names: bool = any("propertyNames" in node.schema for node in survey.nodes)
        """Whether names are held against schemas."""
        self.explanation_steps: int = limits.explanation_steps
        """Steps that an explanation may take."""
        self.estimator: Estimator | None = None
        """`None` where there is no engine."""
        self.usual: _engine.Decider | None = None
        """What decides where nothing is unusual; it stays."""
        self.held: int = 0
        """Bytes that all that is compiled holds, about."""
        self._survey = survey
        self._limits = limits
        self._compiling = compiling
        patterns = sum(cost_of(each).compiling for node in survey.nodes for each in patterns_of(node.schema))
        self._each = _HELD_PATTERN * patterns + _HELD_UNIT * max(self.compiling - MICROSECOND * patterns, 0)
        self._explainer: Explainer | None = None
        self._deciders: dict[tuple[bool, bool, int], _engine.Decider] = {}
        if _engine.available():
            self.estimator = Estimator(survey)
            exact = not self.estimator.tame
            self.usual = self.decider(formats=False, exact=exact)
            if self.has_formats:
                self.decider(formats=True, exact=exact)

    def look(self, within: Size | None = None) -> Look:
        """For one check: all questions in it share what one check may cost. `within`: the most that a value can be."""
        return Look(self, within)

    def is_valid(self, value: Any, *, formats: bool = False) -> bool:
        """Whether a value that is JSON and within `Limits` fits, as the only question of a check: see `Look`."""
        return self.look().is_valid(value, formats=formats)

    def violations(self, value: Any, *, formats: bool = False, limit: int = 20) -> tuple[tuple[Violation, ...], bool]:
        """Why a value does not fit, as the only question of a check: see `Look`."""
        return self.look().violations(value, formats=formats, limit=limit)

    def __reduce__(self) -> tuple[Any, ...]:
        # what the engine compiled does not pickle
        return _compiled, (self.schema, self._limits, self._survey.resources)

    def made(self, formats: bool, exact: bool, backtracking: int, /) -> _engine.Decider | None:  # noqa: FBT001  # a key
        """The one that is compiled already, if it is."""
        return self._deciders.get((formats, exact, backtracking))

    def decider(self, *, formats: bool, exact: bool, backtracking: int = _engine.BACKTRACKING) -> _engine.Decider:
        """What decides, compiled when it is first asked for.

        Raises:
            CannotCompile: The engine does not take the schema.
        """
        key = (formats, exact, backtracking)
        decider = self._deciders.get(key)
        if decider is None:
            decider = _engine.Decider(
                self._survey.schema,
                self.dialect,
                formats=formats,
                resources=self._survey.resources,
                backtracking=backtracking,
                exact=exact,
            )
            while len(self._deciders) >= _DECIDERS:
                for oldest in [*self._deciders][1:2]:  # the usual one stands first, and stays
                    self._deciders.pop(oldest, None)
            self._deciders[key] = decider
            self.held = self._each * len(self._deciders)
        return decider

    @property
    def explainer(self) -> Explainer:
        """What explains, made when it is first asked for."""
        if self._explainer is None:
            from mcp_guard._explain import Explainer  # only failures need it

            nodes = self._survey.nodes
            self._explainer = Explainer(
                self._survey.schema,
                self.dialect,
                names=self.names,
                steps=self.explanation_steps,
                resources=self._survey.resources,
                compiling={
                    0: self.compiling,
                    **{id(node.schema): units for node, units in zip(nodes, self._compiling, strict=True)},
                },
            )
        return self._explainer


_DECIDING: Final = 3
"""How many times the steps of an explanation may be taken to hold a schema against its metaschema."""
_HELD_PATTERN, _HELD_UNIT = 400, 8
"""Bytes held for a microsecond of compiling patterns, the caches of matching them included, and for a unit of compiling
the rest: measured were 170 to 260, 400 once they were used, and 2 to 10."""
_DECIDERS: Final = 4
"""So many are kept: for formats asserted or not, and what is rarely needed."""


def _compiled(schema: dict[str, Any], limits: Limits, resources: dict[str, dict[str, Any]]) -> CompiledSchema:
    found = survey(schema, limits, resources)
    return CompiledSchema(schema, found, limits, weigh(found, limits))


_FLAWS: Final = {
    "not_finite": "it has a number that is not finite",
    "surrogate": "it has text that is no Unicode",
    "not_json": "it has a value that is no JSON",
}


def compile_schema(
    schema: object, limits: Limits, resources: Mapping[str, dict[str, Any]] | None = None
) -> CompiledSchema | Unusable:
    """The schema ready for use, or why it can't be used. `resources`: documents by URI that references may lead to."""
    copied = plain(schema, depth=limits.schema_depth, size=limits.schema_bytes)
    return compile_copy(copied if isinstance(copied, Flaw) else copied.value, limits, resources)


def compile_copy(
    schema: object, limits: Limits, resources: Mapping[str, dict[str, Any]] | None = None
) -> CompiledSchema | Unusable:
    """The same, of a schema that is our own copy already, or of the `Flaw` that copying it found."""
    if isinstance(schema, Flaw):
        return flawed(schema, limits)
    if not is_object(schema):
        return Unusable("invalid_schema", "it is no JSON object", schema)
    try:
        found = survey(schema, limits, resources or {})
        compiling = weigh(found, limits)
    except Refused as refused:
        return refused.unusable
    if not _engine.available() and not _meets_metaschema(found, limits):
        return Unusable("invalid_schema", "it is not what the dialect asks for", schema)
    try:
        return CompiledSchema(schema, found, limits, compiling)
    except _engine.CannotCompile as error:
        place = where(found.nodes, 0, found.names, *error.path)
        return Unusable("invalid_schema", f"{_words.cut(place, 200)} is not what the dialect asks for", schema)


def _meets_metaschema(found: Survey, limits: Limits) -> bool:
    """What the engine finds out by itself. A schema on which that takes too long is given the benefit of the doubt."""
    from mcp_guard._explain import Explainer

    steps = limits.explanation_steps * _DECIDING
    for document in (found.schema, *found.resources.values()):
        dialect = dialect_of(document.get("$schema")) or found.dialect
        explainer = Explainer({"$ref": URIS[dialect]}, dialect, names=frozenset(), steps=steps)
        decided, steps = explainer.decide(document, formats=False, steps=steps)
        if decided is False:
            return False
    return True


def flawed(flaw: Flaw, limits: Limits) -> Unusable:
    """A schema that is no plain JSON within `limits`, as a fact."""
    if flaw.code == "too_deep":
        detail = f"schema_depth: {limits.schema_depth} are allowed, found {flaw.found} or more"
    elif flaw.code == "too_large":
        detail = f"schema_bytes: {limits.schema_bytes} are allowed, found {flaw.found} or more"
    elif flaw.code == "too_many":
        detail = f"values in one definition: {values_of(limits)} are allowed, found more"
    else:
        return Unusable("invalid_schema", _FLAWS[flaw.code])
    return Unusable("too_complex", detail)
