"""Says where and by which keywords a value breaks a schema. Whether it does is the engine's to decide.

The keywords (`_checks`, `_rules`) are carried out with a stack of its own, so that no depth of a value exhausts
Python's, and under a budget of steps. Each part that the engine finds to fit is left alone: the walk goes where the
faults are. Two things keep the questions from costing more than the answers. Each is paid for beforehand, so that a
part that is most of the value is walked rather than asked about on every level; and what is known of a value and a
subschema is known once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from mcp_guard._dialects import TABLES, VALUE_KEYWORDS, Dialect
from mcp_guard._engine import BACKTRACKING, CannotDecide
from mcp_guard._exact import KEYWORDS, Test
from mcp_guard._facts import Violation, is_object, violation
from mcp_guard._nodes import Documents, Node
from mcp_guard._panic import contain
from mcp_guard._parts import Parts
from mcp_guard._patterns import cost_of
from mcp_guard._plain import OutOfBudget
from mcp_guard._purse import Means, Purse
from mcp_guard._rules import Fault, Path, Steps, Task

_KINDS: Final[frozenset[type]] = frozenset({dict, list, tuple})
_READINGS: Final = 2
"""So many of a schema are kept: for formats asserted or not."""
_FEW: Final = 16
_CHUNK: Final = 256
_BLAME_STEPS: Final = 2_000
_POINTERS: Final = 1_000_000
"""Characters of all pointers of one explanation: names can be long, and stand in each other."""


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
        compiling: Mapping[int, int] | None = None,
    ) -> None:
        self._schema = schema
        self._dialect: Dialect = dialect
        self._names = names
        self._steps = steps
        self._resources = resources or {}
        self._compiling = compiling or {}
        self._documents: dict[tuple[bool, bool, int], Documents] = {}

    def violations(
        self,
        value: Any,
        *,
        formats: bool,
        limit: int,
        means: Means | None = None,
        exact: bool = True,
        backtracking: int = BACKTRACKING,
    ) -> tuple[tuple[Violation, ...], bool]:
        """The violations of a value that does not fit, at most `limit`, at least one; and whether there may be more.

        `exact` and `backtracking` are as they were when the value was decided.
        """
        try:
            documents = self._read(formats=formats, exact=exact, backtracking=backtracking)
            faults, truncated = self._faults(value, documents, limit, means or Means())
        except BaseException as error:  # noqa: BLE001  # from reading the schema: still the engine has said no
            contain(error)
            known = (each for each in self._schema if each in VALUE_KEYWORDS or each in TABLES[self._dialect])
            keyword = next(known, "false")  # a word that is none of JSON Schema is the server's own
            faults, truncated = [Fault(keyword, self._schema.get(keyword), value, None, (None, keyword))], True
        finally:
            self._trim()
        found: list[tuple[Any, Violation]] = []
        room = _POINTERS
        for fault in faults:
            each = self._violation(fault)
            room -= len(each[1].pointer) + len(each[1].schema_pointer)
            if found and room < 0:
                truncated = True
                break
            found.append(each)
        found.sort(key=lambda pair: pair[0])
        return tuple(each for _, each in found[:limit]), truncated or len(found) > limit

    def decide(self, value: Any, *, formats: bool, steps: int) -> tuple[bool | None, int]:
        """Whether a value fits, where there is no engine, and the steps that are left.

        `None`: it can't be known in so many steps.
        """
        walk: _Walk | None = None
        fits: bool | None = None
        try:
            documents = self._read(formats=formats, exact=True, backtracking=BACKTRACKING)
            walk = _Walk(documents, steps, 0, Means(left=0))
            fits = walk.carry_out(Task(documents.root, value, None, None, asked=True))
        except OutOfBudget:
            pass
        except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
            contain(error)
        finally:
            self._trim()
        return fits, 0 if walk is None else max(walk.left, 0)

    def _faults(self, value: Any, documents: Documents, limit: int, means: Means) -> tuple[list[Fault], bool]:
        root = Task(documents.root, value, None, None)
        walk = _Walk(documents, self._steps, limit, means, guided=documents.guided)
        ended = walk.try_out(root)
        if walk.faults or walk.spent:
            return walk.faults or [walk.blame(value)], walk.doubtful or not ended
        # where the engine calls every part good, or refuses a part (numbers of thousands of digits): without asking it
        if walk.suspect is not None:
            return [walk.suspect], True
        unguided = _Walk(documents, self._steps, limit, means)
        ended = unguided.try_out(root) and not unguided.doubtful
        return unguided.faults or [unguided.suspect or walk.blame(value)], not (ended and unguided.faults)

    def _read(self, *, formats: bool, exact: bool, backtracking: int) -> Documents:
        key = (formats, exact, backtracking)
        documents = self._documents.get(key)
        if documents is None:

            def parts(of: Mapping[str, dict[str, Any]]) -> Parts:
                return Parts(self._dialect, of, formats=formats, exact=exact, backtracking=backtracking)

            documents = self._documents[key] = Documents(
                self._schema, self._dialect, self._resources, parts=parts, compiling=self._compiling, formats=formats
            )
        return documents

    def _trim(self) -> None:
        """Keep what was read of the schema only where that is little: it can be much more than the schema."""
        for nth, (key, documents) in enumerate(reversed([*self._documents.items()])):
            if nth >= _READINGS or not documents.is_small:
                del self._documents[key]
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

    __slots__ = ("asked", "at", "fits", "keyword", "node", "path", "quiet", "steps", "sure", "value")

    def __init__(self, walk: _Walk, task: Task, *, quiet: bool, sure: bool) -> None:
        self.node: Node = task.node  # type: ignore[assignment]  # the protocol's one implementation
        self.value = task.value
        self.path = task.path
        self.at = task.at
        self.asked = task.asked
        self.quiet = quiet
        self.sure = sure
        self.fits = True
        self.keyword = ""
        self.steps = _steps(walk, self)


def _steps(walk: _Walk, frame: _Frame) -> Steps:
    node, value, path, at = frame.node, frame.value, frame.path, frame.at
    for keyword, check in node.checks:
        for expected in check(value, walk):
            yield Fault(keyword, expected, value, path, (at, keyword))
        if walk.unanswered:
            walk.note(Fault(keyword, node.words[keyword], value, path, (at, keyword)), quiet=frame.quiet)
    for frame.keyword, asked, rule in node.rules:
        yield from rule(walk, node, asked, value, path, at)


class _Walk:
    """One value's way through a schema."""

    def __init__(self, documents: Documents, steps: int, limit: int, means: Means, *, guided: bool = False) -> None:
        self.documents = documents
        self.faults: list[Fault] = []
        self.spent = False
        self.doubtful = False
        """What could not be answered within bounds was taken to fit."""
        self.suspect: Fault | None = None
        """The first such answer that may be the fault."""
        self.unanswered = False
        self._guided = guided
        self.left = steps
        self._limit = limit
        self._purse = Purse(means)
        self._stack: list[_Frame] = []
        self._known: dict[tuple[int, int], bool] = {}
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
        sure = known is False or (parent is None and not quiet)
        if parent is not None and not sure:
            test = self._affordable(node, value, _ONE_OF_MANY)
            if test is not None:
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
            at = task.at if keyword == "false" else (task.at, keyword)
            for expected in check(task.value, self):
                fits = False
                if quiet:
                    return fits
                self._keep(Fault(keyword, expected, task.value, task.path, at))
            if self.unanswered:
                self.note(Fault(keyword, node.words[keyword], task.value, task.path, at), quiet=quiet)
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

    def note(self, fault: Fault, *, quiet: bool) -> None:
        """What was just looked at; keep it where it was taken to fit for want of an answer."""
        if self.unanswered and not quiet and self.suspect is None:
            self.suspect = fault
        self.unanswered = False

    def _keep(self, fault: Fault) -> None:
        self.faults.append(fault)
        if len(self.faults) > self._limit:
            raise _Enough

    # --- what a keyword may ask ------------------------------------------------------------------------------------

    def spend(self, steps: int) -> None:
        """Count work. Raises `OutOfBudget`."""
        owed, self.documents.owed = self.documents.owed, 0
        if owed > _MUCH and self._purse.pays(owed * _UNITS_A_STEP, share=_ALL_OF_IT):
            owed = 0
        self.left -= steps + owed
        if self.left < 0:
            raise OutOfBudget

    def satisfies(self, keyword: str, asked: Any, value: Any) -> bool:
        """Whether a value satisfies one keyword. Where that can't be found out within bounds, it is taken to."""
        priced = self.documents.keyword(keyword, asked, self._weight)
        taken = priced.steps(value, self._weight)
        if taken > _FEW and self._purse.pays(taken * _UNITS_A_STEP, share=_THE_ONE):
            taken = _FEW
        self.spend(taken)
        if keyword in KEYWORDS or type(value) is not str:
            return priced.test(value)
        answer = self._asked(keyword, asked, priced.test, value)
        self.unanswered = answer is None
        self.doubtful = self.doubtful or self.unanswered
        return answer is not False

    def matches(self, pattern: str, name: str) -> bool:
        """Whether a name matches a pattern. Raises `OutOfBudget`: there is no answer that does no harm."""
        priced = self.documents.keyword("pattern", pattern, self._weight)
        self.spend(priced.steps(name, self._weight))
        answer = self._asked("pattern", pattern, priced.test, name)
        if answer is None:
            raise OutOfBudget
        return answer

    def _asked(self, keyword: str, asked: Any, test: Test, text: str) -> bool | None:
        """The answer of a test that is the engine's, where there is one; `None` where it is too dear."""
        if self.documents.parts.installed:
            units = (
                self._backtracking(asked, len(text)) if keyword == "pattern" else self._purse.price(text, self.spend)
            )
            if not self._purse.pays(units, share=1):
                return None
        try:
            return test(text)
        except CannotDecide:
            return None

    def keeps(self, node: Any, keyword: str, value: Any) -> bool | None:
        """Whether the engine finds that a value satisfies one keyword of a node; `None`: it can't be asked."""
        if not self._guided or not self._pays(node, value, _ONE_OF_FEW, made=node.has_kept(keyword)):
            return None
        test: Test | None = node.keeps(keyword)
        return None if test is None else test(value)

    def verdicts(self, node: Any, values: Any) -> list[bool] | None:
        """Which of the values the engine finds to fit; `None`: it can't be asked."""
        test = self._affordable(node, values, _THE_ONE)
        if test is None:
            return None
        self.spend(len(values) >> 6)
        return [test(value) for value in values]

    def suspects(self, node: Any, values: Any, start: int = 0) -> Iterable[tuple[Any, Any]]:
        """Keys or indices, and values, of those members that may not fit, as far as that is quickly known."""
        many = len(values) - start > _FEW and not node.trivial
        test = self._affordable(node, values, _ALL_OF_IT) if many else None
        if test is not None:
            self.spend(len(values) >> 6)
        pairs: Any = values.items() if is_object(values) else enumerate(values)
        rest: Iterator[tuple[Any, Any]] = islice(pairs, start, None)
        return rest if test is None else self._misfits(node, test, rest, self._purse.price(values, self.spend))

    def _misfits(
        self, node: Node, test: Test, members: Iterator[tuple[Any, Any]], price: int
    ) -> Iterator[tuple[Any, Any]]:
        every = node.each()
        asking: bool | None = None
        while chunk := list(islice(members, _CHUNK)):
            if every is not None and every([member for _, member in chunk]):
                continue
            if not asking:  # one look more at all of them together is what all chunks may cost, else each for itself
                asking = asking is None and self._purse.pays(price, share=1)
            asked = asking or self._pays_each(chunk)
            for key, member in chunk:
                if not asked:
                    yield key, member
                elif not test(member):
                    self._known[id(node), id(member)] = False
                    yield key, member

    def _pays_each(self, chunk: list[tuple[Any, Any]]) -> bool:
        self.spend(len(chunk) >> 2)
        return self._purse.pays(sum(self._purse.price(member, self.spend) for _, member in chunk), share=1)

    def suspicious(self, node: Any, names: list[str], value: Any) -> Iterable[str]:
        """Of the names of properties, those that may not fit, as far as that is quickly known."""
        if len(names) <= _CHUNK or not self._guided:
            return names
        units = self._purse.price(value, self.spend) + node.compiling
        return self._unfit(node, names, value) if self._purse.pays(units, share=_THE_ONE) else names

    def _unfit(self, node: Node, names: list[str], value: Any) -> Iterator[str]:
        for low in range(0, len(names), _CHUNK):
            some = names[low : low + _CHUNK]
            test = node.members(some)
            if test is None or not test({name: value[name] for name in some}):
                yield from some

    # --- what asking costs -----------------------------------------------------------------------------------------

    def _affordable(self, node: Any, value: Any, share: int) -> Test | None:
        """The engine's test of a node, if it may be asked about a value."""
        if not self._guided or not self._pays(node, value, share, made=node.is_made):
            return None
        test: Test | None = node.test()
        return test

    def _pays(self, node: Node, value: Any, share: int, *, made: bool) -> bool:
        units = self._purse.price(value, self.spend) + (0 if made else node.compiling)
        return self._purse.pays(units, share=share)

    def _backtracking(self, pattern: str, length: int) -> int:
        """Units that the engine may need to hold a text of that length against a pattern."""
        cost = cost_of(pattern)
        if cost.again:
            return self.documents.parts.backtracked(cost, length)
        return (length + 1) * cost.character

    def _weight(self, value: Any) -> int:
        """How many values there are in a value."""
        if type(value) not in _KINDS:
            return 0
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
        self.left = max(self.left, _BLAME_STEPS)
        for keyword, asked in self._candidates(frame):
            return Fault(keyword, asked, frame.value, frame.path, (frame.at, keyword))
        return Fault("false", None, frame.value, frame.path, frame.at)

    def _kept(self, node: Node, keyword: str, value: Any) -> bool | None:
        """What the engine says about one keyword, if it says something."""
        kept: bool | None = _carefully(self.keeps, node, keyword, value)
        return kept

    def _candidates(self, frame: _Frame) -> Iterator[tuple[str, Any]]:
        """The keywords that may be the ones unsatisfied, the likeliest first."""
        node, value = frame.node, frame.value
        for keyword, check in node.checks:
            for expected in _carefully(check, value, self) or ():
                yield keyword, expected
        known = {keyword: self._kept(node, keyword, value) for keyword, *_ in node.rules}
        words = node.words
        yield from ((keyword, words[keyword]) for keyword, kept in known.items() if kept is False)
        if frame.keyword in known and known[frame.keyword] is None:
            yield frame.keyword, words[frame.keyword]  # where the work was when the budget was spent
        yield from ((keyword, words[keyword]) for keyword, kept in known.items() if kept is None)
        yield from ((keyword, words[keyword]) for keyword in known)


_UNITS_A_STEP: Final = 250
_MUCH: Final = 1_000
_ONE_OF_MANY, _ONE_OF_FEW, _THE_ONE, _ALL_OF_IT = 8, 4, 2, 1
"""Of what is left, the share that one question of its kind may cost."""


def _carefully(ask: Callable[..., Any], *about: Any) -> Any:
    try:
        return ask(*about)
    except OutOfBudget:
        return None
    except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
        contain(error)
        return None
