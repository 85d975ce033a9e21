"""Estimates how long holding one value against one schema can take at most, before the engine is asked. No engine.

The engine can't be interrupted, and a small schema and a small value can keep it for minutes: a pattern that stands at
4,000 places of a text at once, 1,000 alternatives for each of 300,000 elements. So the parts of the value are sorted by
the subschemas that apply to them, all of a kind at a time, and what each pair costs is added up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, Final

from mcp_guard._applying import HASHING, Applying, State, scaled
from mcp_guard._bounds import Measured
from mcp_guard._patterns import Powers
from mcp_guard._references import Survey
from mcp_guard._roles import HASHED, INT64, NANOSECONDS, Role, Seeds, Text

BUDGET: Final = 16_000_000
"""Units of work that one check may cost, of about 7 ns each: see `_roles`."""
_ALIKE: Final = (str, int, float)
_LISTED: Final = 40
"""For each element of an array that is unique, where all are of one of these types."""
_METASCHEMA: Final = 60
_APPLYING, _OBJECT, _MEMBER, _DECLARED, _NAMED = 100, 60, 25, 8, 20
_PLACED, _ELEMENT = 40, 10
"""Units that finding out costs here: for a subschema that applies somewhere, an object, a member, a declared name, such
a name that is there; for a place of a tuple and a subschema, and for what stands at it."""
_RAISED: Final = 40
_LARGE: Final = 1e6
_DIVIDED_SLOWLY: Final = 450
"""More for a float of more digits, where it is divided exactly by a fraction."""
_SQUARED: Final = 15_000
"""Squares of an integer's bits that are divided in one unit."""
_READ, _READ_SQUARED = 100, 3_000
"""Units to find out by its digits that an integer which is no machine integer is a number, and the squares of its bits
that are read in one unit more."""

_Roles = list[tuple[Role, int]]
_Level = dict[frozenset[tuple[int, int]], tuple[State, list[Any]]]


class TooMuch(Exception):  # noqa: N818  # becomes a verdict
    """The value is too much work for the schema: so many units were counted, and there may be more."""

    def __init__(self, units: int) -> None:
        super().__init__(units)
        self.units = units


@dataclass(slots=True)
class Size:
    """A value as a whole: how many values there are, and the characters of texts and names.

    `tame`: all its numbers are such as a machine compares at once, as far as that makes a difference. `floats`: there
    are some among them.
    """

    values: int
    characters: int
    tame: bool
    floats: bool

    @staticmethod
    def of(measured: Measured) -> Size:
        """At least as large as all that was measured."""
        # each text and each name counts for one character more
        return Size(measured.values, measured.size + 2 * measured.values, measured.tame, measured.floats)


@dataclass(slots=True)
class Effort:
    """What one look costs: units of work, and the strings that patterns have to backtrack on.

    `again`: nanoseconds that patterns may run over all of them after each step back.
    `exact`: numbers have to be compared by `_exact`.
    `reading`: those of the units that it takes to read long integers.
    """

    units: int = 0
    strings: int = 0
    again: int = 0
    exact: bool = False
    reading: int = 0


class _Each:
    """Units that one value costs at most, its text aside. `exact`: numbers have to be compared by `_exact`."""

    def __init__(self, applying: Applying, unseen: int, *, exact: bool) -> None:
        self._applying = applying
        self._unseen = unseen
        self._exact = exact

    @cached_property
    def heaviest(self) -> int:
        """As is seen at once."""
        return self._applying.heaviest(exact=self._exact) + self._unseen

    @cached_property
    def closest(self) -> int:
        """As is seen from nearby: less, or the same."""
        heaviest = self.heaviest - self._unseen
        return self._applying.at_one_place(heaviest, exact=self._exact) + self._unseen


class Estimator:
    """Estimates for one schema. What it learns of the schema it keeps."""

    def __init__(self, survey: Survey) -> None:
        self._applying = Applying(survey)
        roles = self._applying.roles
        self._fancy = any(role.texts.fancy or role.keys.fancy for role in roles)
        reads = any(role.reading for role in roles)
        self._numeric = reads or any(role.numbers or role.named_exactly or role.unique for role in roles)
        self._varies = reads or any(role.divides for role in roles)
        self._unseen = 0 if survey.closed else _METASCHEMA
        asserted = any(role.formats.character for role in roles)
        self._asserted = self._applying.total(lambda role: role.formats.character) if asserted else 0
        self._names = any(role.naming or role.holding for role in roles)
        self.tame: bool = all(role.tame for role in roles)
        """Whether the engine compares at once all numbers in the schema."""
        self._tamely, self._exactly = (_Each(self._applying, self._unseen, exact=exact) for exact in (False, True))
        self._character = 0
        if any(role.texts.character or role.keys.character for role in roles):
            self._character = self._applying.total(lambda role: role.texts.character + role.keys.character)
        self.character: int = self._character + self._asserted
        """Units that one character costs at most."""
        is_plain = self.tame and not self._fancy and not self._names
        self.plain: tuple[int, int] | None = (self._tamely.heaviest, self._character) if is_plain else None
        """Units that a value and a character cost at most, if that is all that has to be known of a value whose numbers
        are tame, with no format asserted."""

    def size(self, value: Any) -> Size:
        """How large a value is: level by level, in few calls that run in C."""
        values, characters, tame, floats = 0, 0, True, False
        level: list[Any] = [value]
        while level:
            values += len(level)
            kinds = set(map(type, level))
            objects: list[dict[str, Any]] = _of(dict, level, kinds)
            arrays: list[list[Any]] = _of(list, level, kinds)
            texts: list[str] = [*_of(str, level, kinds), *chain.from_iterable(objects)]
            characters += sum(map(len, texts)) + len(texts)
            floats = floats or float in kinds
            if self._numeric and tame:
                tame = _are_tame(_of(int, level, kinds), _of(float, level, kinds))
            level = [*chain.from_iterable(each.values() for each in objects), *chain.from_iterable(arrays)]
        return Size(values, characters, tame, floats)

    def each(self, *, exact: bool) -> int:
        """Units that one value costs at most, its text aside."""
        return (self._exactly if exact else self._tamely).closest

    def roughly(self, size: Size, *, formats: bool, allowed: int) -> Effort | None:
        """What holding a value of that size against the schema costs at most, where it is much less than `allowed`."""
        if self._fancy or (self._varies and not size.tame):
            return None
        exact = not (self.tame and size.tame) or (self._names and size.floats)
        each = self._exactly if exact else self._tamely
        more = size.characters * (self.character if formats else self._character)
        units = size.values * each.heaviest + more
        if units > allowed // 3:
            units = size.values * each.closest + more
        return Effort(units, exact=exact) if units <= allowed // 3 else None

    def closely(self, value: Any, size: Size, *, formats: bool, allowed: int) -> Effort:
        """What holding this very value against the schema costs at most.

        Raises:
            TooMuch: More than `allowed`.
        """
        unseen = size.values * self._unseen
        begin = partial(_Look, self._applying, formats=formats, allowed=allowed, floats=size.floats)
        look = begin(Effort(unseen, exact=not (self.tame and size.tame)))
        if not look.hold(value):
            look = begin(Effort(unseen, exact=True))
            look.hold(value)
        return look.effort


class _Look:
    """One estimate: goes down a value level by level. `floats`: there are some in it."""

    def __init__(self, applying: Applying, effort: Effort, *, formats: bool, allowed: int, floats: bool) -> None:
        self.effort = effort
        self._applying = applying
        self._formats = formats
        self._allowed = allowed
        self._floats = floats
        self._below: _Level = {}

    def hold(self, value: Any) -> bool:
        """Add up what all of a value costs. Whether that is known: `False` where numbers have to be compared exactly.

        Raises:
            TooMuch: More than is allowed.
        """
        self._put([(0, 1)], 0, [value])
        while self._below:
            level, self._below = self._below, {}
            for state, group in level.values():
                roles = self._applying.roles_of(state[1])
                if not self.effort.exact and self._is_slow(roles, group):
                    return False
                self._group(roles, state[1].get(HASHING, 0), group)
        return True

    def _is_slow(self, roles: _Roles, group: list[Any]) -> bool:
        """Whether an integer that the schema names may be compared with a float among these values, or inside them."""
        naming = self._floats and any(role.naming for role, _ in roles)
        holding = self._floats and any(role.holding for role, _ in roles)
        kinds = set(map(type, group)) if naming or holding else set[type]()
        return (naming and float in kinds) or (holding and not kinds.isdisjoint((dict, list)))

    def _spend(self, units: int) -> None:
        self.effort.units += units
        if self.effort.units > self._allowed:
            raise TooMuch(self.effort.units)

    def _put(self, seeds: Seeds, hashing: int, values: list[Any]) -> None:
        state, found = self._applying.state(seeds, hashing)
        self._spend(len(seeds) + _APPLYING * found)
        key, applied = state
        if applied:
            known = self._below.setdefault(key, (state, []))
            known[1].extend(values)

    def _group(self, roles: _Roles, hashing: int, group: list[Any]) -> None:
        """Add up what one group of values costs, and sort its parts."""
        self._spend(len(group) * (sum(role.each * count for role, count in roles) + hashing * HASHED + 1))
        strings = [each for each in group if type(each) is str]
        if strings:
            self._texts(strings, [(role.texts, count) for role, count in roles])
            if self._formats:
                self._texts(strings, [(role.formats, count) for role, count in roles])
        self._numbers(group, roles)
        objects: list[dict[str, Any]] = [each for each in group if type(each) is dict]
        arrays: list[list[Any]] = [each for each in group if type(each) is list]
        if not self.effort.exact:
            self._spend(sum(role.compound * count for role, count in roles) * (len(objects) + len(arrays)))
        elif objects or arrays:
            hashing += sum(role.hashed * count for role, count in roles)
        if objects:
            self._objects(roles, hashing, objects)
        if arrays:
            self._arrays(roles, hashing, arrays)

    def _numbers(self, group: list[Any], roles: _Roles) -> None:
        if not self.effort.exact:
            dear = sum(role.numbers * count for role, count in roles)
            if dear:
                self._spend(dear * sum(type(each) is int or type(each) is float for each in group))
            return
        self._spend(sum(role.named_exactly * count for role, count in roles) * len(group))
        dear = sum(role.numbers_exactly * count for role, count in roles)
        divisions = sum(count for role, count in roles if role.divides)
        reads = sum(count for role, count in roles if role.reading)
        if not dear and not reads:
            return
        numbers = [each for each in group if type(each) is int or type(each) is float]
        self._spend(dear * len(numbers))
        if divisions:
            self._spend(divisions * sum(map(_dividing, numbers)))
        if reads:
            reading = reads * sum(map(_reading, numbers))
            self.effort.reading += reading
            self._spend(reading)

    def _texts(self, strings: list[str], texts: list[tuple[Text, int]]) -> None:
        characters = sum(map(len, strings)) + len(strings)
        self._spend(
            characters * sum(text.character * count for text, count in texts)
            + len(strings) * sum(text.each * count for text, count in texts)
        )
        looks = sum(count for text, count in texts if text.fancy)
        self.effort.strings += len(strings) * looks
        if looks:
            lengths = [len(string) + 1 for string in strings]
            self._spend(sum(self._run(lengths, text.first) * count for text, count in texts) // NANOSECONDS)
            self.effort.again += sum(self._run(lengths, text.again) * count for text, count in texts)

    def _run(self, lengths: list[int], powers: Powers) -> int:
        """Nanoseconds that one run over strings of such lengths takes."""
        spent = 0
        for power, each in powers:
            if power > 1:
                self._spend(_RAISED * len(lengths))
            if power > 0:
                spent += each * (sum(lengths) if power == 1 else sum(length**power for length in lengths))
        return spent

    def _objects(self, roles: _Roles, hashing: int, objects: list[dict[str, Any]]) -> None:
        self._spend(len(objects) * (sum(role.per_object * count for role, count in roles) + _OBJECT))
        self._spend(sum(map(len, objects)) * (_MEMBER + sum(role.members * count for role, count in roles)))
        keys = [(role.keys, count) for role, count in roles if role.keys.each]
        if keys:
            self._texts(list(chain.from_iterable(objects)), keys)
        names = scaled((role.names, count) for role, count in roles)
        if names:
            self._put(names, 0, list(chain.from_iterable(objects)))
        self._spend(_DECLARED * sum(len(role.properties) for role, _ in roles))
        declared = {name for role, _ in roles for name in role.properties}
        members: dict[str, list[Any]] = defaultdict(list)
        others: list[Any] = []
        for each in objects:
            for name, value in each.items():
                (members[name] if name in declared else others).append(value)
        patterned = scaled((role.patterned, count) for role, count in roles)
        self._spend(_NAMED * len(roles) * len(members))
        for name, values in members.items():
            seeds = scaled((role.properties.get(name, role.rest), count) for role, count in roles)
            self._put([*seeds, *patterned], hashing, values)
        if others:
            seeds = scaled((role.rest, count) for role, count in roles)
            self._put([*seeds, *patterned], hashing, others)

    def _arrays(self, roles: _Roles, hashing: int, arrays: list[list[Any]]) -> None:
        elements = sum(role.elements * count for role, count in roles)
        if elements:
            self._spend(elements * sum(map(len, arrays)))
        unique = sum(count for role, count in roles if role.unique)
        if unique:
            if all(_are_alike(each) for each in arrays):
                self._spend(_LISTED * unique * sum(map(len, arrays)))
            else:
                hashing += unique
        first = max(len(role.prefix) for role, _ in roles) if roles else 0
        items = scaled((role.items, count) for role, count in roles)
        longest = max(map(len, arrays))
        places = min(first, longest)
        self._spend(places * (_PLACED * len(roles) + _ELEMENT * len(arrays)))
        for at in range(places):
            seeds = scaled((role.prefix[at : at + 1], count) for role, count in roles)
            self._put([*seeds, *items], hashing, [each[at] for each in arrays if len(each) > at])
        if longest > first:
            rest = chain.from_iterable(each[first:] if first else each for each in arrays)
            self._put(items, hashing, list(rest))


def _of(kind: type, values: list[Any], kinds: set[type]) -> list[Any]:
    """Those of one type; `kinds` are the types of all."""
    if kind not in kinds:
        return []
    return values if len(kinds) == 1 else [each for each in values if type(each) is kind]


def _are_tame(integers: list[int], floats: list[float]) -> bool:
    return max(map(int.bit_length, integers), default=0) <= INT64 and (
        not floats or (max(floats) < 1 << INT64 and min(floats) > -(1 << INT64))
    )


def _are_alike(values: list[Any]) -> bool:
    kinds = set(map(type, values))
    return len(kinds) <= 1 and kinds.issubset(_ALIKE)


def _reading(number: float) -> int:
    """Units that it takes to find out that a number is one."""
    if isinstance(number, float) or (bits := number.bit_length()) <= INT64:
        return 0
    return _READ + bits**2 // _READ_SQUARED


def _dividing(number: float) -> int:
    """Units more that it takes to divide a number which is not small by a fraction."""
    if -_LARGE < number < _LARGE:
        return 0
    return _DIVIDED_SLOWLY + (number.bit_length() ** 2 // _SQUARED if isinstance(number, int) else 0)
