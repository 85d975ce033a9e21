"""Which SDK is there, and which seam does this target take? A shape that is not known is refused here."""

from __future__ import annotations

from importlib.util import find_spec
from typing import get_args

from mcp_guard._sdk import Seam, SeamName


def seam_of(target: object, seam: SeamName = "auto") -> Seam:
    """The seam for a target.

    Raises:
        TypeError: The target is nothing that can be guarded, or of a shape of the SDK that is not known.
        ValueError: The seam is unknown, or not there on this SDK.
    """
    if seam not in get_args(SeamName):
        raise ValueError(f"seam is {seam!r}; it takes 'auto', 'send_request' or 'call_tool'")
    if type(target).__module__.partition(".")[0] == "fastmcp":
        raise TypeError("guard() takes no fastmcp.Client: guard the mcp session inside it, `client.session`")
    if find_spec("mcp_types") is None:
        from mcp_guard._sdk import v1

        return v1.seam_of(target, seam)
    from mcp_guard._sdk import v2

    return v2.seam_of(target, seam)
