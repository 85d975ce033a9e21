"""The README: every snippet runs and says what is shown, and its tables say what is the case."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import io
import math
import os
import pickle
import re
import runpy
import subprocess
import sys
import traceback
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args

import anyio
import pytest
from mcp import StdioServerParameters

import mcp_guard
from mcp_guard import (
    ENFORCE,
    OBSERVE,
    STRICT,
    Conforming,
    Contract,
    Deviation,
    Limits,
    Policy,
    Record,
    Verdict,
    attach,
    connect,
    errors,
    guard,
    policy,
)
from mcp_guard._decision import decide
from support import Error, Request, raw_session, tool

ROOT: Final = Path(__file__).parents[1]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES: Final = ROOT / "examples"
FENCE: Final = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n)?", re.DOTALL)
RAISED: Final = "Traceback (most recent call last):\n  ...\n"


@dataclasses.dataclass(frozen=True)
class Snippet:
    """A block of code, and what it is said to print."""

    line: int
    code: str
    shown: str


FIRST, *SNIPPETS = [
    Snippet(README.count("\n", 0, x.start("code")), x["code"], x["shown"] or "") for x in FENCE.finditer(README)
]


@pytest.fixture
def beside_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """As somebody stands whose server is `stock_server.py`: beside it, with this Python as `python`."""
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)


async def said(snippet: Snippet) -> str:
    """What a snippet prints, with `server`, `session` and `tools` at hand; an error as a traceback ends."""
    shop = runpy.run_path("stock_server.py")  # the server of the examples, here in memory
    server = StdioServerParameters(command="python", args=["stock_server.py"])

    def respond(request: Request) -> Any:
        return shop["answer"]("get_stock", request.arguments)["result"]

    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(snippet.code, f"README.md:{snippet.line}", "exec", flags, dont_inherit=True)
    printed = io.StringIO()
    async with raw_session(tools=shop["TOOLS"], results={"get_stock": respond}) as (session, _):
        names = {"__name__": "readme", "server": server, "session": session, "tools": guard(session)}
        with contextlib.redirect_stdout(printed):
            try:
                running = eval(code, names)  # noqa: S307  # ours
                if inspect.isawaitable(running):
                    await running
            except mcp_guard.GuardError as error:
                print(RAISED + traceback.format_exception_only(error)[-1], end="")  # noqa: T201  # into `printed`
    return printed.getvalue()


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: f"line{snippet.line}")
@pytest.mark.usefixtures("beside_the_server")
def test_a_snippet_does_what_is_shown_below_it(snippet: Snippet) -> None:
    assert anyio.run(said, snippet) == snippet.shown


@pytest.mark.usefixtures("beside_the_server")
def test_the_first_of_all_is_a_whole_program() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST.code], check=True, capture_output=True, text=True)  # noqa: S603  # ours
    assert done.stdout == FIRST.shown


def test_every_snippet_is_found() -> None:
    found = [FIRST, *SNIPPETS]
    assert len(found) == README.count("```python") > 1
    assert sum(bool(snippet.shown) for snippet in found) == README.count("```text")


def rows(head: str) -> dict[str, list[str]]:
    """The table whose head begins like this: its rows by their first cell."""
    table = re.search(rf"^\| {re.escape(head)} \|.*\n\|[ -|]+\n((?:\|.*\n)+)", README, re.MULTILINE)
    assert table, head
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]
    return {first: rest for first, *rest in cells}


ROWS: Final = {**rows("verdict"), **rows("what")}


def test_the_table_of_verdicts_has_them_all() -> None:
    named = {name.split("(")[0].strip("`") for name in rows("verdict")}
    assert named == {kind.__name__ for kind in get_args(Verdict)}


def test_each_field_of_the_policy_is_named() -> None:
    acts = {field.strip("`") for field, *_ in ROWS.values()} - {""}
    assert acts == {*policy.ACTIONS, "deviations"}
    assert acts | {name.strip("`") for name in rows("field")} == {field.name for field in dataclasses.fields(Policy)}


@pytest.mark.parametrize("name", [name for name in ROWS if name != "`Conforming`"])
def test_a_row_says_what_the_policies_do(name: str) -> None:
    field, _, *actions, _ = ROWS[name]
    assert actions == [getattr(preset, field.strip("`")) for preset in (ENFORCE, STRICT, OBSERVE)]


@pytest.mark.parametrize("field", ["fallback", "formats", "compare_text"])
def test_a_row_says_how_closely_the_policies_look(field: str) -> None:
    (cell,) = rows("field")[f"`{field}`"]
    told = re.findall(r"(?:^|; )`(.+?)`( \(`STRICT`\))?", cell)
    values = {value: ast.literal_eval(value) for value, _ in told}
    assert getattr(ENFORCE, field) == next(iter(values.values()))
    assert getattr(STRICT, field) == next((values[value] for value, strict in told if strict), getattr(ENFORCE, field))
    for value in values.values():
        dataclasses.replace(ENFORCE, **{field: value})


def classes(tree: type[Any]) -> Iterator[type[Any]]:
    children: list[type[Any]] = tree.__subclasses__()
    for child in children:
        yield child
        yield from classes(child)


def raised() -> Iterator[type[errors.GuardError]]:
    for kind in classes(errors.GuardError):
        if "Never raised itself" not in (kind.__doc__ or ""):
            yield kind


def test_each_error_that_is_named_exists_and_each_that_is_raised_is_named() -> None:
    named = {*re.findall(r"`([A-Z]\w+Error)`", README)}
    assert {kind.__name__ for kind in raised()} <= named
    builtin = {"RuntimeError", "TimeoutError", "ConnectionError", "ValueError", "TypeError"}
    assert named <= {kind.__name__ for kind in classes(errors.GuardError)} | {"GuardError"} | builtin


def test_each_error_has_the_kind_that_is_told() -> None:
    table_rows = "\n".join(line for line in README.splitlines() if line.startswith("|"))
    told = {*re.findall(r"`(\w+Error)` \(`(\w+)`\)", table_rows)}
    assert told == {(kind.__name__, kind.kind) for kind in raised()}


def test_the_codes_of_errors_that_are_codes_of_deviations_too_are_told() -> None:
    both = policy.DEVIATIONS & {kind.kind for kind in raised()}
    assert re.findall(r"^`(\w+)` and `(\w+)` are also the `kind`", README, re.MULTILINE) == [
        (*sorted(both, reverse=True),)
    ]


@pytest.mark.parametrize(
    "mine, builtin",
    [
        (errors.ContractError, RuntimeError),
        (errors.ToolTimeoutError, TimeoutError),
        (errors.ConnectionLostError, ConnectionError),
        (errors.InvalidArgumentsError, ValueError),
    ],
)
def test_the_ancestors_that_the_warning_names_are_there(mine: type, builtin: type) -> None:
    assert issubclass(mine, builtin)
    assert re.search(
        rf"`{mine.__name__}` (is )?an? `{builtin.__name__}`", " ".join(README.replace("\n> ", " ").split())
    )


def test_each_deviation_is_named() -> None:
    (told,) = re.findall(r"The codes:(.*?)\n\n", README, re.DOTALL)
    assert {*re.findall(r"`(\w+_\w+|format)`", told)} == policy.DEVIATIONS


@pytest.mark.parametrize("code", sorted(policy.DEVIATIONS - {"unknown_argument"}))  # that one is never sent
def test_a_deviation_is_raised_as_the_error_that_is_told(code: str) -> None:
    (told,) = re.findall(r"raises on a deviation, the error is (.*?)\n\n", README, re.DOTALL)
    by_code = {
        each: name
        for name, codes in re.findall(r"`(\w+)`\s\(([^)]*)\)", told)
        for each in re.findall(r"`(\w+)`", codes)
    }
    contract = Contract("t", {"type": "object"})
    verdict = Conforming(tool="t", value={}, source="structured", deviations=(Deviation(code),))
    error = decide(verdict, STRICT, contract).error
    assert type(error).__name__ == by_code.get(code, "MalformedResultError")


def test_the_limits_are_those_that_hold() -> None:
    told = {
        name.strip("` "): int(number.replace(",", ""))
        for names, (numbers, _) in rows("`Limits`").items()
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
        ("http://json-schema.org/draft-06/schema#", "draft-06"),
        ("http://json-schema.org/draft-04/schema#", "draft-04"),
    ],
)
def test_each_dialect_that_is_named_can_be_used(uri: str | None, name: str) -> None:
    assert name in README
    assert Contract("t", {"type": "object", **({"$schema": uri} if uri else {})}).unusable is None


def test_the_outcomes_are_those_that_errors_have() -> None:
    assert [name.strip("`") for name in rows("`outcome`")] == [*get_args(errors.Outcome)]


def test_a_call_has_the_timeout_that_is_told() -> None:
    assert "ends after 60 seconds" in README
    assert inspect.signature(guard).parameters["timeout"].default == 60


def test_each_parameter_is_named() -> None:
    told = [name.strip("`") for name in rows("`guard(session, ...)`")]
    assert ["target", *told] == sorted(inspect.signature(guard).parameters, key=["target", *told].index)
    assert {*told, "to", "client_options"} == {*inspect.signature(connect).parameters}


async def test_attach_takes_the_same() -> None:
    given = {name: x.default for name, x in inspect.signature(guard).parameters.items() if name != "target"}
    async with raw_session(tools=[tool("t")]) as (session, _):
        attach(session, **given).detach()


def test_the_fields_of_a_record_that_are_named_are_there() -> None:
    (told,) = re.findall(r"frozen data about one call\s\((.*?)\)", README)
    named = {*re.findall(r"`(\w+)`", told)}
    assert "action" in named <= {field.name for field in dataclasses.fields(Record)}


async def test_what_is_counted_is_what_enforce_refuses_and_no_timeout_of_the_caller() -> None:
    records: list[Record] = []
    answers = {"good": structured(), "bad": {"content": []}}
    async with raw_session(tools=[tool(name, {"type": "object"}) for name in answers], results=answers) as (session, _):
        tools = guard(session, policy=OBSERVE, hooks=[records.append])
        for name in answers:
            await tools.call_tool(name)
        with pytest.raises(errors.ToolTimeoutError):
            await tools.call_tool("good", read_timeout_seconds=0)
    assert [record.tool for record in records if record.action == "report" and record.error] == ["bad"]
    assert records[-1].error == "timeout"


MARK: Final = "MARK"
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"declared": {"type": "integer"}, "choice": {"enum": [MARK]}},
    "additionalProperties": {"type": "integer"},
}


def structured(**data: Any) -> dict[str, Any]:
    return {"content": [], "structuredContent": data}


PLACES: Final[dict[str, tuple[str, Any]]] = {
    "property names that the contract declares": (MARK, structured(MARK="no")),
    "property names that it does not declare": ("x", structured(MARK="no")),
    "the schema's `enum`, `const`, `pattern`, `default`": ("x", structured(choice="no")),
    "values of results and arguments": ("x", structured(declared=MARK)),
    "the text of an `isError` result": ("x", {"isError": True, "content": [{"type": "text", "text": MARK}]}),
    "the message of a JSON-RPC error": ("x", Error(-32603, MARK)),
}
"""For a row of the table: a property that the contract declares, and an answer that says MARK in that place."""


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_untrusted_appears_where_the_table_says(place: str) -> None:
    declared, answer = PLACES[place]
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], declared: {"type": "integer"}}}
    seen: list[mcp_guard.Record] = []
    async with raw_session(tools=[tool("t", schema)], results={"t": answer}) as (session, _):
        with pytest.raises(mcp_guard.GuardError) as caught:
            await guard(session, hooks=[seen.append]).call("t")
    error = caught.value
    in_logs = "".join([str(error), repr(error), str(error.to_dict()), str(seen[0].to_dict())])
    told = [MARK in text for text in (in_logs, error.for_model(), error.explain(values=True))]
    said = rows("untrusted text")[place]
    expected = [cell.startswith("yes") for cell in said]
    assert told == expected
    assert MARK.encode() not in pickle.dumps(error) or not place.startswith("values")


class Colour(Enum):
    """An enum of the caller's."""

    RED = "red"


@dataclasses.dataclass
class Point:
    """A type of the caller's."""

    x: int


@pytest.mark.parametrize(
    "given, sent",
    [
        (date(2026, 1, 2), "2026-01-02"),
        (Colour.RED, "red"),
        (Decimal("1.50"), "1.50"),
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (Point(1), {"x": 1}),
    ],
)
async def test_arguments_are_made_into_json_as_the_sdk_does_it(given: object, sent: object) -> None:
    async with raw_session(tools=[tool("t")], results={"t": structured()}) as (session, server):
        await guard(session).call("t", {"x": given})
        await session.call_tool("t", {"x": given})
        assert [request.arguments for request in server.asked("tools/call")] == [{"x": sent}] * 2


async def test_a_number_that_is_not_finite_is_refused() -> None:
    async with raw_session(tools=[tool("t")], results={"t": structured()}) as (session, server):
        with pytest.raises(errors.InvalidArgumentsError, match="not_finite"):
            await guard(session).call("t", {"x": math.nan})
        assert not server.calls


async def test_arguments_that_are_no_json_are_not_sent() -> None:
    async with raw_session(tools=[tool("t")], results={"t": structured()}) as (session, server):
        with pytest.raises(TypeError):
            await guard(session).call("t", {"x": object()})
        assert not server.calls


@pytest.mark.parametrize("link", sorted({*re.findall(r"\]\((?!http)([^)]+)\)", README)}))
def test_each_link_leads_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    assert (ROOT / path).exists()
    if anchor:
        headings = {h.lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", README, re.MULTILINE)}
        assert anchor in headings


def test_what_is_not_there_is_not_used() -> None:
    code = "".join(snippet.code for snippet in SNIPPETS)
    imported = re.findall(r"^from mcp_guard import (.+)$", code, re.MULTILINE)
    assert {name for names in imported for name in names.split(", ")} <= {*mcp_guard.__all__}
