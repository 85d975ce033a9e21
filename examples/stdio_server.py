"""An MCP server over stdio, by hand: it lists and sends whatever it is given, good or bad. Standard library only."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

Answer = Callable[[str, dict[str, Any]], "dict[str, Any] | None"]
"""From a tool's name and arguments to the members of the response: `result` or `error`; `None`: there is none."""

UNKNOWN_METHOD = {"error": {"code": -32601, "message": "Method not found"}}
SERVER = {"name": "by-hand", "version": "1"}


def serve(pages: Sequence[Sequence[dict[str, Any]]], answer: Answer, *, modern: bool = False) -> None:
    """Read requests from standard input until it ends. `modern`: speak 2026-07-28, which knows no handshake."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue  # a notification
        members = _members(request["method"], request.get("params") or {}, pages, answer, modern=modern)
        if members is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **members}), flush=True)


def _members(
    method: str, params: dict[str, Any], pages: Sequence[Sequence[dict[str, Any]]], answer: Answer, *, modern: bool
) -> dict[str, Any] | None:
    fresh: dict[str, Any] = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private"} if modern else {}
    capabilities: dict[str, Any] = {"tools": {}}
    match method:
        case "initialize" if not modern:
            about = {"protocolVersion": params["protocolVersion"], "serverInfo": SERVER}
            return {"result": {**about, "capabilities": capabilities}}
        case "server/discover" if modern:
            return {"result": {**fresh, "supportedVersions": ["2026-07-28"], "capabilities": capabilities}}
        case "ping":
            return {"result": {}}
        case "tools/list":
            page = int(params.get("cursor", 0))
            more = {"nextCursor": str(page + 1)} if page + 1 < len(pages) else {}
            return {"result": {**fresh, "tools": pages[page], **more}}
        case "tools/call":
            return answer(params["name"], params.get("arguments") or {})
        case _:
            return UNKNOWN_METHOD
