"""What each framework does with the same faults, alone and with its door: one file a framework.

Such a file can be imported where its framework is not installed. It has

* `NAME`: what the framework is called;
* `LINE`: the line that a user adds;
* `NOTE`: a sentence or two for the page, or nothing;
* `TESTS`: the file with the tests of its door;
* `VERSIONS`: the sets of requirements that its tests are run with, the newest first; of that one is the table;
* `alone(server)` and `guarded(server)`: coroutines that have the framework call `get_stock` of this `FaultyServer`
  once, and tell what came of it as a `Seen`.

The tests of a door are skipped where its framework is not installed. `make doors` runs them in an environment for each
of the `VERSIONS`, and writes docs/doors-before-after.md.
"""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support import Request

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
ARGUMENTS: Final = {"sku": "A-1"}
GOOD: Final = {"sku": "A-1", "quantity": 3}
"""What `get_stock` answers to them."""
TIMEOUT: Final = 0.5
"""Seconds that a call may take, where the framework can be told. Nothing that is tested hangs on how long it is."""


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table: what the server does, and the fault that has it do so."""

    name: str
    fault: str | None


CASES: Final = (
    Case("sends a valid result", None),
    Case("breaks its schema", "wrong_type"),
    Case("breaks its schema, and lists the tool on page 2", "page_two"),
    Case("sends the data as text alone", "text_only"),
    Case("answers in words instead of data", "text_prose"),
    Case("sends data without `content`", "content_missing"),
    Case("says `isError`", "error_prose"),
    Case("says `isError`, with instructions for the model", "injection_in_error"),
    Case("says `isError`, with terminal sequences", "ansi_in_error"),
    Case("answers with a JSON-RPC error, with instructions for the model", "injection_in_rpc_error"),
    Case("does its work, and never answers", "silent_after_work"),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one call that a framework made."""

    runs: int
    """How often the tool did its work."""
    told: str | None = None
    """What the model was shown as the tool's answer; `None`: nothing."""
    failed: bool = False
    """Whether it was shown as a failure."""
    data: Any = None
    """What the program got of it: an artifact, the structured content."""
    raised: str | None = None
    """The exception that ended the run: its class, and what it says."""


def patience(server: Any) -> float:
    """Seconds that a call to this server may take: few only where it never answers, or a slow machine would be seen."""
    faults = getattr(server, "fault", {}).values()
    return TIMEOUT if any(fault.name.startswith("silent") for fault in faults) else 30.0


def raised(error: BaseException) -> str:
    """An exception as a `Seen` has it. Of a group, the one exception in it."""
    inside: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return raised(inside[0]) if len(inside) == 1 else f"{type(error).__name__}: {error}"


def shop(monkeypatch: Any) -> dict[str, Any]:
    """The tools and results of the server in the examples, as a `RawServer` takes them."""
    monkeypatch.syspath_prepend(EXAMPLES)
    server = runpy.run_path(str(EXAMPLES / "stock_server.py"))

    def respond(request: Request) -> Any:
        return server["answer"]("get_stock", request.arguments)["result"]

    return {"tools": server["TOOLS"], "results": {"get_stock": respond}}
