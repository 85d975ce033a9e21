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
    from mcp_guard.testing.engines import Dask, EngineError, EngineUnreachableError, Local
    from mcp_guard.testing.exercising import Exercised, exercise
    from mcp_guard.testing.faults import FAULTS, Fault, Good, NotApplicableError
    from mcp_guard.testing.injecting import Injected, Injection, inject
    from mcp_guard.testing.judging import judge
    from mcp_guard.testing.recorded import Place, Recorded
    from mcp_guard.testing.recordings import record
    from mcp_guard.testing.replaying import replay
    from mcp_guard.testing.server import GET_STOCK, FaultyServer
    from mcp_guard.testing.summary import Summary

_HOME = {
    "asserting": ("assert_conforms", "assert_contract"),
    "engines": ("Dask", "EngineError", "EngineUnreachableError", "Local"),
    "exercising": ("Exercised", "exercise"),
    "faults": ("FAULTS", "Fault", "Good", "NotApplicableError"),
    "injecting": ("Injected", "Injection", "inject"),
    "judging": ("judge",),
    "recorded": ("Place", "Recorded"),
    "recordings": ("record",),
    "replaying": ("replay",),
    "server": ("GET_STOCK", "FaultyServer"),
    "summary": ("Summary",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "FAULTS",
    "GET_STOCK",
    "Dask",
    "EngineError",
    "EngineUnreachableError",
    "Exercised",
    "Fault",
    "FaultyServer",
    "Good",
    "Injected",
    "Injection",
    "Local",
    "NotApplicableError",
    "Place",
    "Recorded",
    "Summary",
    "assert_conforms",
    "assert_contract",
    "exercise",
    "inject",
    "judge",
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
