"""Decides whether a value fits a schema, by jsonschema-rs. The only module that knows it; compiles, and no more.

Some keywords it hands over to `_exact`. Its hashes of `uniqueItems` can be foreseen: 300,000 integers from 2 ** 62 on
took it 15 s, as many of them are one double. And it compares what is no machine integer by fractions: 1,800 integers
of 4,300 digits took it a second for each ``{"minimum": 0.5}``. Where nothing is handed over, all it does is 1.5 times
as fast: so only those keywords are that it can come by.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from mcp_guard._canonical import is_array, is_object
from mcp_guard._dialects import URIS, Dialect
from mcp_guard._exact import KEYWORDS, Test
from mcp_guard._panic import contain

BACKTRACKING: Final = 10_000
"""Steps that a pattern with look-around or back references may take on one string, about 20 ns each on a short one.
jsonschema-rs takes a string on which they do not suffice for one that does not match, and the value as not fitting,
also under `not`: what conforms has been shown to."""

PER_STEP: Final = 500
"""Nanoseconds that such a step may take, the run over the string aside that may come after it: see `PatternCost`."""
_NAMELESS: Final = "json-schema:///"
"""What jsonschema-rs calls a schema that has no name."""
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_LEADING: Final = _REFERENCES | {"$id", "id"}
"""Keywords that tell where in the world something is."""

_VALIDATORS: Final[dict[Dialect, str]] = {
    "draft4": "Draft4Validator",
    "draft6": "Draft6Validator",
    "draft7": "Draft7Validator",
    "draft2019-09": "Draft201909Validator",
    "draft2020-12": "Draft202012Validator",
}


class CannotCompile(Exception):  # noqa: N818  # becomes a fact
    """The engine does not take the schema; `path` is where in the schema, as far as it says."""

    def __init__(self, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(path)
        self.path = path


class CannotDecide(Exception):  # noqa: N818  # becomes a fact
    """The engine gave no answer."""


def available() -> bool:
    """Whether jsonschema-rs is installed."""
    return importlib.util.find_spec("jsonschema_rs") is not None


class Known(NamedTuple):
    """Documents made ready for many schemas that lead into them, and the keywords that these may come by there."""

    registry: Any
    words: frozenset[str]


def registry(documents: Mapping[str, dict[str, Any]], dialect: Dialect) -> Known:
    """The documents by URI, made ready for many schemas that lead into them."""
    import jsonschema_rs

    draft = getattr(jsonschema_rs, _VALIDATORS[dialect].removesuffix("Validator"))
    return Known(jsonschema_rs.Registry(list(documents.items()), draft=draft), _words(documents.values()))


def _words(documents: Iterable[dict[str, Any]]) -> frozenset[str]:
    """The keywords of `_exact` that the engine may come by in schemas that are made of these documents.

    All that stand anywhere, since a reference may lead anywhere. And simply all where one may lead out of its document,
    or meet the name of another: the metaschemas are never far, and have such keywords too.
    """
    found: set[str] = set()
    todo: list[Any] = [*documents]
    for each in todo:  # which grows on the way
        if is_object(each):
            found.update(each)
            if not _LEADING.isdisjoint(each) and any(_leads_out(word, each[word]) for word in _LEADING & each.keys()):
                return frozenset(KEYWORDS)
            todo += each.values()
        elif is_array(each):
            todo += each
    return frozenset(found & KEYWORDS.keys())


def _leads_out(keyword: str, value: object) -> bool:
    if not isinstance(value, str):
        return False  # the name of a property
    return not value.startswith("#") if keyword in _REFERENCES else "//" in value


class Decider:
    """Tells whether JSON values fit one schema. They nest no deeper than `Limits.depth`, and are plain JSON.

    With `exact`, what compares numbers is handed over too: slower on machine integers, and bounded on all others.
    With a `known` registry, references lead into its documents; else into `resources`.

    Raises:
        CannotCompile: The engine does not take the schema.
    """

    __slots__ = ("_backtracking", "_refused", "_validator")

    def __init__(
        self,
        schema: dict[str, Any],
        dialect: Dialect,
        *,
        formats: bool,
        resources: Mapping[str, dict[str, Any]] | None = None,
        known: Known | None = None,
        backtracking: int = BACKTRACKING,
        exact: bool = False,
    ) -> None:
        import jsonschema_rs  # the heavy import waits

        self._backtracking = backtracking
        self._refused: type[Exception] = jsonschema_rs.ValidationError
        found = None if known is None else known.registry
        # what leads into known documents stands in them, and was made here
        words = _words([schema, *(resources or {}).values()]) if known is None else known.words | schema.keys()
        handed = _EXACT if exact else _HANDED
        try:
            if resources:  # a document may refer back to the schema, by whatever that or a part of it calls itself
                documents = [*resources.items(), (_NAMELESS, {"$schema": URIS[dialect], **schema})]
                found = jsonschema_rs.Registry(documents)
            self._validator: Any = getattr(jsonschema_rs, _VALIDATORS[dialect])(
                schema,
                validate_formats=formats,
                offline=True,
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=backtracking),
                registry=found,
                keywords={word: handed[word] for word in words & handed.keys()} or None,
            )
        except jsonschema_rs.ValidationError as error:
            # found by the metaschema, whose instance is the schema
            raise CannotCompile(tuple(error.instance_path)) from None
        except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
            contain(error)
            raise CannotCompile from None

    @property
    def fits(self) -> Test:
        """The bare question, without what guards the answer: what the engine raises comes out."""
        ask: Test = self._validator.is_valid
        return ask

    def __call__(self, value: Any, *, asking: bool = False) -> bool:
        """Whether a value fits.

        Where it does not, and less `backtracking` is allowed than usual, that may have been too little. With `asking`
        the engine is asked whether it was: at most 30 microseconds for each string, but minutes where `propertyNames`
        has a pattern that backtracks.

        Raises:
            CannotDecide: The backtracking allowed did not suffice, or may not have; or the engine failed.
        """
        try:
            fits: bool = self._validator.is_valid(value)
            if not fits and (stopped := _STOPPED.get()) is not None:
                _STOPPED.set(None)
                raise stopped  # noqa: TRY301  # as if the engine had let it through
            if fits or self._backtracking >= BACKTRACKING:
                return fits
            if asking:
                self._validator.validate(value)
        except self._refused as error:
            import jsonschema_rs

            kind = getattr(error, "kind", None)
            if isinstance(kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded):
                raise CannotDecide from None
            return False
        except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
            contain(error)
            raise CannotDecide from None
        raise CannotDecide


class _Unfit(Exception):  # noqa: N818  # how the engine is told
    pass


_STOPPED: Final[ContextVar[BaseException | None]] = ContextVar("stopped", default=None)
"""What stopped a keyword. To the engine any exception means that the value does not fit, also an interruption by the
user."""


def _handed(make: Callable[[Any, Any], Test]) -> type:
    """A keyword of jsonschema-rs that is answered here."""

    class Keyword:
        __slots__ = ("_test",)

        def __init__(self, parent: Any, asked: Any, _path: Any) -> None:
            self._test = make(asked, parent)

        def validate(self, instance: Any) -> None:
            try:
                fits = self._test(instance)
            except BaseException as error:
                _STOPPED.set(error)
                raise
            if not fits:
                raise _Unfit

    return Keyword


_EXACT: Final = {keyword: _handed(make) for keyword, make in KEYWORDS.items()}
_HANDED: Final = {"uniqueItems": _EXACT["uniqueItems"]}
