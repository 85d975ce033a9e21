"""Says where and by which keywords a value breaks a schema. Whether it does is the engine's to decide.

The keywords (`_checks`, `_rules`) are carried out with a stack of its own, so that no depth of a value exhausts
Python's, and under a budget of steps. Each part that the engine finds to fit is left alone: the walk goes where the
faults are. Two things keep the questions from costing more than the answers. What the engine has looked at again and
again is weighed, and then its heaviest member is walked instead; and what is known of a value and a subschema is known
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mcp_guard._dialects import TABLES, VALUE_KEYWORDS, Dialect
from mcp_guard._engine import contain
from mcp_guard._facts import Violation, is_object, violation
from mcp_guard._nodes import Documents, Node
from mcp_guard._plain import OutOfBudget, Test
from mcp_guard._rules import Fault, Path, Steps, Task

_KINDS: Final[frozenset[type]] = frozenset({dict, list, tuple})
_FREE_LOOKS: Final = 4
"""How often the engine looks at the same data before that is weighed."""
_NODES_A_STEP: Final = 8
"""The engine walks 2 ** 8 values in the time of one step here."""
_LIGHT: Final = 256
"""So few values are looked at as often as it takes."""
_FEW: Final = 16
_CHUNK: Final = 256
_BLAME_STEPS: Final = 2_000
_DECIDING: Final = 10
"""How many times the steps of an explanation a decision without the engine may take."""


class Explainer:
    """Explains failures of one schema. Made once a schema; what it reads of the schema it keeps."""

    def __init__(
        self,
        schema: dict[str, Any],
        dialect: Dialect,
        *,
        names: frozenset[str],
        steps: int,
        resources: Mapping[str, dict[str, Any]] | None = None,
    ) -> None:
        self._schema = schema
        self._dialect: Dialect = dialect
        self._names = names
        self._steps = steps
        self._resources = resources or {}
        self._documents: dict[bool, Documents] = {}

    def violations(self, value: Any, *, formats: bool, limit: int) -> tuple[tuple[Violation, ...], bool]:
        """The violations of a value that does not fit, at most `limit`, at least one; and whether there may be more."""
        try:
            faults, truncated = self._faults(value, formats=formats, limit=limit)
        except BaseException as error:  # noqa: BLE001  # from reading the schema: still the engine has said no
            contain(error)
            known = (each for each in self._schema if each in VALUE_KEYWORDS or each in TABLES[self._dialect])
            keyword = next(known, "false")  # a word that is none of JSON Schema is the server's own
            faults, truncated = [Fault(keyword, self._schema.get(keyword), value, None, (None, keyword))], True
        finally:
            self._trim()
        found = sorted((self._violation(fault) for fault in faults), key=lambda pair: pair[0])
        return tuple(each for _, each in found[:limit]), truncated or len(found) > limit

    def decide(self, value: Any, *, formats: bool) -> bool | None:
        """Whether a value fits, where there is no engine; `None`: it can't be known in the time there is."""
        try:
            walk = _Walk(self._read(formats=formats), self._steps * _DECIDING, 0, guided=False)
            return walk.carry_out(Task(walk.documents.root, value, None, None, asked=True))
        except OutOfBudget:
            return None
        except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
            contain(error)
            return None
        finally:
            self._trim()

    def _faults(self, value: Any, *, formats: bool, limit: int) -> tuple[list[Fault], bool]:
        documents = self._read(formats=formats)
        root = Task(documents.root, value, None, None)
        walk = _Walk(documents, self._steps, limit, guided=documents.guided)
        ended = walk.try_out(root)
        if walk.faults or walk.spent:
            return walk.faults or [walk.blame(value)], not ended
        # where the engine calls every part good, or refuses a part (numbers of thousands of digits): without asking it
        unguided = _Walk(documents, self._steps, limit, guided=False)
        ended = unguided.try_out(root)
        return unguided.faults or [walk.blame(value)], not (ended and unguided.faults)

    def _read(self, *, formats: bool) -> Documents:
        documents = self._documents.get(formats)
        if documents is None:
            documents = Documents(self._schema, self._dialect, self._resources, formats=formats)
            self._documents[formats] = documents
        return documents

    def _trim(self) -> None:
        """Keep what was read of the schema only where that is little: it can be much more than the schema."""
        for formats, documents in [*self._documents.items()]:
            if not documents.is_small:
                del self._documents[formats]
                documents.close()

    def _violation(self, fault: Fault) -> tuple[Any, Violation]:
        path, at = _tokens(fault.path), _tokens(fault.at)
        place = [(isinstance(token, str), token) for token in path]
        each = violation(path, at, fault.keyword, fault.expected, fault.value, self._names)
        return (place, fault.keyword, each.schema_pointer), each


def _tokens(path: Path) -> list[str | int]:
    tokens: list[str | int] = []
    while path is not None:
        path, token = path
        tokens.append(token)
    tokens.reverse()
    return tokens


class _Enough(OutOfBudget):
    """More violations than are kept."""


class _Frame:
    """A value being held against a subschema."""

    __slots__ = ("asked", "at", "counted", "fits", "keyword", "node", "path", "quiet", "steps", "sure", "value")

    def __init__(self, walk: _Walk, task: Task, *, quiet: bool, sure: bool) -> None:
        self.node: Node = task.node  # type: ignore[assignment]  # the protocol's one implementation
        self.value = task.value
        self.path = task.path
        self.at = task.at
        self.asked = task.asked
        self.quiet = quiet
        self.sure = sure
        self.fits = True
        self.counted = False
        self.keyword = ""
        self.steps = _steps(walk, self)


def _steps(walk: _Walk, frame: _Frame) -> Steps:
    node, value, path, at = frame.node, frame.value, frame.path, frame.at
    for keyword, check in node.checks:
        for expected in check(value, walk):
            yield Fault(keyword, expected, value, path, (at, keyword))
    for frame.keyword, asked, rule in node.rules:
        yield from rule(walk, node, asked, value, path, at)


class _Walk:
    """One value's way through a schema."""

    def __init__(self, documents: Documents, steps: int, limit: int, *, guided: bool) -> None:
        self.documents = documents
        self.faults: list[Fault] = []
        self.spent = False
        self._guided = guided
        self._left = steps
        self._limit = limit
        self._stack: list[_Frame] = []
        self._known: dict[tuple[int, int], bool] = {}
        self._looks: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._doubtful: _Frame | None = None

    # --- carrying out --------------------------------------------------------------------------------------------

    def try_out(self, task: Task) -> bool:
        """Carry out as much as the budget allows, and no foreign exception; whether that was all."""
        try:
            self.carry_out(task)
        except OutOfBudget:
            self.spent = True
        except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
            contain(error)
        else:
            return True
        return False

    def carry_out(self, task: Task) -> bool:
        """Whether the value fits; the faults on the way are kept, unless the task is only asked about."""
        stack = self._stack
        answer = self._begin(task, None)
        while stack:
            frame = stack[-1]
            try:
                step = next(frame.steps) if answer is None else frame.steps.send(answer)
            except StopIteration:
                answer = self._end(frame)
                continue
            if isinstance(step, Fault):
                frame.fits = False
                answer = None
                if frame.quiet:
                    answer = self._abandon()
                else:
                    self._keep(step)
            else:
                answer = self._begin(step, frame)
                if answer is False and not step.asked:
                    frame.fits = False
                    if frame.quiet:
                        answer = self._abandon()
        return bool(answer)

    def _begin(self, task: Task, parent: _Frame | None) -> bool | None:
        node: Node = task.node  # type: ignore[assignment]  # the protocol's one implementation
        value = task.value
        quiet = task.asked or (parent is not None and parent.quiet)
        self.spend(1 + len(node.checks) + len(node.rules))
        if not node.rules:
            return self._simple(task, node, quiet=quiet)
        known = self._known.get((id(node), id(value)))
        if known or (quiet and known is not None):
            return known
        sure = parent is None and not quiet
        if parent is not None and self._guided:
            test = node.test()
            if test is not None and self._worth_asking(value, parent):
                fits = test(value)
                if fits or quiet:
                    self._known[id(node), id(value)] = fits
                    return fits
                sure = True
        self._stack.append(_Frame(self, task, quiet=quiet, sure=sure))
        return None

    def _simple(self, task: Task, node: Node, *, quiet: bool) -> bool:
        fits = True
        for keyword, check in node.checks:
            for expected in check(task.value, self):
                fits = False
                if quiet:
                    return fits
                at = task.at if keyword == "false" else (task.at, keyword)
                self._keep(Fault(keyword, expected, task.value, task.path, at))
        return fits

    def _end(self, frame: _Frame) -> bool:
        self._stack.pop()
        self._known[id(frame.node), id(frame.value)] = frame.fits
        if not frame.fits and not frame.asked and self._stack:
            self._stack[-1].fits = False
        if frame.fits and frame.sure and self._doubtful is None:
            self._doubtful = frame
        return frame.fits

    def _abandon(self) -> bool:
        """Leave everything that was begun for the question at hand: the answer is no."""
        while True:
            frame = self._stack.pop()
            frame.steps.close()
            self._known[id(frame.node), id(frame.value)] = False
            if frame.asked:
                return False

    def _keep(self, fault: Fault) -> None:
        self.faults.append(fault)
        if len(self.faults) > self._limit:
            raise _Enough

    # --- what a keyword may ask ------------------------------------------------------------------------------------

    def spend(self, steps: int) -> None:
        """Count work. Raises `OutOfBudget`."""
        self._left -= steps
        if self._left < 0:
            raise OutOfBudget

    def satisfies(self, keyword: str, asked: Any, value: Any) -> bool:
        """Whether the engine finds that a value satisfies one keyword."""
        test, cost = self.documents.keyword(keyword, asked)
        if isinstance(value, str):
            self.spend(cost(len(value)))
        elif keyword == "uniqueItems":
            self._look(value)
        return test(value)

    def matching(self, pattern: str, names: Any) -> list[str]:
        """The names that match a pattern."""
        test, cost = self.documents.keyword("pattern", pattern)
        self.spend(len(names) >> 4)
        if self.documents.explosive:
            self.spend(sum(cost(len(name)) for name in names))
        return [name for name in names if test(name)]

    def keeps(self, node: Any, keyword: str, value: Any) -> bool | None:
        """Whether the engine finds that a value satisfies one keyword of a node; `None`: it can't be asked."""
        test: Test | None = node.keeps(keyword) if self._guided else None
        return None if test is None or not self._light(value) else test(value)

    def verdicts(self, node: Any, values: Any) -> list[bool] | None:
        """Which of the values the engine finds to fit; `None`: it can't be asked."""
        test: Test | None = node.test() if self._guided else None
        if test is None:
            return None
        self._look(values)
        self.spend(len(values) >> 6)
        return [test(value) for value in values]

    def suspects(self, node: Any, values: Any, start: int = 0) -> Iterable[tuple[Any, Any]]:
        """Keys or indices, and values, of those members that may not fit, as far as that is quickly known."""
        many = len(values) - start > _FEW and self._guided
        test: Test | None = node.test() if many and not node.trivial else None
        if test is not None:
            self._look(self._stack[-1].value)
            self.spend(len(values) >> 6)
        if is_object(values):
            members: Iterable[tuple[Any, Any]] = values.items()
            return members if test is None else ((name, member) for name, member in members if not test(member))
        if test is None:
            elements: list[Any] = values[start:] if start else values
            return enumerate(elements, start)
        return _misfits(test, node.each(), values, start)

    # --- what asking costs -----------------------------------------------------------------------------------------

    def _worth_asking(self, value: Any, parent: _Frame) -> bool:
        if type(value) not in _KINDS or not value:
            return True
        whole = parent.value
        if value is whole:
            return self._light(value)
        looks = self._looks.get(id(whole), 0)
        if not parent.counted:
            # each of its members is asked about once: together that is one look at the whole
            parent.counted = True
            looks = self._looks[id(whole)] = looks + 1
        if looks > self._looks.get(id(value), 0):
            self._looks[id(value)] = looks
        if looks <= _FREE_LOOKS:
            return True
        weight = self._weight(whole)
        part = self._sizes.get(id(value), len(value))
        if part > _LIGHT and part * 2 > weight:
            return False  # the faults below are found without asking; the other members together weigh less
        self.spend(part >> _NODES_A_STEP)
        return True

    def _light(self, value: Any) -> bool:
        """Whether the engine may look at all of a value once more; else its keywords are carried out here."""
        looks = self._looks[id(value)] = self._looks.get(id(value), 0) + 1
        return looks <= _FREE_LOOKS or self._weight(value) <= _LIGHT

    def _look(self, value: Any) -> None:
        """Count a look at all of a value that has to be."""
        if not self._light(value):
            self.spend(self._weight(value) >> _NODES_A_STEP)

    def _weight(self, value: Any) -> int:
        """How many values there are in a value."""
        sizes = self._sizes
        if id(value) not in sizes:
            values: list[Any] = [value]
            parents, counts = [0], [0]
            for index, each in enumerate(values):  # which grows on the way
                every: Iterable[Any] = each.values() if is_object(each) else each
                members = [member for member in every if type(member) in _KINDS]
                count = len(each)
                for member in members:
                    known = sizes.get(id(member))
                    if known is None:
                        values.append(member)
                        parents.append(index)
                        counts.append(0)
                    else:
                        count += known
                counts[index] = count
            for index in range(len(values) - 1, 0, -1):
                counts[parents[index]] += counts[index]
            sizes.update(zip(map(id, values), counts, strict=True))
        return sizes[id(value)]

    # --- where the walk did not come to an end ---------------------------------------------------------------------

    def blame(self, value: Any) -> Fault:
        """One fault, where the walk has found none: at the deepest place that the engine has called wrong."""
        sure = [frame for frame in self._stack if frame.sure]
        root = Task(self.documents.root, value, None, None)
        frame = sure[-1] if sure else self._doubtful or _Frame(self, root, quiet=False, sure=True)
        self._left = max(self._left, _BLAME_STEPS)
        for keyword, asked in self._candidates(frame):
            return Fault(keyword, asked, frame.value, frame.path, (frame.at, keyword))
        return Fault("false", None, frame.value, frame.path, frame.at)

    def _candidates(self, frame: _Frame) -> Iterator[tuple[str, Any]]:
        """The keywords that may be the ones unsatisfied, the likeliest first."""
        node, value = frame.node, frame.value
        for keyword, check in node.checks:
            for expected in _carefully(check, value, self) or ():
                yield keyword, expected
        unasked = self.documents.explosive and self._weight(value) > _FEW
        known = {keyword: None if unasked else _carefully(node.keeps(keyword), value) for keyword, *_ in node.rules}
        words = node.words
        yield from ((keyword, words[keyword]) for keyword, kept in known.items() if kept is False)
        if frame.keyword in known and known[frame.keyword] is None:
            yield frame.keyword, words[frame.keyword]  # where the work was when the budget was spent
        for keyword in words.keys() - known.keys() - _NO_TEST:
            # the engine may know keywords that are unknown here
            if _carefully(self.documents.parts.test({keyword: words[keyword]}), value) is False:
                yield keyword, words[keyword]
        yield from ((keyword, words[keyword]) for keyword, kept in known.items() if kept is None)
        yield from ((keyword, words[keyword]) for keyword in known)


_NO_TEST: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$id", "id", "$schema", "$defs", "definitions"})


def _carefully(test: Any, *arguments: Any) -> Any:
    try:
        return None if test is None else test(*arguments)
    except OutOfBudget:
        return None
    except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
        contain(error)
        return None


def _misfits(test: Test, every: Test | None, values: Any, start: int) -> Iterator[tuple[int, Any]]:
    for low in range(start, len(values), _CHUNK):
        chunk = values[low : low + _CHUNK]
        if every is None or not every(chunk):
            yield from ((index, value) for index, value in enumerate(chunk, low) if not test(value))
