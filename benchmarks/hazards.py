"""What does a hostile server cost? Each case of the corpus in a process of its own, and a page about it.

    python benchmarks/hazards.py [BEGINNING OF A NAME ...]      # make hazards: all, and docs/hazards.md

CPU time (user and system) and memory of making the contract, of checking (ENFORCE and STRICT) and of the error's words,
each apart, imports left out: once with jsonschema-rs, and once with it blocked. Exits 1 where more than the promised
250 ms or 128 MiB are needed, where something hangs or crashes, or where nothing is located in a result that does not
fit. Linux alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")
ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "hazards.md"
MOST_MS: Final = 250
MOST_MB: Final = 128
HANGS_SECONDS: Final = 60
ADDRESSES: Final = 6 * 2**30
PARTS: Final = ("contract", "check", "strict", "words")
HEAD: Final = """\
# Hazards

What servers that are hostile, or only large, cost: each case in a process of its own, with jsonschema-rs and with it
blocked. The promise is {ms} ms of CPU and {mb} MiB for making the contract, and for checking a result. This page is
written by `benchmarks/hazards.py` (`make hazards`), last on {day}:
{machine}, Python {python}, jsonschema-rs {engine}.

`contract`, `check`: ms of CPU for making the contract, and for the dearest of a check under ENFORCE, one under STRICT
and the words of the error. `MiB`: the most memory that one of them added. Seen: the verdict under ENFORCE.

{summary}

| case | contract | check | MiB | seen | without: contract | check | MiB | seen |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


# --- in the child


def peak() -> int:
    """The most memory this process has had since `rest`, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next((int(x.split()[1]) * 1024 for x in status.splitlines() if x.startswith("VmHWM:")), 0)


def rest() -> None:
    """Give back what is free, and forget how much there was."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measured(what: Callable[[], T]) -> tuple[T, float, float]:
    """What comes out, ms of CPU, and MiB at most."""
    rest()
    before, began = peak(), time.process_time()
    got = what()
    return got, (time.process_time() - began) * 1000, (peak() - before) / 2**20


def child(name: str, *, engine: bool) -> dict[str, Any]:
    """Measure one case in this very process."""
    if engine:
        importlib.import_module("jsonschema_rs")
    else:
        sys.modules["jsonschema_rs"] = None  # type: ignore[assignment]  # so that importing it fails
    for module in ("jsonschema", "referencing", "referencing.jsonschema", "rfc8785"):
        importlib.import_module(module)
    for module in ("_check", "_contract", "_explain", "_schema", "_plain", "errors", "_decision"):
        importlib.import_module("mcp_guard." + module)
    _ = importlib.import_module("jsonschema_specifications").REGISTRY  # is read from files when it is first asked for
    from hostile import HAZARDS

    from mcp_guard import ENFORCE, STRICT, Contract, GuardError, check

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    case = HAZARDS[name].make()

    def make() -> Contract:
        contract = Contract.from_tool(case.tool)
        _ = contract.fingerprint
        return contract

    def words() -> str:
        try:
            verdict.unwrap()
        except GuardError as error:
            texts = [
                str(error),
                repr(error),
                json.dumps(error.to_dict()),
                error.for_model(),
                error.explain(values=True),
            ]
            return type(error).__name__ if all(texts) else "no words"
        return repr(verdict)

    contract, *made = measured(make)
    verdict, *checked = measured(lambda: check(case.result, contract, policy=ENFORCE))
    _, *strict = measured(lambda: check(case.result, contract, policy=STRICT))
    _, *said = measured(words)
    costs = dict(zip(PARTS, (made, checked, strict, said), strict=True))
    return {"costs": costs, "seen": described(verdict)}


def described(verdict: Any) -> str:
    """A verdict in a few words, with none of the server's."""
    kind = type(verdict).__name__
    if kind == "Violating":
        keywords = sorted({violation.keyword for violation in verdict.violations})
        return f"Violating: {', '.join(keywords)}" if keywords else "Violating, NOTHING LOCATED"
    if kind == "Malformed":
        return f"Malformed: {', '.join(problem.code for problem in verdict.problems)}"
    reason = getattr(verdict, "reason", "")
    return f"{kind}: {reason}" if reason else kind


# --- in the parent


def run(name: str, *, engine: bool) -> dict[str, Any]:
    """What a process of its own says of a case."""
    command = [sys.executable, __file__, "--child", name, "with" if engine else "without"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    try:
        done = subprocess.run(  # noqa: S603  # ours
            command, capture_output=True, text=True, timeout=HANGS_SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"seen": "HANGS", "costs": {}}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        return {"seen": f"CRASHES: {last[0][:80]}", "costs": {}}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def is_broken(answer: dict[str, Any]) -> bool:
    """Whether the promise is."""
    dear = any(ms > MOST_MS or mb > MOST_MB for ms, mb in answer["costs"].values())
    return dear or not answer["costs"] or "NOTHING LOCATED" in answer["seen"]


def cells(answer: dict[str, Any]) -> list[str]:
    """Four cells of the table."""
    costs = answer["costs"]
    seen = answer["seen"].replace("|", "\\|")
    if not costs:
        return ["", "", "", f"**{seen}**"]
    check = max(costs[part][0] for part in PARTS[1:])
    memory = max(mb for _, mb in costs.values())
    mark = "**" if is_broken(answer) else ""
    return [f"{costs['contract'][0]:.0f}", f"{check:.0f}", f"{memory:.0f}", f"{mark}{seen}{mark}"]


def main() -> None:
    """Run the corpus, or those cases whose names begin so, and write the page where it was all of them."""
    from hostile import HAZARDS

    chosen = [name for name in HAZARDS if not sys.argv[1:] or name.startswith(tuple(sys.argv[1:]))]
    rows: list[str] = []
    broken: list[str] = []
    for name in chosen:
        answers = [run(name, engine=engine) for engine in (True, False)]
        broken += [f"{name} ({how})" for how, a in zip(("with", "without"), answers, strict=True) if is_broken(a)]
        rows.append("| " + " | ".join([name.replace("|", "\\|"), *cells(answers[0]), *cells(answers[1])]) + " |")
        print(rows[-1], flush=True)
    summary = f"{len(chosen)} cases; beyond the promise: " + (", ".join(broken) or "none") + "."
    print(summary)
    if chosen == list(HAZARDS):
        head = HEAD.format(
            ms=MOST_MS,
            mb=MOST_MB,
            day=datetime.now(timezone.utc).date().isoformat(),
            machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            python=platform.python_version(),
            engine=importlib.metadata.version("jsonschema-rs"),
            summary=summary,
        )
        PAGE.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    sys.exit(bool(broken))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(sys.argv[2], engine=sys.argv[3] == "with")))
    else:
        main()
