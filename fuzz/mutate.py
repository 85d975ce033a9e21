"""Changes JSON as JSON, where a fuzzer that knows bytes alone would only spoil it."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any, Final

from fuzz.seeds import words

_WORDS: Final = [json.loads(word) for word in words() if word.startswith('"') and word.endswith('"')]
_ATOMS: Final[list[Any]] = [
    *(None, True, False, 0, 1, -1, 1.0, 0.5, 1e-7, 1e308, 2**53 + 1, 2**64, 10**400, float("nan"), float("inf")),
    *("", "a", "1", "#", "#/$defs/a", "http://a.b/c", "\ud800", "\u202e", "\0", "a" * 300),
    *("^(a+)+$", "(?=a)", "\\p{L}"),
    *([], {}, [[]], {"": {}}, {"$ref": "#"}, {"type": "object"}, [1, 1.0]),
]


def mutated(data: bytes, random: Random) -> bytes | None:
    """The document with one to three things in it changed; `None` where it is none."""
    try:
        top = [json.loads(data)]
    except (ValueError, RecursionError):
        return None
    try:
        for _ in range(random.randint(1, 3)):
            holder, key = _place(top, random)
            holder[key] = copy.deepcopy(_other(holder[key], top[0], random))
        return json.dumps(top[0]).encode()
    except RecursionError:
        return None


def _place(holder: Any, random: Random) -> tuple[Any, Any]:
    key: Any = 0
    while isinstance(holder[key], (dict, list)) and holder[key] and random.random() < 0.8:
        holder = holder[key]
        key = random.choice([*holder] if isinstance(holder, dict) else range(len(holder)))
    return holder, key


def _other(here: Any, document: Any, random: Random) -> Any:
    kind = random.randrange(8)
    if kind == 0:
        return random.choice(_ATOMS)
    if kind == 1:
        return random.choice(_WORDS)
    if kind == 2:
        holder, key = _place([document], random)
        return holder[key]
    if kind == 3:
        return _deep(here, random)
    if isinstance(here, dict):
        names = [*here]
        if kind == 4 and names:
            without = random.choice(names)
            return {name: member for name, member in here.items() if name != without}
        name = random.choice([*_WORDS, *names, "a"])
        return {**here, name: random.choice([*_ATOMS, *here.values(), *_WORDS])}
    if isinstance(here, list):
        more = random.choice([*_ATOMS, *here])
        return [*here, more] if kind < 6 else here[: random.randint(0, len(here))]
    if isinstance(here, str):
        at = random.randint(0, len(here))
        return here[:at] + random.choice([each for each in _ATOMS if isinstance(each, str)]) + here[at:]
    return random.choice([here, [here], {"a": here}, str(here)])


def _deep(here: Any, random: Random) -> Any:
    name = random.choice(_WORDS)
    for _ in range(random.choice([1, 2, 3, 30, 210])):
        here = {name: here} if random.random() < 0.9 else [here]
    return here
