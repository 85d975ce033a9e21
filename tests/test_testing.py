"""`mcp_guard.testing`: every named fault does what it says, is caught, and can be put before any server."""

from __future__ import annotations

import sys
from typing import Any, Final

import pytest
from mcp import StdioServerParameters

from mcp_guard import ENFORCE, STRICT, GuardError, OutputValidationError, Record, ToolExecutionError, connect, guard
from mcp_guard.testing import FAULTS, GET_STOCK, Fault, FaultyServer, Injected, NotApplicableError, inject
from mcp_guard.testing.faults import ANSI, INJECTION, Good, chosen
from mcp_guard.testing.raw import RawServer
from mcp_guard.testing.server import in_memory
from support import SDK_MAJOR, sample_server

GOOD: Final = {"sku": "A-1", "quantity": 3}
NOT_HERE: Final = {f.name for f in FAULTS.values() if f.modern and SDK_MAJOR == 1}
# how long what never comes is waited for: nothing that is tested hangs on how long it is
TIMEOUT: Final = 0.2

CAUGHT: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(
        (
            *("missing_field", "null_field", "renamed_field", "wrong_type", "extra_field", "array_for_object"),
            *("json_in_a_string", "structured_empty", "error_as_success", "stale_schema", "slow_pattern", "page_two"),
            *("injection_in_name", "injection_in_value", "injection_in_definition", "ansi_in_name"),
        ),
        ("output_violation", "executed"),
    ),
    **dict.fromkeys(
        (
            *("structured_null", "text_repr", "text_trailing", "text_truncated", "text_duplicate_keys", "text_prose"),
            "no_content",
        ),
        ("structured_missing", "executed"),
    ),
    **dict.fromkeys(
        (
            *("not_a_number", "lone_surrogate", "empty_result", "content_string", "flag_string"),
            *("rpc_error_no_message", "no_jsonrpc"),
        ),
        ("malformed_result", "executed"),
    ),
    **dict.fromkeys(("deep", "huge"), ("limit_exceeded", "executed")),
    **dict.fromkeys(
        ("error_prose", "error_payload", "error_with_data", "injection_in_error", "ansi_in_error"),
        ("tool_error", "executed"),
    ),
    **dict.fromkeys(("rpc_error", "rpc_forged_timeout", "injection_in_rpc_error"), ("protocol_error", "unknown")),
    "rpc_error_after_work": ("protocol_error", "rejected"),
    "unfinished": ("unfinished_result", "unknown"),
    **dict.fromkeys(("wrong_id", "cut_line", "silent", "silent_after_work"), ("timeout", "unknown")),
    **dict.fromkeys(("hang_up", "hang_up_after_work"), ("connection_lost", "unknown")),
    **dict.fromkeys(
        ("dangling_ref", "remote_ref", "endless_ref", "unknown_dialect", "invalid_schema", "listed_twice"),
        ("contract_unusable", "not_sent"),
    ),
    "listing_refused": ("protocol_error", "not_sent"),
}
"""Kind and outcome of the error that a call ends in through `connect`."""
NOTED: Final[dict[str, tuple[str, ...]]] = {
    "text_only": ("structured_missing",),
    "text_fenced": ("structured_missing",),
    "text_differs": ("text_differs",),  # looked for by STRICT alone
    "content_missing": ("content_missing",),
    "unknown_block": ("unknown_block",),
    "schema_swapped": ("contract_changed",),
}
"""The deviations where the data can be had all the same."""
SILENT: Final = {"answered_twice", "no_schema", "cursor_loop", "unlisted", "bad_neighbour"}
"""Those that cost nothing: the data is good, and the guard says so by verdict, log or `contracts`."""


def named(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", [name for name in names if name not in NOT_HERE])


async def called(to: Any, expected: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Kind and outcome of the error, else the deviations."""
    records: list[Record] = []
    timeout = TIMEOUT if "timeout" in expected else 60.0
    async with connect(to, timeout=timeout, hooks=[records.append]) as tools:
        try:
            value = await tools.call("get_stock", {"sku": "A-1"})
        except GuardError as error:
            return error.kind, error.outcome
    assert {**value, "as_of": 1} == {**GOOD, "as_of": 1}
    return records[0].deviations


def test_every_fault_is_in_one_of_the_tables_of_what_becomes_of_it() -> None:
    assert len(FAULTS) >= 30
    assert sorted([*CAUGHT, *NOTED, *SILENT]) == sorted(FAULTS)


@named(*CAUGHT)
async def test_the_guard_catches(name: str) -> None:
    assert await called(FaultyServer(name).transport(), CAUGHT[name]) == CAUGHT[name]


@named(*NOTED)
async def test_the_guard_notes(name: str) -> None:
    policy = STRICT if name == "text_differs" else ENFORCE
    async with connect(FaultyServer(name).transport(), policy=policy) as tools:
        judged = await tools.judge("get_stock", {"sku": "A-1"})
    assert judged.record.verdict == "Conforming"
    assert judged.record.deviations == NOTED[name]


@named(*sorted(SILENT))
async def test_good_data_is_given_in_spite_of(name: str) -> None:
    assert await called(FaultyServer(name).transport()) == ()


async def test_a_server_without_a_fault_is_a_good_one() -> None:
    server = FaultyServer()
    assert await called(server.transport()) == ()
    assert (server.runs["get_stock"], server.listings) == (1, 1)


@named(*(f.name for f in FAULTS.values() if f.listing is None and not f.modern))
async def test_a_fault_put_before_a_good_server_is_caught_alike(name: str) -> None:
    server = FaultyServer()
    expected = CAUGHT.get(name) or tuple(code for code in NOTED.get(name, ()) if code != "text_differs")
    assert await called(inject(server.transport(), name), expected) == expected
    if name in CAUGHT and CAUGHT[name][1] != "not_sent":
        assert server.runs["get_stock"] == FAULTS[name].works


@named("missing_field", "silent_after_work", "rpc_error")
async def test_a_real_session_meets_the_fault_too(name: str) -> None:
    async with FaultyServer(name).session() as session:
        timeout = TIMEOUT if "timeout" in CAUGHT[name] else 60.0
        with pytest.raises(GuardError) as caught:
            await guard(session, timeout=timeout).call("get_stock", {"sku": "A-1"})
    assert (caught.value.kind, caught.value.outcome) == CAUGHT[name]


async def test_the_same_server_misbehaves_over_stdio() -> None:
    command = StdioServerParameters(command=sys.executable, args=["-m", "mcp_guard.testing", "missing_field"])
    assert await called(command) == CAUGHT["missing_field"]


@pytest.mark.parametrize("calls, sick", [(None, [1, 2, 3, 4]), (2, [2]), ({1, 4}, [1, 4])])
async def test_a_fault_is_put_into_the_calls_that_were_named(calls: Any, sick: list[int]) -> None:
    injection = inject(FaultyServer().transport(), "missing_field", calls=calls)
    assert await sick_calls(injection) == sick
    assert injection.injected == [Injected("missing_field", "get_stock", nth) for nth in sick]


async def test_the_same_seed_chooses_the_same_calls_and_another_others() -> None:
    def chosen_by(seed: int) -> Any:
        return inject(FaultyServer().transport(), "missing_field", probability=0.5, seed=seed)

    first, again, other = [await sick_calls(chosen_by(seed), 20) for seed in (7, 7, 8)]
    assert first == again != other
    assert 0 < len(first) < 20


async def sick_calls(injection: Any, number: int = 4) -> list[int]:
    async with connect(injection) as tools:
        verdicts = [(await tools.judge("get_stock", {"sku": "A-1"})).record.verdict for _ in range(number)]
    return [nth for nth, verdict in enumerate(verdicts, 1) if verdict == "Violating"]


async def test_only_the_tools_that_were_named_have_the_fault() -> None:
    async with connect(inject(sample_server(), "missing_field", tool="get_*")) as tools:
        assert await tools.call("add", {"a": 1, "b": 2}) == {"result": 3}
        with pytest.raises(OutputValidationError):
            await tools.call("get_stock", {"sku": "A-1"})


async def test_a_result_that_can_not_have_the_fault_is_handed_over_as_it_is() -> None:
    no_data = FaultyServer("text_prose").transport()
    injection = inject(no_data, "missing_field")
    assert await called(injection) == CAUGHT["text_prose"]
    assert injection.injected == []


@pytest.mark.parametrize("fault", [name for name, fault in FAULTS.items() if fault.listing is None])
def test_a_tool_may_be_defined_in_any_way_and_still_have_the_fault(fault: str) -> None:
    schemas: list[Any] = [None, True, 7, [], {"required": 5, "properties": []}, {"required": [[], 1, None]}]
    for schema in schemas:
        definition = {"name": "t", "outputSchema": schema}
        FAULTS[fault].definition(definition, 2)
        try:
            FAULTS[fault].answer(Good(definition, {"content": [], "structuredContent": {"n": 1}}))
        except NotApplicableError:
            continue


async def test_a_listing_without_tools_is_handed_over_as_it_is() -> None:
    peer = RawServer(on={"tools/list": {"tools": {"a": 1}}})
    async with connect(inject(in_memory(peer), "missing_field")) as tools:
        with pytest.raises(GuardError) as caught:
            await tools.call("get_stock", {"sku": "A-1"})
    assert caught.value.kind == "contract_unusable"


async def test_a_transport_that_could_not_be_opened_can_be_tried_again() -> None:
    injection = inject(StdioServerParameters(command="no-such-command-anywhere"), "missing_field")
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            async with connect(injection):
                pass


async def test_two_faults_are_one_inject_round_another() -> None:
    inner = inject(FaultyServer().transport(), "error_payload", calls=1)
    async with connect(inject(inner, "text_only", calls=2)) as tools:
        with pytest.raises(ToolExecutionError):
            await tools.call("get_stock", {"sku": "A-1"})
        judged = await tools.judge("get_stock", {"sku": "A-1"})
    assert judged.record.source == "text"


async def test_a_fault_can_be_changed_between_calls_and_be_one_tool_s_alone() -> None:
    tools = [GET_STOCK, {**GET_STOCK, "name": "pay"}]
    server = FaultyServer({"pay": "silent_after_work"}, tools=tools, work={"pay": lambda _: GOOD})
    async with server.session() as session:
        guarded = guard(session)
        assert await guarded.call("get_stock", {"sku": "A-1"}) == GOOD
        with pytest.raises(GuardError, match="pay"):
            await guarded.call("pay", {"sku": "A-1"}, timeout=TIMEOUT)
        server.fault = None
        assert await guarded.call("pay", {"sku": "A-1"}) == GOOD
    assert server.runs == {"get_stock": 1, "pay": 2}


async def test_a_fault_of_one_s_own_is_a_few_words() -> None:
    late = Fault(name="late", kind="data", about="is a day late", answer=lambda g: g.answering({**g.value, "sku": 1}))
    assert await called(FaultyServer(late).transport()) == ("output_violation", "executed")


@pytest.mark.parametrize("name", ["injection_in_error", "ansi_in_error", "injection_in_name", "ansi_in_name"])
async def test_hostile_words_are_in_no_message_to_the_developer(name: str) -> None:
    async with connect(FaultyServer(name).transport()) as tools:
        with pytest.raises(GuardError) as caught:
            await tools.call("get_stock", {"sku": "A-1"})
    said = f"{caught.value} {caught.value!r} {caught.value.to_dict()}"
    assert INJECTION not in said
    assert ANSI[:3] not in said


@pytest.mark.parametrize(
    "fault, message",
    [
        ("missing_fields", "no fault 'missing_fields'; do you mean 'missing_field'"),
        ("listing", "stands for 6 faults"),
        ("nothing at all", "mcp_guard.testing.FAULTS has them all"),
    ],
)
def test_a_fault_that_is_not_one_is_refused(fault: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FaultyServer(fault)


def test_what_inject_can_not_do_is_refused_before_anything_is_opened() -> None:
    transport = FaultyServer().transport()
    with pytest.raises(ValueError, match="page_two is a fault of the listing"):
        inject(transport, "page_two")
    with pytest.raises(ValueError, match="between 0 and 1"):
        inject(transport, "silent", probability=2)
    with pytest.raises(ValueError, match="counted from 1"):
        inject(transport, "silent", calls=0)
    with pytest.raises(TypeError, match=r"connect\(\) takes a URL"):
        inject(3, "silent")
    with pytest.raises(TypeError, match="tool is a name or a glob, not int"):
        inject(transport, "silent", tool=3)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="given by its name"):
        FaultyServer(3)  # type: ignore[arg-type]  # what is tested


def test_a_tool_without_work_and_a_fault_for_no_tool_are_refused() -> None:
    with pytest.raises(ValueError, match="work has no function for the tool 'pay'"):
        FaultyServer(tools=[{**GET_STOCK, "name": "pay"}])
    with pytest.raises(ValueError, match="there is no tool 'pay'"):
        FaultyServer({"pay": "silent"})


def test_faults_are_chosen_by_name_by_kind_or_all() -> None:
    assert chosen("silent") == (FAULTS["silent"],)
    assert {fault.kind for fault in chosen(["text", "schema"])} == {"text", "schema"}
    assert chosen("*") == tuple(FAULTS.values())


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_changes_nothing_that_it_was_given(name: str) -> None:
    tool = {**GET_STOCK, "outputSchema": dict(GET_STOCK["outputSchema"])}
    good = Good(tool, Good(tool, {}).answering(dict(GOOD)))
    before = repr((good.tool, good.result))
    FAULTS[name].answer(good)
    FAULTS[name].definition(good.tool, 2)
    assert repr((good.tool, good.result)) == before


def test_a_fault_of_the_data_needs_data() -> None:
    with pytest.raises(NotApplicableError, match="no structured content"):
        FAULTS["missing_field"].answer(Good(GET_STOCK, {"content": []}))
