"""`exercise`: calls harmless tools with arguments made of their inputSchema, and judges every result."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, final

from mcp_guard import _words, errors
from mcp_guard._contract import Contract
from mcp_guard._decision import decide
from mcp_guard._facts import is_object
from mcp_guard._session import GuardedSession
from mcp_guard.policy import STRICT, Policy
from mcp_guard.testing.asserting import opened


@final
@dataclass(slots=True)
class Exercised:
    """What calling one tool brought to light."""

    tool: str
    kinds: Counter[str] = field(default_factory=Counter[str])
    """How the calls ended: the kind of each error, and ``ok``."""
    worst: errors.GuardError | None = None
    """Of those that broke the contract the one with the shortest arguments."""
    arguments: dict[str, Any] | None = None
    """Its arguments."""
    skipped: str | None = None
    """Why the tool was not called."""

    @property
    def is_broken(self) -> bool:
        """Whether a result broke the contract."""
        return self.worst is not None

    def describe(self) -> str:
        """A few lines for the developer's own terminal, with values in them."""
        if self.skipped is not None:
            return f"{_words.name(self.tool)}: not called, {self.skipped}"
        ended = ", ".join(f"{number} {kind}" for kind, number in sorted(self.kinds.items()))
        if self.worst is None:
            return f"{_words.name(self.tool)}: {ended}"
        told = self.worst.explain(values=True).replace("\n", "\n  ")
        return f"{_words.name(self.tool)}: {ended}; called with {json.dumps(self.arguments)}:\n  {told}"


async def exercise(
    server: Any,
    read_only: Iterable[str],
    *,
    examples: int = 25,
    seed: int = 0,
    policy: Policy = STRICT,
    **options: Any,
) -> list[Exercised]:
    """Call tools with generated arguments, and hold each result against the contract.

    Needs the package ``hypothesis-jsonschema`` (extra ``[testing]``). The same seed makes the same arguments.

    Args:
        server: An open session, guarded or not, or what `connect` takes.
        read_only: Names or globs of tools that do no harm, as far as you know: only these are called.
        examples: How many calls of each tool at most.
        seed: Of the choice of arguments.
        policy: What counts as a break.
        options: Keywords for `connect` or `guard`.

    Returns:
        What was found, a tool each. An error of the tool's own is no break: it is counted in `.kinds`.

    Raises:
        AssertionError: A result broke its contract. It says which, for which arguments.
        ValueError: No listed tool is named.
        ImportError: The package is not there.
        GuardError: The server can't be listed.
    """
    __tracebackhide__ = True
    names = [read_only] if isinstance(read_only, str) else list(read_only)
    async with opened(server, **options) as tools:
        contracts = [c for c in await tools.refresh() if any(fnmatchcase(c.name, name) for name in names)]
        if not contracts:
            raise ValueError(f"no listed tool is named by {names!r}")
        found = [await _exercised(tools, contract, examples, seed, policy) for contract in contracts]
    if any(each.is_broken for each in found):
        raise AssertionError("\n".join(each.describe() for each in found))
    return found


async def _exercised(
    tools: GuardedSession[Any], contract: Contract, examples: int, seed: int, policy: Policy
) -> Exercised:
    found = Exercised(contract.name)
    cases = _arguments(contract.input_schema, examples, seed)
    if isinstance(cases, str):
        found.skipped = cases
        return found
    for arguments in cases:
        error = await _error(tools, contract, arguments, policy)
        found.kinds["ok" if error is None else error.kind] += 1
        if isinstance(error, errors.ContractError) and found.worst is None:
            found.worst, found.arguments = error, arguments  # the shortest come first
    return found


async def _error(
    tools: GuardedSession[Any], contract: Contract, arguments: dict[str, Any], policy: Policy
) -> errors.GuardError | None:
    try:
        judged = await tools.judge(contract.name, arguments)
    except errors.GuardError as error:
        return error
    decision = decide(judged.verdict, policy, contract, call_id=judged.record.call_id)
    return decision.error if decision.action == "raise" else None


def _arguments(schema: Any, examples: int, seed: int) -> list[dict[str, Any]] | str:
    """Arguments that fit an inputSchema, the shortest first; or why there are none."""
    try:
        # types are not known of all that is used of these two
        hypothesis: Any = import_module("hypothesis")
        hypothesis_jsonschema: Any = import_module("hypothesis_jsonschema")
    except ImportError as error:
        raise ImportError("exercise() needs hypothesis-jsonschema: pip install 'mcp-result-guard[testing]'") from error
    made: list[dict[str, Any]] = []

    def collect(arguments: Any) -> None:
        if is_object(arguments) and arguments not in made:
            made.append(arguments)

    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it says what of a schema it leaves out; the guard does not
            strategy = hypothesis_jsonschema.from_schema(_named_only(schema))
            hypothesis.seed(seed)(settings(hypothesis.given(strategy)(collect)))()
    except Exception as error:  # noqa: BLE001  # it raises all kinds where it can make nothing; told, not hidden
        return f"no arguments can be made of its inputSchema ({type(error).__name__})"
    return sorted(made, key=lambda arguments: len(json.dumps(arguments)))


def _named_only(schema: Any) -> dict[str, Any]:
    """The inputSchema without the members that it does not name: they are no part of what was promised."""
    if not is_object(schema):
        return {"type": "object"}
    is_open = "properties" in schema and not {"additionalProperties", "patternProperties"} & schema.keys()
    return {**schema, "additionalProperties": False} if is_open else schema
