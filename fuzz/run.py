"""Lets atheris loose on one target: `python -m fuzz.run NAME [libFuzzer's own options]`. See docs/fuzzing.md."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from random import Random
from time import process_time
from typing import Final

import atheris

HERE: Final = Path(__file__).parent
HOME: Final = HERE.parent / ".fuzz"
MOSTLY: Final = 0.8
SLOW: Final = 2.0
"""Seconds of CPU that one input may take: eight times what the core promises, for being watched slows it down."""

with atheris.instrument_imports(include=["mcp_guard", "fuzz.targets"]):  # type: ignore[attr-defined]  # not in its stubs
    from fuzz import mutate, seeds, targets

    import_module("mcp_guard._explain")  # else it is imported when it is first needed, and not watched

JSON: Final = {"result", "schema"}
"""The targets whose inputs are JSON."""


def mutator(data: bytes, most: int, seed: int) -> bytes:
    """Mostly JSON made of JSON; sometimes what libFuzzer makes of the bytes."""
    random = Random(seed)
    changed = mutate.mutated(data, random) if random.random() < MOSTLY else None
    return changed if changed is not None and len(changed) <= most else atheris.Mutate(data, most)


def main(name: str, options: list[str]) -> None:
    """Fuzz one target for as long as libFuzzer's `options` say; what it learns is kept in `.fuzz`."""
    corpus = HOME / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds.of(name)):
        (corpus / f"seed-{number}").write_bytes(seed)
    words = HOME / "words"
    words.write_text("\n".join(f"{json.dumps(word)}" for word in seeds.words()), encoding="utf-8")
    target = _agree() if name == "agree" else targets.TARGETS[name]

    def one_input(data: bytes) -> None:
        started = process_time()
        target(data)
        took = process_time() - started
        assert took < SLOW, f"{took:.1f} s"

    bounds = ["-timeout=20", "-rss_limit_mb=2048", "-max_len=20000", "-verbosity=0", "-print_final_stats=1"]
    bounds += [f"-dict={words}", f"-artifact_prefix={HOME}/{name}-"]
    if name == "agree":
        bounds.append("-len_control=0")  # short inputs end before the first choice
    known = {"custom_mutator": mutator} if name in JSON else {}
    atheris.Setup([sys.argv[0], *bounds, *options, str(corpus)], one_input, **known)
    atheris.Fuzz()


def _agree() -> targets.Target:
    from fuzz.agree import agree  # it needs what the tests need

    return agree


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
