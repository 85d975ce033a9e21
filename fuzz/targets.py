"""What is fuzzed: each target takes any bytes, and raises where a promise of the core is broken. Needs no fuzzer.

The suite runs every target too, on its seeds and on what was once found (`tests/test_fuzz.py`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from pydantic_core import from_json

from mcp_guard import OBSERVE, STRICT, Contract, check
from mcp_guard._json import NotJson, parse_json, same_json
from mcp_guard._verdict import (
    Conforming,
    Errored,
    Malformed,
    Missing,
    Unchecked,
    Unenforceable,
    Unfinished,
    Verdict,
    Violating,
    as_error,
)
from mcp_guard.policy import ENFORCE, Limits

Target = Callable[[bytes], None]

UNION: Final = (Conforming, Errored, Malformed, Missing, Unchecked, Unenforceable, Unfinished, Violating)
LIMITS: Final = Limits()
BOM: Final = "\ufeff"


def parse(data: bytes) -> None:
    """`parse_json` takes what another parser takes, and refuses what it refuses, but for what is named."""
    if data[:1] == b"\xff":  # no UTF-8 begins so; what follows may hold a lone surrogate
        text = data[1:].decode("utf-16-le", errors="surrogatepass" if len(data) % 2 else "replace")
    else:
        text = data.decode(errors="replace")
    document = text.removeprefix(BOM).strip(" \t\n\r")
    try:
        value = parse_json(text, LIMITS)
    except NotJson:
        assert not _taken_by_another(document), f"refused: {document!r}"
        return
    assert same_json(value, from_json(document, allow_inf_nan=False)), f"another value: {document!r}"


def _taken_by_another(document: str) -> bool:
    """Whether pydantic's parser takes a document that has no key twice, no infinity, and is within the limits."""
    try:
        value = from_json(document, allow_inf_nan=False)
        json.loads(document, object_pairs_hook=_no_key_twice)
    except (ValueError, TypeError, RecursionError):
        return False
    return not _is_beyond(value)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _is_beyond(value: Any) -> bool:
    """An infinity, or a level more than is allowed: what the other parser lets through."""
    level, depth = [value], 0
    while level:
        if any(isinstance(each, float) and each in {float("inf"), float("-inf")} for each in level):
            return True
        held = [each for each in level if isinstance(each, (dict, list))]
        depth += bool(held)
        level = [x for each in held for x in (each.values() if isinstance(each, dict) else each)]
    return depth > LIMITS.depth


# --- the readings of a text -------------------------------------------------------------------------------------------


def _one(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"result": schema}, "required": ["result"]}


CONTRACTS: Final = [
    Contract("any", {}),
    Contract("object", {"type": "object"}),
    Contract("number", _one({"type": "number"})),
    Contract("string", _one({"type": "string"})),
    Contract("list", _one({"type": "array", "items": {"type": ["string", "integer"]}})),
    Contract("anything", _one({})),
    Contract("array", {"type": "array", "items": {"type": "object"}}),
    Contract("wrapped", {**_one({"type": "string", "format": "date"}), "x-fastmcp-wrap-result": True}),
    Contract("nullable", _one({"anyOf": [{"type": "string"}, {"type": "null"}]})),
]
POLICIES: Final = [ENFORCE, STRICT, OBSERVE]


def text(data: bytes) -> None:
    """Whatever the text blocks say, there is one verdict, and a value only where strict JSON or the text has it."""
    contract = CONTRACTS[(data[0] if data else 0) % len(CONTRACTS)]
    policy = POLICIES[(data[1] if len(data) > 1 else 0) % len(POLICIES)]
    texts = data[2:].decode(errors="replace").split("\x1e")
    content = [{"type": "text", "text": each} for each in texts]
    verdict = judged({"content": content}, contract, policy=policy)
    if isinstance(verdict, (Conforming, Violating)):
        assert verdict.source == "text"
        assert contract.output is not None
        fits = contract.output.is_valid(verdict.value, formats=policy.formats == "assert")
        assert fits is isinstance(verdict, Conforming)
    try:
        value = parse_json(texts[0], LIMITS)
    except NotJson:
        assert not isinstance(verdict, Violating) or len(texts) > 1, "what is no JSON breaks no contract"
        return
    if len(texts) == 1 and isinstance(verdict, Violating):
        assert same_json(verdict.value, value), "a violation is of the text as it stands"
    if len(texts) == 1 and contract.output is not None and contract.output.is_valid(value, formats=True):
        assert isinstance(verdict, Conforming), "the text as it stands comes first"
        assert same_json(verdict.value, value)


# --- any result, any schema -------------------------------------------------------------------------------------------


def result(data: bytes) -> None:
    """Whatever the answer is, there is a verdict on it."""
    value = _loaded(data)
    for contract in (CONTRACTS[len(data) % len(CONTRACTS)], None):
        judged(value, contract, policy=POLICIES[len(data) % len(POLICIES)])
        judged(value, contract, policy=STRICT, protocol="2026-07-28")


def schema(data: bytes) -> None:
    """Whatever the schema is, there is a contract, and every value has a verdict: with the engine and without it."""
    loaded = _loaded(data)
    asked, *values = loaded if isinstance(loaded, list) and loaded else [loaded]
    for engine in (True, False):
        with without_engine() if not engine else _nothing():
            contract = Contract("tool", asked, input_schema=asked)
            assert contract.unusable is None or contract.output is None
            assert contract.input is None or contract.unusable is None
            assert len(contract.fingerprint) == 64  # SHA-256
            for value in (*values[:4], {}, [], {"a": 1}, "a", 1, None):
                judged({"content": [], "structuredContent": value, "resultType": "complete"}, contract, policy=STRICT)


@contextmanager
def without_engine() -> Generator[None]:
    """As if jsonschema-rs were not installed."""
    kept = sys.modules.get("jsonschema_rs")
    sys.modules["jsonschema_rs"] = None  # type: ignore[assignment]  # what Python takes for a module that is not there
    try:
        yield
    finally:
        del sys.modules["jsonschema_rs"]
        if kept is not None:
            sys.modules["jsonschema_rs"] = kept


@contextmanager
def _nothing() -> Generator[None]:
    yield


def _loaded(data: bytes) -> Any:
    """A value as a parser that takes too much makes it: NaN, lone surrogates, keys twice; or the text itself."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode(errors="replace")


def judged(value: Any, contract: Contract | None, **options: Any) -> Verdict:
    """The verdict, of the closed union; what it raises is a `GuardError` with words that may be shown."""
    verdict = check(value, contract, **options)
    assert type(verdict) in UNION
    if isinstance(verdict, Violating):
        assert verdict.violations
    repr(verdict)
    error = as_error(verdict)
    if error is not None:
        said = str(error)
        assert 0 < len(said) <= 500, said
        assert said.isprintable(), said
        assert len(error.for_model()) <= 300
        json.dumps(error.to_dict())
        error.explain(values=True)
    return verdict


TARGETS: Final[Mapping[str, Target]] = {"parse": parse, "text": text, "result": result, "schema": schema}
