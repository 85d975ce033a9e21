"""What does a hostile server cost? Every case of the corpus, each in a process of its own: docs/hazards.md.

    python benchmarks/hazards.py             all of them, with jsonschema-rs and without; writes the page
    python benchmarks/hazards.py WORD ...    those whose name has one of the words; prints their rows

Measured is CPU time (user and system), of making the contract and of checking the result, what is imported left out;
and how much larger the process was at its largest than before. The result is checked under ENFORCE and under STRICT,
and the dearer one counts. The exit code is 1 where a bound is broken, a process hangs or crashes, anything but a
`GuardError` is raised, a violation has no place, or what has to be let through is not.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import gc
import importlib
import importlib.metadata
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "hazards.md"
MILLISECONDS, MEBIBYTES = 250, 128
"""What is promised of making a contract and of checking a result, each."""
TRIES: Final = 3
"""What breaks a bound is measured again, alone: neighbours only ever make it look dearer, and the least counts."""
PATIENCE: Final = 60
ADDRESSES: Final = 6 << 30
"""Bytes after which a process gets no more."""
AT_ONCE: Final = 2
MODULES: Final = ("jsonschema", "jsonschema_specifications", "referencing.jsonschema", "rfc8785", "concurrent.futures")
OURS: Final = ("_check", "_contract", "_explain", "_schema", "_decision", "errors")

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """CPU time in ms, and memory in MiB, of making a contract, checking a result, and telling of the verdict."""

    making: float = 0
    checking: float = 0
    telling: float = 0
    making_mb: float = 0
    checking_mb: float = 0


@dataclass(frozen=True)
class Outcome:
    """What came out of one case, and what it cost; `failure` where it did not come to an end."""

    said: str = ""
    verdict: str = ""
    failure: str = ""
    cost: Cost = Cost()

    @property
    def broken(self) -> bool:
        """Whether it costs more than is promised."""
        cost = self.cost
        dear = max(cost.making, cost.checking, cost.telling) > MILLISECONDS
        return dear or max(cost.making_mb, cost.checking_mb) > MEBIBYTES


# --- in the process of one case


def largest() -> float:
    """The most memory that this process had, in MiB: since `forget`, where the system can tell that."""
    status = Path("/proc/self/status")
    lines = status.read_text("ascii").splitlines() if status.exists() else []
    found = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 if found is None else found


def forget() -> None:
    """Give back what is free, so that it is not used unseen, and count anew."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
        if trim is not None:
            trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measured(work: Callable[[], T]) -> tuple[T, float, float]:
    """What some work gives, the CPU time it takes and the memory that it needs besides."""
    forget()
    before = largest()
    start = time.process_time()
    got = work()
    spent = time.process_time() - start
    return got, spent * 1000, max(largest() - before, 0.0)


def judge(name: str, *, engine: bool) -> Outcome:
    """Make the contract of one case and check its result."""
    if not engine:
        sys.modules["jsonschema_rs"] = None  # type: ignore[assignment]  # so that importing it fails
    for module in (*MODULES, *(["jsonschema_rs"] if engine else []), *(f"mcp_guard.{each}" for each in OURS)):
        importlib.import_module(module)
    from benchmarks.hostile import HAZARDS

    from mcp_guard import ENFORCE, STRICT, Contract, Violating, check

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    tool, result = HAZARDS[name].make()

    def make() -> Contract:
        contract = Contract.from_tool(tool)
        _ = contract.fingerprint
        return contract

    contract, making, making_mb = measured(make)
    checking = checking_mb = telling = 0.0
    said = verdict_name = failure = ""
    for policy in (STRICT, ENFORCE):
        verdict, spent, held = measured(lambda: check(result, contract, policy=policy))  # noqa: B023  # called at once
        checking, checking_mb = max(checking, spent), max(checking_mb, held)
        told, spent, _ = measured(lambda: _tell(verdict))  # noqa: B023  # called at once
        telling = max(telling, spent)
        failure = failure or told
        said, verdict_name = _said(verdict), type(verdict).__name__
        if isinstance(verdict, Violating) and not verdict.violations:
            failure = "no violation has a place"
    return Outcome(said, verdict_name, failure, Cost(making, checking, telling, making_mb, checking_mb))


def _tell(verdict: Any) -> str:
    """Put a verdict into all the words that there are for it; what is raised that should not be."""
    from mcp_guard import GuardError

    repr(verdict)
    try:
        verdict.unwrap()
    except GuardError as error:
        json.dumps([str(error), repr(error), error.to_dict(), error.for_model(), error.explain(values=True)])
    except BaseException as error:  # noqa: BLE001  # that is what is looked for
        return f"raises {type(error).__name__}"
    return ""


def _said(verdict: Any) -> str:
    """A verdict in a few words."""
    words = [type(verdict).__name__]
    if hasattr(verdict, "violations"):
        more = "+" if verdict.truncated else ""
        keywords = ", ".join(sorted({violation.keyword for violation in verdict.violations}))
        words.append(f"{len(verdict.violations)}{more} ({keywords})")
    elif hasattr(verdict, "problems"):
        words.append(", ".join(problem.code for problem in verdict.problems))
    elif hasattr(verdict, "reason"):
        detail = getattr(verdict, "detail", None) or ""
        words.append(verdict.reason + (f": {detail}" if verdict.reason == "too_complex" else ""))
    words += [f"+ {deviation.code}" for deviation in verdict.deviations]
    return " ".join(words)


# --- in the process that starts all of them


def run(name: str, *, engine: bool) -> Outcome:
    """One case in a process of its own."""
    command = [sys.executable, __file__, "--one", name, str(int(engine))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603  # this very program
    except subprocess.TimeoutExpired:
        return Outcome(failure=f"hangs: no end after {PATIENCE} s")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return Outcome(failure=f"ends with {done.returncode}: {last[:200]}")
    read = json.loads(done.stdout.splitlines()[-1])
    cost = Cost(**read.pop("cost"))
    return Outcome(**read, cost=cost)


def again(name: str, outcome: Outcome, *, engine: bool) -> Outcome:
    """The same, measured once more while it is over a bound."""
    for _ in range(TRIES - 1):
        if not outcome.broken:
            break
        once_more = run(name, engine=engine)
        pairs = zip(asdict(outcome.cost).items(), asdict(once_more.cost).values(), strict=True)
        least = Cost(**{field: min(first, second) for (field, first), second in pairs})
        outcome = Outcome(once_more.said, once_more.verdict, once_more.failure, least)
    return outcome


def all_of(names: Sequence[str], *, engine: bool) -> dict[str, Outcome]:
    """All cases, some at a time; then those again that break a bound, one at a time."""

    def one(name: str) -> Outcome:
        return run(name, engine=engine)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(names, pool.map(one, names), strict=True))
    return {name: again(name, outcome, engine=engine) for name, outcome in found.items()}


def faults(found: dict[str, Outcome], *, engine: bool) -> Iterator[str]:
    """What is not as promised."""
    from benchmarks.hostile import HAZARDS

    for name, outcome in found.items():
        wanted = HAZARDS[name].wanted if engine else ""
        if outcome.failure:
            yield f"{name}: {outcome.failure}"
        elif outcome.broken:
            yield f"{name}: {row(outcome)}"
        elif wanted and outcome.verdict != wanted:
            yield f"{name}: {wanted} was wanted, {outcome.said} came"


def row(outcome: Outcome) -> str:
    """The cells of one outcome."""
    cost = outcome.cost
    memory = max(cost.making_mb, cost.checking_mb)
    said = (outcome.failure or outcome.said).replace("|", "\\|").replace("*", "\\*")
    return f"{cost.making:.0f} | {cost.checking:.0f} | {memory:.0f} | {said}"


def worst(outcomes: Iterable[Outcome]) -> str:
    """The cells for the worst of some outcomes."""
    costs = [outcome.cost for outcome in outcomes]
    return " | ".join(
        f"{max(figures):.0f}"
        for figures in (
            [cost.making for cost in costs],
            [cost.checking for cost in costs],
            [cost.telling for cost in costs],
            [cost.making_mb for cost in costs],
            [cost.checking_mb for cost in costs],
        )
    )


HEAD: Final = """\
# Hostile servers

This page is made by `make hazards`. It answers one question: does anything that a server can send hang or crash a
client, or cost it more than is promised?

{answer}

Promised is that making a contract and checking a result each end within {milliseconds} ms of CPU time and {mebibytes}
MiB of memory, in a verdict or in a `GuardError`. The corpus is [benchmarks/hostile](../benchmarks/hostile): {count}
servers, each a tool as it is listed and an answer to a call. Each is run in a process of its own, once with
jsonschema-rs and once as if that were not installed. *Making* is the contract with its fingerprint, *checking* the
dearer one of a check under `ENFORCE` and one under `STRICT`, *telling* all the words that there are for the verdict:
`str`, `repr`, `to_dict()`, `for_model()`, `explain(values=True)`. All three are CPU time of user and system, in ms;
what is imported is left out, and nothing is warmed up. *MiB* is how much larger the process was at its largest than
before.

No slack is given. A case that breaks a bound is measured up to {tries} times and the least counts, since a machine that
does other things as well can only make it look dearer. `make hazards` ends with an error where a bound is broken.

Without jsonschema-rs the bounds are the same, and more is refused as `too_complex`: patterns that may backtrack, and
what plain Python can't look at in time. What has to be let through (the first table) is promised with jsonschema-rs
alone.

Run on {date} with mcp_guard {guard}, jsonschema-rs {rs}, jsonschema {js} and Python {python}, on {machine}.

## The worst of each kind

| kind | cases | making | checking | telling | MiB, making | MiB, checking | without: making | checking | telling | \
MiB, making | MiB, checking |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
"""


def page(with_engine: dict[str, Outcome], without: dict[str, Outcome], broken: list[str]) -> str:
    """The page about all cases."""
    from benchmarks.hostile import GROUPS, HAZARDS

    answer = "**No: all of them end, within the bounds.**"
    if broken:
        answer = "**Yes:**\n\n" + "\n".join(f"* {each}" for each in broken)
    versions = {name: importlib.metadata.version(name) for name in ("mcp-result-guard", "jsonschema-rs", "jsonschema")}
    text = HEAD.format(
        answer=answer,
        milliseconds=MILLISECONDS,
        mebibytes=MEBIBYTES,
        count=len(HAZARDS),
        tries=TRIES,
        date=dt.datetime.now(dt.timezone.utc).date().isoformat(),
        guard=versions["mcp-result-guard"],
        rs=versions["jsonschema-rs"],
        js=versions["jsonschema"],
        python=platform.python_version(),
        machine=machine(),
    )
    for group in GROUPS:
        names = [hazard.name for hazard in group.hazards]
        figures = (worst(found[name] for name in names) for found in (with_engine, without))
        text += f"| {group.title} | {len(names)} | {' | '.join(figures)} |\n"
    for group in GROUPS:
        text += f"\n## {group.title.capitalize()}\n\n{COLUMNS}"
        for hazard in group.hazards:
            text += line(hazard.name, with_engine[hazard.name], without[hazard.name])
    return text


COLUMNS: Final = """\
| | making | checking | MiB | what came out | without: making | checking | MiB | what came out |
| --- | --: | --: | --: | --- | --: | --: | --: | --- |
"""


def line(name: str, outcome: Outcome, without: Outcome) -> str:
    """One case, with jsonschema-rs and without."""
    if without.said == outcome.said and not without.failure:
        without = Outcome("the same", cost=without.cost)
    return f"| {name.partition(': ')[2]} | {row(outcome)} | {row(without)} |\n"


def machine() -> str:
    """The processor and the system, as far as they say what they are."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text("utf-8").splitlines() if about.exists() else []
    models = [each.partition(": ")[2] for each in lines if each.startswith("model name")]
    processor = f"{len(models)} x {models[0]}" if models else platform.processor()
    return f"{processor}, {platform.system()} {platform.machine()}"


def main(words: Sequence[str]) -> int:
    """Run the cases; whether anything is not as promised."""
    from benchmarks.hostile import HAZARDS

    names = [name for name in HAZARDS if not words or any(word in name for word in words)]
    found = {engine: all_of(names, engine=engine) for engine in (True, False)}
    broken = [*faults(found[True], engine=True)]
    broken += [f"{each} (without jsonschema-rs)" for each in faults(found[False], engine=False)]
    if words:
        print(COLUMNS + "".join(line(f": {name}", found[True][name], found[False][name]) for name in names))
    else:
        PAGE.write_text(page(found[True], found[False], broken), encoding="utf-8")
    print(f"{len(names)} cases, with jsonschema-rs and without: {len(broken)} not as promised", *broken, sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(asdict(judge(sys.argv[2], engine=sys.argv[3] == "1"))))
    else:
        sys.exit(main(sys.argv[1:]))
