"""What fuzzing begins with: real tools and results, the schemas of the official suite, and the words of JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final

from mcp_guard._dialects import TABLES, URIS, VALUE_KEYWORDS

DATA: Final = Path(__file__).parents[1] / "tests" / "data"
_LARGE: Final = 8_000
_MOST: Final = 400


def of(name: str) -> Iterator[bytes]:
    """Some inputs of one target, none of them large."""
    return islice((seed for seed in _SEEDS[name]() if len(seed) < _LARGE), _MOST)


def words() -> list[str]:
    """What a fuzzer that knows no JSON Schema would be long in finding."""
    literals = ["null", "true", "false", "NaN", "Infinity", "1e999", "1.0", "\\ud800", "```json", "[]", "{}", '{"":']
    kinds = ["object", "array", "string", "number", "integer", "boolean", "null"]
    members = ["structuredContent", "content", "isError", "resultType", "_meta", "type", "text", "result"]
    keywords = sorted(VALUE_KEYWORDS.union(*TABLES.values()))
    return [*literals, *(f'"{each}"' for each in [*keywords, *kinds, *members, *URIS.values(), "#", "#/$defs/a"])]


def _calls() -> Iterator[dict[str, Any]]:
    for path in sorted((DATA / "recordings").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)


def _results() -> Iterator[bytes]:
    yield from (_bytes(call["result"]) for call in _calls() if "result" in call)
    yield from (_bytes(case["result"]) for case in json.loads((DATA / "results.json").read_text("utf-8")))


def _texts() -> Iterator[bytes]:
    known = [b"{}", b'{"result": 1}', b'```json\n{"result": [1, 2]}\n```', b'"{\\"result\\": 1}"', b"[1, 2]", b"1\x1e2"]
    for number in range(9):
        yield from (bytes([number, number % 3]) + each for each in known)
    for call in _calls():
        texts = [block.get("text", "") for block in call.get("result", {}).get("content", ())]
        yield b"\0\0" + "\x1e".join(texts).encode()


def _documents() -> Iterator[bytes]:
    yield from (b"[1, 1.5e3, -0]", b'{"a": {"b": [null, true, ""]}}', b'"\\ud83d\\ude00"', b"\xef\xbb\xbf{}", b" 1 ")
    yield from (seed[2:] for seed in _texts())


def _schemas() -> Iterator[bytes]:
    groups = [
        group
        for path in sorted((DATA / "json-schema-test-suite" / "tests").rglob("*.json"))
        for group in json.loads(path.read_text("utf-8"))[:2]
    ]
    for group in groups[::3]:
        yield _bytes([group["schema"], *(test["data"] for test in group["tests"][:3])])
    for call in _calls():
        schema = call["tool"].get("outputSchema") or call["tool"].get("inputSchema")
        yield _bytes([schema, call.get("result", {}).get("structuredContent", call.get("arguments"))])


def _choices() -> Iterator[bytes]:
    random = Random(0)
    yield from (random.randbytes(random.randint(200, 4_000)) for _ in range(200))


def _bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


_SEEDS: Final = {"parse": _documents, "text": _texts, "result": _results, "schema": _schemas, "agree": _choices}
