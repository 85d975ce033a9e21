"""`CompiledSchema`: one schema that can be used, and the way from what a server sent to it. Puts the parts together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, final

from mcp_guard import _engine, _words
from mcp_guard._canonical import Flaw, is_object, plain
from mcp_guard._cost import weigh
from mcp_guard._dialects import URIS, dialect_of
from mcp_guard._effort import Effort, Estimator, TooMuch
from mcp_guard._facts import Unusable, Violation
from mcp_guard._references import Refused, Survey, survey, where

if TYPE_CHECKING:
    from mcp_guard._dialects import Dialect
    from mcp_guard._explain import Explainer
    from mcp_guard.policy import Limits


class Undecided(Exception):  # noqa: N818  # becomes a verdict
    """Whether a value fits could not be found out within bounds."""


@final
class CompiledSchema:
    """One usable schema: decides at once, explains on demand."""

    def __init__(self, schema: dict[str, Any], survey: Survey, limits: Limits) -> None:
        self.schema = schema
        """As the server sent it."""
        self.dialect: Dialect = survey.dialect
        self.names: frozenset[str] = survey.names
        """The property names declared anywhere in it."""
        self.has_formats: bool = not survey.closed or any("format" in node.schema for node in survey.nodes)
        """Whether asserting `format` could make a difference."""
        self._survey = survey
        self._limits = limits
        self._explainer: Explainer | None = None
        self._estimator: Estimator | None = None
        self._deciders: dict[tuple[bool, int], _engine.Decider] = {}
        if _engine.available():
            self._decider(formats=False)

    def is_valid(self, value: Any, *, formats: bool = False) -> bool:
        """Whether a value that is JSON and within `Limits` fits.

        Raises:
            Undecided: It could not be found out.
        """
        if not _engine.available():
            decided = self._explained().decide(value, formats=formats)
            if decided is None:
                raise Undecided("the value is too much for this schema without jsonschema-rs")
            return decided
        if self._estimator is None:
            self._estimator = Estimator(self._survey)
        try:
            backtracking = _backtracking(self._estimator.estimate(value))
            return self._decider(formats=formats, backtracking=backtracking)(value)
        except TooMuch:
            raise Undecided("the value is too much work for this schema") from None
        except (_engine.CannotCompile, _engine.CannotDecide):
            raise Undecided("the engine gave no answer") from None

    def violations(self, value: Any, *, formats: bool = False, limit: int = 20) -> tuple[tuple[Violation, ...], bool]:
        """Why a value does not fit, at most `limit` violations; and whether there may be more."""
        return self._explained().violations(value, formats=formats, limit=limit)

    def __reduce__(self) -> tuple[Any, ...]:
        # what the engine compiled does not pickle
        return _compiled, (self.schema, self._limits, self._survey.resources)

    def _decider(self, *, formats: bool, backtracking: int = _engine.BACKTRACKING) -> _engine.Decider:
        key = (formats, backtracking)
        if key not in self._deciders:
            self._deciders[key] = _engine.decider(
                self._survey.schema,
                self.dialect,
                formats=formats,
                resources=self._survey.resources,
                backtracking=backtracking,
                asking=not any("propertyNames" in node.schema for node in self._survey.nodes),
            )
        return self._deciders[key]

    def _explained(self) -> Explainer:
        if self._explainer is None:
            from mcp_guard._explain import Explainer  # only failures need it

            self._explainer = Explainer(
                self._survey.schema,
                self.dialect,
                names=self.names,
                steps=self._limits.explanation_steps,
                resources=self._survey.resources,
            )
        return self._explainer


_STEPS: Final = (_engine.BACKTRACKING, 1_000, 100, 20, 5)
_NANOSECONDS: Final = 100_000_000
_PER_STEP, _PER_CHARACTER = 500, 1.5


def _backtracking(effort: Effort) -> int:
    """How many steps a pattern may take on one string, so that all of them end in time: each step may read a string.

    Raises:
        TooMuch: There is too much text for any.
    """
    for steps in _STEPS:
        if steps * (effort.strings * _PER_STEP + effort.characters * _PER_CHARACTER) <= _NANOSECONDS:
            return steps
    raise TooMuch


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
        weigh(found, limits)
    except Refused as refused:
        return refused.unusable
    if not _engine.available() and not _meets_metaschema(found, limits):
        return Unusable("invalid_schema", "it is not what the dialect asks for", schema)
    try:
        return CompiledSchema(schema, found, limits)
    except _engine.CannotCompile as error:
        place = where(found.nodes, 0, found.names, *error.path)
        return Unusable("invalid_schema", f"{_words.cut(place, 200)} is not what the dialect asks for", schema)


def _meets_metaschema(found: Survey, limits: Limits) -> bool:
    """What the engine finds out by itself. A schema on which that takes too long is given the benefit of the doubt."""
    from mcp_guard._explain import Explainer

    for document in (found.schema, *found.resources.values()):
        dialect = dialect_of(document.get("$schema")) or found.dialect
        metaschema = {"$ref": URIS[dialect]}
        explainer = Explainer(metaschema, dialect, names=frozenset(), steps=limits.explanation_steps)
        if explainer.decide(document, formats=False) is False:
            return False
    return True


def _compiled(schema: dict[str, Any], limits: Limits, resources: dict[str, dict[str, Any]]) -> CompiledSchema:
    found = survey(schema, limits, resources)
    return CompiledSchema(schema, found, limits)


def flawed(flaw: Flaw, limits: Limits) -> Unusable:
    """A schema that is no plain JSON within `limits`, as a fact."""
    if flaw.code == "too_deep":
        detail = f"schema_depth: {limits.schema_depth} are allowed, found {flaw.found} or more"
    elif flaw.code == "too_large":
        detail = f"schema_bytes: {limits.schema_bytes} are allowed, found {flaw.found} or more"
    else:
        return Unusable("invalid_schema", _FLAWS[flaw.code])
    return Unusable("too_complex", detail)
