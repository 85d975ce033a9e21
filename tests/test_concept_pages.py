"""The pages on concepts: their snippets print what is shown, and what they say of verdicts and limits is the case."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from typing import Any, Final, get_args

import pytest

from mcp_guard import (
    ENFORCE,
    Contract,
    GuardedSession,
    Limits,
    MalformedResultError,
    UnusableContractError,
    Verdict,
    attach,
    check,
    connect,
    guard,
    install,
    uninstall,
)
from mcp_guard._facts import OVER_LIMIT, UnusableReason
from mcp_guard._verdict import MissingReason
from mcp_guard.testing import FaultyServer
from support import NOTHING, SDK_MAJOR, Answer, RawServer, Request, raw_session, raw_transport, sample_server, tool
from support.calls import N, data
from support.page import Page, follow, stock_server
from support.peer import Json

START: Final = Page("docs/start.md")
VERDICTS: Final = Page("docs/verdicts.md")
LIMITS: Final = Page("docs/limits.md")
TEXT: Final = Page("docs/text-fallback.md")
PAGES: Final = ["start", "concepts", "verdicts", "policies", "errors", "text-fallback", "limits"]


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_does_what_it_shows(name: str) -> None:
    blocks = [block for block in Page(f"docs/{name}.md").blocks() if "asyncio.run(" not in block.code]
    async with stock_server() as names:
        assert await follow(blocks, names) == len(blocks) > 0


def test_the_program_of_the_first_page_prints_what_is_shown() -> None:
    program, *_ = START.blocks()
    assert "asyncio.run(" in program.code
    done = subprocess.run([sys.executable, "-c", program.code], check=True, capture_output=True, text=True)  # noqa: S603  # ours
    assert done.stdout == program.shown


@pytest.mark.parametrize("name", PAGES)
def test_what_is_shown_on_a_page_belongs_to_a_block_that_is_run(name: str) -> None:
    page = Page(f"docs/{name}.md")
    assert sum(bool(block.shown) for block in page.blocks()) == page.text.count("```text")


# --- start.md


def test_each_parameter_is_told_with_its_default() -> None:
    parameters = inspect.signature(guard).parameters
    told = {name.strip("`"): default.strip("`") for name, default, _ in START.rows("`guard(session, ...)`")}
    assert ["target", *told] == sorted(parameters, key=["target", *told].index)
    assert {*told, "to", "client_options"} == {*inspect.signature(connect).parameters}
    assert parameters["policy"].default is ENFORCE
    assert (told["policy"], told["timeout"], told["seam"]) == ("ENFORCE", "60", '"auto"')
    assert (parameters["timeout"].default, parameters["seam"].default) == (60, "auto")
    for name in told.keys() - {"policy", "timeout", "seam"}:
        assert parameters[name].default in (None, ())


async def test_attach_and_install_take_the_same() -> None:
    given = {name: x.default for name, x in inspect.signature(guard).parameters.items() if name != "target"}
    async with raw_session(tools=[tool("t")]) as (session, _):
        attach(session, **given).detach()
    install(**given)
    uninstall()


def test_each_way_to_call_is_one() -> None:
    ways = [re.findall(r"tools\.(\w+)\(", way) for way, *_ in START.rows("")]
    assert ways == [["call"], ["call_tool"], ["judge"]]
    assert all(hasattr(GuardedSession, name) for (name,) in ways)


# --- verdicts.md

OBJECT: Final = Contract("t", {"type": "object", "required": ["n"]})
DECLARES_NOTHING: Final = Contract("t", None)
DANGLING: Final = Contract("t", {"$ref": "#/nowhere"})


def text(*texts: str, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": each} for each in texts], **members}


ANSWERS: Final[list[tuple[Any, Contract | None]]] = [
    ("done", OBJECT),
    (text(resultType="task"), OBJECT),
    (text(isError=True, structuredContent={"n": 1}), OBJECT),
    (text(structuredContent={}), None),
    (text(structuredContent={}), DECLARES_NOTHING),
    (text(structuredContent={}), DANGLING),
    (text("[]", structuredContent={"n": 1}), OBJECT),
    (text('{"n": 1}', structuredContent={}), OBJECT),
    (text('{"n": 1}'), OBJECT),
    (text("{}"), OBJECT),
    (text("one"), OBJECT),
]
"""For each row of the table an answer that it is the first to fit."""


@pytest.mark.parametrize("row", range(len(ANSWERS)))
def test_the_first_row_that_fits_decides(row: int) -> None:
    told = [(number, verdict.strip("`")) for number, _, verdict in VERDICTS.rows("")]
    assert [number for number, _ in told] == [str(n + 1) for n in range(len(ANSWERS))]
    verdict = check(*ANSWERS[row])
    fields = {f.name: getattr(verdict, f.name) for f in dataclasses.fields(verdict)}
    kind, _, arguments = told[row][1].rstrip(")").partition("(")
    assert kind == type(verdict).__name__
    for argument in arguments.split(", "):
        assert argument in fields or argument.strip('"') in fields.values()


def test_the_table_has_every_verdict() -> None:
    assert {row[2].strip("`").partition("(")[0] for row in VERDICTS.rows("")} == {k.__name__ for k in get_args(Verdict)}


MALFORMED: Final[dict[str, Any]] = {
    "not_an_object": [],
    "content_missing": {},
    "content_type": {"content": "done"},
    "block_type": {"content": ["done"]},
    "error_flag": {"content": [], "isError": "false"},
    "not_finite": text(structuredContent={"n": float("nan")}),
    "surrogate": text(structuredContent={"n": "\ud800"}),
    "not_json": text(structuredContent={"n": {1}}),
}


def test_each_way_to_be_malformed_is_told() -> None:
    codes = [code for cell, _ in VERDICTS.rows("code") for code in re.findall(r"`(\w+)`", cell)]
    assert [*MALFORMED] == codes[:8]
    assert {*codes[8:]} == OVER_LIMIT
    for code, answer in MALFORMED.items():
        verdict: Any = check(answer, OBJECT)
        assert [problem.code for problem in verdict.problems] == [code]


def test_each_reason_is_told() -> None:
    unusable = [cells[0].strip("`") for cells in VERDICTS.rows("`reason`")]
    assert unusable == [*get_args(UnusableReason)]
    assert [cells[0].strip("`") for cells in TEXT.rows("`reason`")] == [*get_args(MissingReason)]


LOST: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "an answer without `content`": ("content_missing", {"structuredContent": {"n": 1}}),
    "with a block of an unknown type": ("unknown_block", data({"n": 1}, content=[{"type": "hologram"}])),
    "with structured content that is no object before 2026-07-28": ("structured_not_object", data([1])),
    "with `isError: null`": ("error_flag", data({"n": 1}, isError=None)),
    "or without `resultType` on 2026-07-28": ("result_type_missing", data({"n": 1})),
}
"""What the page says that mcp 2.x loses: the code, and such an answer."""


def unstamped(answer: Json) -> Answer:
    """An answer as it is, without what the server adds."""

    async def send(request: Request) -> Answer:
        await request.server.send({"jsonrpc": "2.0", "id": request.id, "result": answer})
        return NOTHING

    return send


@pytest.mark.parametrize("told", LOST)
async def test_what_the_sdk_loses_connect_keeps(told: str) -> None:
    assert told in " ".join(VERDICTS.text.split())
    code, answer = LOST[told]
    modern = "on 2026-07-28" in told
    if modern and SDK_MAJOR == 1:
        pytest.skip("mcp 1.x does not speak 2026-07-28")
    described: dict[str, Any] = {"tools": [tool("t", N)], "results": {"t": unstamped(answer)}, "modern": modern}
    async with raw_session(**described) as (session, _):
        if SDK_MAJOR == 1:
            assert (await guard(session).judge("t")).verdict.result == answer
        else:
            with pytest.raises(MalformedResultError) as caught:
                await guard(session).judge("t")
            assert [problem.code for problem in caught.value.problems] == [code]
            assert (caught.value.outcome, caught.value.result) == ("executed", None)
    async with connect(raw_transport(RawServer(**described))) as tools:
        assert (await tools.judge("t")).verdict.result == answer


async def test_a_bad_tool_spoils_the_page_behind_guard_on_2_and_not_behind_connect() -> None:
    server = FaultyServer("bad_neighbour")
    async with server.session() as session:
        if SDK_MAJOR == 1:
            await guard(session).call("get_stock", {"sku": "A-1"})
        else:
            with pytest.raises(UnusableContractError) as caught:
                await guard(session).call("get_stock", {"sku": "A-1"})
            assert caught.value.reason == "listing_failed"
    async with connect(server.transport()) as tools:
        assert await tools.call("get_stock", {"sku": "A-1"})


async def test_the_sdk_s_own_servers_do_not_say_that_they_wrap() -> None:
    async with connect(sample_server()) as tools:
        assert await tools.call("add", {"a": 1, "b": 2}) == {"result": 3}


# --- limits.md


def test_the_limits_are_those_that_hold() -> None:
    told = {
        name.strip("` "): int(number.replace(",", ""))
        for names, numbers, _ in LIMITS.rows("`Limits`")
        for name, number in zip(names.split(", "), numbers.split(", "), strict=True)
    }
    assert told == dataclasses.asdict(Limits())


@pytest.mark.parametrize(
    "uri, name",
    [
        (None, "2020-12"),
        ("https://json-schema.org/draft/2020-12/schema", "2020-12"),
        ("https://json-schema.org/draft/2019-09/schema", "2019-09"),
        ("http://json-schema.org/draft-07/schema#", "draft-07"),
        ("https://json-schema.org/draft-07/schema", "draft-07"),
        ("http://json-schema.org/draft-06/schema#", "draft-06"),
        ("http://json-schema.org/draft-04/schema#", "draft-04"),
    ],
)
def test_each_dialect_that_is_named_can_be_used(uri: str | None, name: str) -> None:
    assert name in LIMITS.text
    assert Contract("t", {"type": "object", **({"$schema": uri} if uri else {})}).unusable is None


@pytest.mark.parametrize(
    "schema, reason",
    [({"$schema": "https://example.org/other"}, "unknown_dialect"), (True, "invalid_schema"), (None, None)],
)
def test_what_is_no_schema_is_told_as_the_page_says(schema: Any, reason: str | None) -> None:
    unusable = Contract("t", schema).unusable
    assert (unusable and unusable.reason) == reason
