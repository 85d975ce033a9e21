"""One check's use of a schema: decides about values and explains, and holds all of that together within one budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, final

from mcp_guard import _engine
from mcp_guard._bounds import Measured
from mcp_guard._effort import BUDGET, Effort, Estimator, Size, TooMuch
from mcp_guard._facts import Violation, is_array, is_object
from mcp_guard._purse import Means
from mcp_guard._roles import NANOSECONDS

if TYPE_CHECKING:
    from mcp_guard._explain import Explainer

_BACKTRACKING: Final = (_engine.BACKTRACKING, 1_000, 100, 20, 5)
_BACKTRACKED: Final = 50_000_000 // NANOSECONDS
"""Units that all backtracking of one check may take."""
_ASKED: Final = 1_000
"""Strings of which the engine may be asked whether it backtracked too much: see `Decider`."""
_EXPLAINED: Final = BUDGET // 2
"""What an explanation may cost, or three looks at all of the value, where so much is left."""
_LEAST: Final = BUDGET // 8
"""What it may always cost."""
_DECIDING: Final = 3
"""How many times the steps of an explanation all decisions of one check without the engine may take."""


_READ, _READING = 500_000, 6
"""Units that each value, and twice those that each key of a text takes away from what may be asked, after so many:
reading it took its time already."""
_WRAPPERS: Final = 4
"""What is read from text is put into so many containers at most."""


class Undecided(Exception):  # noqa: N818  # becomes a verdict
    """Whether a value fits could not be found out within bounds."""


class Compiled(Protocol):
    """What is used of a `CompiledSchema`."""

    schema: dict[str, Any]
    has_formats: bool
    has_property_names: bool
    compiling: int
    explanation_steps: int
    estimator: Estimator | None
    usual: _engine.Decider | None

    @property
    def explainer(self) -> Explainer:
        """What explains."""
        ...

    def made(self, formats: bool, exact: bool, backtracking: int, /) -> _engine.Decider | None:  # noqa: FBT001  # a key
        """The one that is compiled already, if it is."""
        ...

    def decider(self, *, formats: bool, exact: bool, backtracking: int) -> _engine.Decider:
        """What decides."""
        ...


@final
class Look:
    """Decides about values that are JSON and within `Limits`, and explains.

    `within`: how large each of them is at most, where that is known.
    """

    __slots__ = ("_compiled", "_efforts", "_left", "_plain", "_sizes", "_stepped", "_within")

    def __init__(self, compiled: Compiled, within: Size | None = None) -> None:
        self._compiled = compiled
        self._within = within
        self._left = BUDGET
        self._stepped = 0
        # by identity, which the value is kept for
        self._sizes: dict[int, tuple[Any, Size]] = {}
        self._efforts: dict[tuple[int, bool], tuple[Any, Effort, int]] = {}
        self._plain: tuple[Any, int] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """As the server sent it."""
        return self._compiled.schema

    def knows(self, value: Any, measured: Measured) -> None:
        """Take note of how large a value is that was read from text, and may be asked about."""
        self._sizes[id(value)] = value, Size.of(measured)
        self._left -= max(measured.values + 2 * measured.keys - _READ, 0) * _READING

    @property
    def has_formats(self) -> bool:
        """Whether asserting `format` could make a difference."""
        return self._compiled.has_formats

    def is_valid(self, value: Any, *, formats: bool = False) -> bool:
        """Whether a value fits.

        Raises:
            Undecided: It could not be found out.
        """
        compiled, size = self._compiled, self._within
        estimator, decide = compiled.estimator, compiled.usual
        formats = formats and compiled.has_formats
        if estimator is None or decide is None:
            return self._without_engine(value, formats=formats)
        backtracking = _engine.BACKTRACKING
        try:
            if size is not None and not formats and size.tame and estimator.plain is not None:
                # for most questions of all, what the rest comes to, in fewer steps
                each, character = estimator.plain
                units = size.values * each + size.characters * character
                if units <= self._left // 3:
                    self._left -= units
                    self._plain = value, units
                    return decide(value)
            effort, backtracking = self._estimated(value, formats=formats)
            if formats or effort.exact or backtracking != _engine.BACKTRACKING:
                # also where it is made already: a verdict does not depend on what was judged before
                self._pay(compiled.compiling)
            decide = compiled.made(formats, effort.exact, backtracking)
            if decide is None:
                decide = compiled.decider(formats=formats, exact=effort.exact, backtracking=backtracking)
            return decide(value, asking=effort.strings <= _ASKED and not compiled.has_property_names)
        except TooMuch as much:
            found = f"{BUDGET} are allowed in one check, found {BUDGET - self._left + much.units} or more"
            raise Undecided(f"units of work, of {NANOSECONDS} ns: {found}") from None
        except (_engine.CannotCompile, _engine.CannotDecide):
            if backtracking == _engine.BACKTRACKING:
                raise Undecided("jsonschema-rs gave no answer") from None
            found = f"{backtracking} are allowed for so many texts, found more"
            raise Undecided(f"steps of backtracking on a text: {found}") from None

    def violations(self, value: Any, *, formats: bool = False, limit: int = 20) -> tuple[tuple[Violation, ...], bool]:
        """Why a value does not fit, at most `limit` violations, at least one; and whether there may be more."""
        explainer, estimator = self._compiled.explainer, self._compiled.estimator
        formats = formats and self._compiled.has_formats
        decided = self._decided(value, formats=formats)
        if estimator is None or decided is None:
            return explainer.violations(value, formats=formats, limit=limit, means=Means(left=0))
        effort, backtracking = decided
        backtracked = _backtracked(effort, backtracking)
        whole = effort.units + backtracked
        means = Means(
            left=max(min(self._left, max(_EXPLAINED, 3 * whole)), _LEAST),
            whole=whole,
            each=whole if effort.reading else estimator.each(exact=effort.exact),
            character=estimator.character,
            more=backtracked,
        )
        return explainer.violations(
            value, formats=formats, limit=limit, means=means, exact=effort.exact, backtracking=backtracking
        )

    def _decided(self, value: Any, *, formats: bool) -> tuple[Effort, int] | None:
        """What deciding costs, or did cost; `None` where that is too much."""
        if self._plain is not None and self._plain[0] is value and not formats:
            return Effort(self._plain[1]), _engine.BACKTRACKING
        known = self._efforts.get((id(value), formats))
        try:
            return self._estimated(value, formats=formats) if known is None else known[1:]
        except TooMuch:
            return None

    def _without_engine(self, value: Any, *, formats: bool) -> bool:
        allowed = self._compiled.explanation_steps * _DECIDING
        steps = allowed - self._stepped
        decided, left = self._compiled.explainer.decide(value, formats=formats, steps=steps)
        self._stepped = allowed - left
        if decided is None:
            raise Undecided(f"steps without jsonschema-rs: {allowed} are allowed in one check, found more")
        return decided

    def _estimated(self, value: Any, *, formats: bool) -> tuple[Effort, int]:
        """What deciding costs, paid for; and how many steps of backtracking a pattern may take on one string.

        Raises:
            TooMuch: More than is left.
        """
        estimator = self._compiled.estimator
        if estimator is None:
            raise TooMuch(0)
        size = self._within or self._size(value, estimator)
        effort = estimator.roughly(size, formats=formats, allowed=self._left)
        if effort is None:
            effort = estimator.closely(value, size, formats=formats, allowed=self._left)
        self._pay(effort.units)
        backtracking = self._backtracking(effort) if effort.strings else _engine.BACKTRACKING
        self._efforts[id(value), formats] = value, effort, backtracking
        return effort, backtracking

    def _backtracking(self, effort: Effort) -> int:
        """How many steps of backtracking there is room for, paid for."""
        room = min(self._left, _BACKTRACKED)
        for backtracking in _BACKTRACKING:
            units = _backtracked(effort, backtracking)
            if units <= room:
                self._pay(units)
                return backtracking
        raise TooMuch(_backtracked(effort, _BACKTRACKING[-1]))

    def _size(self, value: Any, estimator: Estimator) -> Size:
        """How large a value is. What is round one that was measured before is not walked again."""
        around: list[Any] = []
        inner = value
        while id(inner) not in self._sizes and _is_wrapper(inner) and len(around) < _WRAPPERS:
            around.append(inner)
            (inner,) = inner.values() if is_object(inner) else inner
        known = self._sizes.get(id(inner))
        if known is None:
            known = self._sizes[id(value)] = value, estimator.size(value)
            return known[1]
        size = known[1]
        for each in around:
            name = len(next(iter(each))) + 1 if is_object(each) else 0
            size = Size(size.values + 1, size.characters + name, size.tame, size.floats)
        return size

    def _pay(self, units: int) -> None:
        if units > self._left:
            raise TooMuch(units)
        self._left -= units


def _is_wrapper(value: Any) -> bool:
    """Whether this holds one value that may be large."""
    return (is_object(value) or is_array(value)) and len(value) == 1


def _backtracked(effort: Effort, backtracking: int) -> int:
    """Units that so much backtracking may take on all strings together: after each step may come a run."""
    return backtracking * (effort.strings * _engine.PER_STEP + effort.again) // NANOSECONDS
