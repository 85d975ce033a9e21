"""Holds what MCP tools return against the contract they published: validated data, or an error that says what happened.

::

    tools = guard(session)
    stock = await tools.call("get_stock", {"sku": "A-1"})

Everything here is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mcp_guard._version import __version__

if TYPE_CHECKING:
    from mcp_guard._budget import Budget
    from mcp_guard._check import check
    from mcp_guard._connect import connect
    from mcp_guard._contract import Contract
    from mcp_guard._facts import Change, Deviation, Problem, ToolFailure, Unusable, Violation
    from mcp_guard._failure import read_failure
    from mcp_guard._install import install, uninstall, uninstalled
    from mcp_guard._lint import Finding, Thresholds, lint
    from mcp_guard._notifications import Notifications
    from mcp_guard._pages import Pages
    from mcp_guard._remote import RemoteRefs
    from mcp_guard._result import ToolResult
    from mcp_guard._retry import Retry
    from mcp_guard._session import GuardedSession, Judged, attach, guard
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
    )
    from mcp_guard.contracts import Contracts
    from mcp_guard.errors import (
        BudgetExhaustedError,
        CallError,
        ConnectionLostError,
        ContractChangedError,
        ContractError,
        GuardError,
        InvalidArgumentsError,
        LimitExceededError,
        MalformedResultError,
        MissingStructuredContentError,
        OutputValidationError,
        ToolExecutionError,
        ToolNotListedError,
        ToolProtocolError,
        ToolTimeoutError,
        UnfinishedResultError,
        UnusableContractError,
    )
    from mcp_guard.policy import ENFORCE, OBSERVE, RELAY, STRICT, Limits, Policy
    from mcp_guard.records import Hook, Record, correlation

_HOME = {
    "_budget": ("Budget",),
    "_check": ("check",),
    "_connect": ("connect",),
    "_contract": ("Contract",),
    "_facts": ("Change", "Deviation", "Problem", "ToolFailure", "Unusable", "Violation"),
    "_failure": ("read_failure",),
    "_lint": ("Finding", "Thresholds", "lint"),
    "_install": ("install", "uninstall", "uninstalled"),
    "_notifications": ("Notifications",),
    "_pages": ("Pages",),
    "_remote": ("RemoteRefs",),
    "_result": ("ToolResult",),
    "_retry": ("Retry",),
    "_session": ("GuardedSession", "Judged", "attach", "guard"),
    "_verdict": (
        "Conforming",
        "Errored",
        "Malformed",
        "Missing",
        "Unchecked",
        "Unenforceable",
        "Unfinished",
        "Verdict",
        "Violating",
    ),
    "contracts": ("Contracts",),
    "errors": (
        "BudgetExhaustedError",
        "CallError",
        "ConnectionLostError",
        "ContractChangedError",
        "ContractError",
        "GuardError",
        "InvalidArgumentsError",
        "LimitExceededError",
        "MalformedResultError",
        "MissingStructuredContentError",
        "OutputValidationError",
        "ToolExecutionError",
        "ToolNotListedError",
        "ToolProtocolError",
        "ToolTimeoutError",
        "UnfinishedResultError",
        "UnusableContractError",
    ),
    "policy": ("ENFORCE", "OBSERVE", "RELAY", "STRICT", "Limits", "Policy"),
    "records": ("Hook", "Record", "correlation"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ENFORCE",
    "OBSERVE",
    "RELAY",
    "STRICT",
    "Budget",
    "BudgetExhaustedError",
    "CallError",
    "Change",
    "Conforming",
    "ConnectionLostError",
    "Contract",
    "ContractChangedError",
    "ContractError",
    "Contracts",
    "Deviation",
    "Errored",
    "Finding",
    "GuardError",
    "GuardedSession",
    "Hook",
    "InvalidArgumentsError",
    "Judged",
    "LimitExceededError",
    "Limits",
    "Malformed",
    "MalformedResultError",
    "Missing",
    "MissingStructuredContentError",
    "Notifications",
    "OutputValidationError",
    "Pages",
    "Policy",
    "Problem",
    "Record",
    "RemoteRefs",
    "Retry",
    "Thresholds",
    "ToolExecutionError",
    "ToolFailure",
    "ToolNotListedError",
    "ToolProtocolError",
    "ToolResult",
    "ToolTimeoutError",
    "Unchecked",
    "Unenforceable",
    "Unfinished",
    "UnfinishedResultError",
    "Unusable",
    "UnusableContractError",
    "Verdict",
    "Violating",
    "Violation",
    "__version__",
    "attach",
    "check",
    "connect",
    "correlation",
    "guard",
    "install",
    "lint",
    "read_failure",
    "uninstall",
    "uninstalled",
]


if not TYPE_CHECKING:  # type checkers are to see the names above, and no others

    def __getattr__(name: str) -> object:
        if name not in _MODULE:
            raise AttributeError(f"module 'mcp_guard' has no attribute {name!r}")
        value: object = getattr(import_module(f"mcp_guard.{_MODULE[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
