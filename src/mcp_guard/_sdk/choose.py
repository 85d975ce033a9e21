"""Which SDK is there, and which seam does this target take? A shape that is not known is refused here."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, get_args

from mcp_guard._sdk import Seam, SeamName


def seam_of(target: object, seam: SeamName = "auto", own: Any = None) -> Seam:
    """The seam for a target.

    `own`: what stood as `call_tool` on the target's class; it is called in place of the one that the target has.

    Raises:
        TypeError: The target is nothing that can be guarded, or of a shape of the SDK that is not known.
        ValueError: The seam is unknown, or not there on this SDK.
    """
    _require_name(seam)
    if hasattr(type(target), "judge"):
        raise TypeError("this session is guarded already; guard what it wraps, its .target")
    if type(target).__module__.partition(".")[0] == "fastmcp" and hasattr(type(target), "session"):
        raise TypeError("guard() takes no fastmcp.Client: guard the mcp session inside it, `client.session`")
    chosen: Seam = sdk().seam_of(target, seam, own)
    return chosen


def callers(seam: SeamName) -> list[type]:
    """The classes of the SDK's whose `call_tool` code out of reach calls.

    Raises:
        TypeError: They are of a shape that is not known.
        ValueError: The seam is unknown, or not there on this SDK.
    """
    _require_name(seam)
    found: list[type] = sdk().callers(seam)
    return found


def _require_name(seam: SeamName) -> None:
    if seam not in get_args(SeamName):
        raise ValueError(f"seam is {seam!r}; it takes 'auto', 'send_request' or 'call_tool'")


def sdk() -> Any:
    """The module for the major of the SDK that is installed."""
    return import_module("mcp_guard._sdk." + ("v1" if find_spec("mcp_types") is None else "v2"))
