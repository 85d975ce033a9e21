"""For those who test: servers that misbehave on request, over real sessions.

::

    from mcp_guard.testing import FaultyServer

    async with FaultyServer("missing_field").session() as session: ...

Everything here is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_guard.testing.asserting import assert_conforms, assert_contract
    from mcp_guard.testing.exercising import Exercised, exercise
    from mcp_guard.testing.faults import FAULTS, Fault, Good, NotApplicableError
    from mcp_guard.testing.injecting import Injected, Injection, inject
    from mcp_guard.testing.recordings import Recorded, record
    from mcp_guard.testing.replaying import Summary, judge_lines, replay
    from mcp_guard.testing.server import GET_STOCK, FaultyServer

_HOME = {
    "asserting": ("assert_conforms", "assert_contract"),
    "exercising": ("Exercised", "exercise"),
    "faults": ("FAULTS", "Fault", "Good", "NotApplicableError"),
    "injecting": ("Injected", "Injection", "inject"),
    "recordings": ("Recorded", "record"),
    "replaying": ("Summary", "judge_lines", "replay"),
    "server": ("GET_STOCK", "FaultyServer"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "FAULTS",
    "GET_STOCK",
    "Exercised",
    "Fault",
    "FaultyServer",
    "Good",
    "Injected",
    "Injection",
    "NotApplicableError",
    "Recorded",
    "Summary",
    "assert_conforms",
    "assert_contract",
    "exercise",
    "inject",
    "judge_lines",
    "record",
    "replay",
]


if not TYPE_CHECKING:  # type checkers are to see the names above, and no others

    def __getattr__(name: str) -> object:
        if name not in _MODULE:
            raise AttributeError(f"module 'mcp_guard.testing' has no attribute {name!r}")
        value: object = getattr(import_module(f"mcp_guard.testing.{_MODULE[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
