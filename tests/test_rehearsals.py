"""Four failures rehearsed with a server of ours: each leaves one record from which one can say where it failed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeAlias

import pytest

from mcp_guard import (
    GuardedSession,
    GuardError,
    OutputValidationError,
    Record,
    ToolExecutionError,
    ToolProtocolError,
    ToolTimeoutError,
    connect,
)
from support import Error, Line, RawServer, raw_transport, tool
from support.calls import data, every_target, guarded

BALANCE: Final = tool(
    "get_balance",
    {
        "type": "object",
        "properties": {"account": {"type": "string"}, "cents": {"type": "integer"}},
        "required": ["account", "cents"],
    },
    inputSchema={"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]},
)
ASKED: Final = {"account": "A-1"}
GOOD: Final = data({"account": "A-1", "cents": 5})
DENIED: Final = {"ok": False, "error": {"kind": "authorization_denied", "message": "not yours", "retryable": False}}
# nobody asked with that id; a call that is never answered is given up soon, the others have all the time they need
FOREIGN: Final = Line(json.dumps({"jsonrpc": "2.0", "id": 987_654_321, "result": GOOD}))

Door: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[GuardedSession[Any], RawServer]]]


@asynccontextmanager
async def connected(*, hooks: Any, **described: Any) -> AsyncGenerator[tuple[GuardedSession[Any], RawServer]]:
    """The same with `connect`, which sees the wire."""
    server = RawServer(**described)
    async with connect(raw_transport(server), hooks=hooks) as tools:
        yield tools, server


async def rehearse(door: Door, answer: Any, **described: Any) -> tuple[GuardError, dict[str, Any], dict[str, Any]]:
    """A call that goes well and the same one that fails: its error, the record of either, as they are in a log."""
    records: list[Record] = []
    described = {"tools": [BALANCE], "results": {"get_balance": GOOD}, "hooks": [records.append], **described}
    async with door(**described) as (tools, server):
        await tools.call("get_balance", ASKED)
        server.results = {"get_balance": answer}
        with pytest.raises(GuardError) as caught:
            await tools.call("get_balance", ASKED, timeout=0.1 if answer is FOREIGN else None)
        await server.arrived(lambda s: s.calls["get_balance"] >= 2)
        assert server.calls["get_balance"] == 2  # sent, and not sent again
    well, failed = (json.loads(json.dumps(record.to_dict())) for record in records)
    assert failed["call_id"] == caught.value.call_id
    assert failed["arguments_hash"] == well["arguments_hash"]
    assert (failed["tool"], failed["fingerprint"]) == ("get_balance", well["fingerprint"])
    assert (well["verdict"], well["outcome"], well["action"]) == ("Conforming", "executed", "allow")
    return caught.value, well, failed


def where(record: dict[str, Any]) -> str:
    """Where a call failed, told from its record alone."""
    if record["outcome"] == "not_sent":
        return f"before it was sent: {record['error']}"
    if record["verdict"] is None:
        return f"on the way, with no result to judge: {record['error']}, {record['outcome']}"
    if record["verdict"] == "Errored":
        return "in the tool: it ran, and said that it failed"
    places = [f"{v['pointer'] or 'the root'} ({v['keyword']})" for v in record["violations"]]
    return f"in its {record['source']} data: {', '.join(places)}"


REHEARSALS: Final = {
    "a required field is missing": (
        data({"account": "A-1"}),
        OutputValidationError,
        "in its structured data: the root (required)",
    ),
    "permission is refused for correct arguments": (
        data(DENIED, isError=True),
        ToolExecutionError,
        "in the tool: it ran, and said that it failed",
    ),
    "permission is refused by the protocol": (
        Error(-32001, "not yours", DENIED),
        ToolProtocolError,
        "on the way, with no result to judge: protocol_error, unknown",
    ),
    "the answer has a foreign id": (
        FOREIGN,
        ToolTimeoutError,
        "on the way, with no result to judge: timeout, unknown",
    ),
    "the result breaks its schema": (
        data({"account": "A-1", "cents": "5"}),
        OutputValidationError,
        "in its structured data: /cents (type)",
    ),
    "the text in its place breaks the schema": (
        {"content": [{"type": "text", "text": '{"account": 1, "cents": "5"}'}]},
        OutputValidationError,
        "in its text data: /account (type), /cents (type)",
    ),
}


@pytest.mark.parametrize("name", REHEARSALS)
@every_target
async def test_a_rehearsed_failure_leaves_a_record_that_says_where(connect: Any, name: str, modern: bool) -> None:
    answer, kind, place = REHEARSALS[name]

    def door(**described: Any) -> Any:
        return guarded(connect, **described)

    error, _, record = await rehearse(door, answer, modern=modern)
    assert type(error) is kind
    assert where(record) == place
    assert (record["error"], record["outcome"], record["action"]) == (error.kind, error.outcome, "raise")
    assert [(a["error"], a["outcome"]) for a in record["attempts"]] == [(error.kind, error.outcome)]
    assert "not yours" not in json.dumps(record)


@pytest.mark.parametrize("name", REHEARSALS)
async def test_through_connect_it_is_the_same(name: str) -> None:
    answer, kind, place = REHEARSALS[name]
    error, _, record = await rehearse(connected, answer)
    assert (type(error), where(record)) == (kind, place)


@every_target
async def test_refused_permission_is_told_from_wrong_arguments(connect: Any) -> None:
    records: list[Record] = []
    described = {"tools": [BALANCE], "results": {"get_balance": data(DENIED, isError=True)}}
    async with guarded(connect, **described, hooks=[records.append]) as (tools, server):
        with pytest.raises(ToolExecutionError) as caught:
            await tools.call("get_balance", ASKED)
        with pytest.raises(GuardError):
            await tools.call("get_balance", {"account": 1})
        assert server.calls["get_balance"] == 1
    assert (caught.value.failure.kind, caught.value.retryable) == ("authorization_denied", False)
    refused, wrong = (record.to_dict() for record in records)
    assert where(refused) == "in the tool: it ran, and said that it failed"
    assert where(wrong) == "before it was sent: invalid_arguments"
    assert refused["arguments_hash"] != wrong["arguments_hash"]


@every_target
async def test_a_foreign_answer_is_never_handed_to_a_later_call(connect: Any) -> None:
    described = {"tools": [BALANCE], "results": {"get_balance": FOREIGN}}
    async with guarded(connect, **described) as (tools, server):
        await tools.refresh()
        with pytest.raises(ToolTimeoutError):
            await tools.call("get_balance", ASKED, timeout=0.05)
        server.results = {"get_balance": data({"account": "A-2", "cents": 7})}
        assert await tools.call("get_balance", ASKED) == {"account": "A-2", "cents": 7}
