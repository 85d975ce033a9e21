"""What does a hostile server cost? Each case of the corpus in a process of its own, and a page about it."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")


# --- in the child


def peak() -> int:
    """The most memory this process has had since `rest`, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def rest() -> None:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def measured(what):
    rest()
    before = peak()
    start = time.process_time()
    got = what()
    spent = time.process_time() - start
    return got, spent * 1000, (peak() - before) / 2**20


def child(name: str, *, engine: bool) -> dict[str, Any]:
    if not engine:
        sys.modules["jsonschema_rs"] = None
    import importlib
    import pkgutil

    import mcp_guard
    import jsonschema, referencing.jsonschema, jsonschema_specifications, rfc8785, concurrent.futures
    from jsonschema import validators

    if engine:
        import jsonschema_rs
    for each in ("_check", "_contract", "_explain", "_schema", "errors", "_decision"):
        importlib.import_module("mcp_guard." + each)
    jsonschema_specifications.REGISTRY
    from hostile import HAZARDS
    from mcp_guard import Contract, check, ENFORCE, STRICT, GuardError

    soft = 6 * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
    case = HAZARDS[name].make()
    out: dict[str, Any] = {"name": name}

    def make():
        contract = Contract.from_tool(case.tool)
        contract.fingerprint
        return contract

    contract, out["make_ms"], out["make_mb"] = measured(make)
    bad = contract.unusable
    out["contract"] = f"{bad.reason}: {bad.detail}" if bad else "usable"
    for policy, name in ((ENFORCE, "check"), (STRICT, "strict")):
        verdict, out[name + "_ms"], out[name + "_mb"] = measured(lambda: check(case.result, contract, policy=policy))
        said = type(verdict).__name__
        if hasattr(verdict, "violations"):
            said += f" {len(verdict.violations)}{'+' if verdict.truncated else ''} {sorted({v.keyword for v in verdict.violations})}"
        elif hasattr(verdict, "problems"):
            said += " " + ", ".join(p.code for p in verdict.problems)
        elif hasattr(verdict, "reason"):
            said += f" {verdict.reason} {getattr(verdict, 'detail', '')}"
        if verdict.deviations:
            said += " +" + ",".join(d.code for d in verdict.deviations)
        out[name] = said
        if hasattr(verdict, "violations") and not verdict.violations:
            out[name] += " NOTHING LOCATED"

        def words():
            try:
                verdict.unwrap()
            except GuardError as error:
                return [
                    str(error),
                    repr(error),
                    json.dumps(error.to_dict()),
                    error.for_model(),
                    error.explain(),
                    error.explain(values=True),
                ], type(error).__name__
            return [repr(verdict)], ""

        (texts, error), out[name + "_words_ms"], out[name + "_words_mb"] = measured(words)
        out[name + "_error"] = error
    return out


def run(name: str, engine: bool) -> dict[str, Any]:
    env = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "") + ":" + str(Path(__file__).parent)}
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--child", name, str(int(engine))],
            capture_output=True,
            text=True,
            timeout=120,
            env=env,
        )
    except subprocess.TimeoutExpired:
        return {"name": name, "failed": "HANGS"}
    if done.returncode:
        return {"name": name, "failed": f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"}
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        print(json.dumps(child(sys.argv[2], engine=sys.argv[3] == "1")))
    else:
        from hostile import HAZARDS

        engine = sys.argv[1] == "1"
        names = (
            [n for n in HAZARDS if any(n.startswith(a) for a in sys.argv[3:])] if len(sys.argv) > 3 else list(HAZARDS)
        )
        with open(sys.argv[2], "a") as f, ThreadPoolExecutor(2) as pool:
            for r in pool.map(lambda n: run(n, engine), names):
                f.write(json.dumps(r) + "\n")
                f.flush()
                worst = max(
                    (r.get(k + "_ms", 0) for k in ("make", "check", "strict", "check_words", "strict_words")), default=0
                )
                mem = max((r.get(k + "_mb", 0) for k in ("make", "check", "strict")), default=0)
                if "failed" in r or worst > 150 or mem > 90 or "NOTHING" in r["check"] + r["strict"]:
                    print(json.dumps(r, indent=None)[:900])
                    sys.stdout.flush()
