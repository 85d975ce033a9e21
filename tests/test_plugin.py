"""The pytest plugin, run as a stranger's suite runs it: what passes, what fails, and with which words."""

from __future__ import annotations

from typing import Final

import pytest

from mcp_guard.testing import FAULTS
from support import SDK_MAJOR

OF_ANYIO: Final = """
    import pytest
    from mcp_guard import GuardError
    from mcp_guard.testing import FaultyServer

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend():
        return "asyncio"
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project; coverage and our own configuration are not its own."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return pytester


def test_a_break_that_the_code_under_test_swallowed_fails_the_test(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        OF_ANYIO
        + """
    async def test_agent(mcp_guarded):
        async with FaultyServer("missing_field").session() as session:
            tools = mcp_guarded(session)
            try:
                await tools.call("get_stock", {"sku": "A-1"})
            except GuardError:
                pass
    """
    )
    result = suite.runpytest_inprocess()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "mcp_guard: 1 of 1 tool calls broke their contract",
            "  get_stock: output_violation (executed, call *)",
            "    (root): required",
        ]
    )


def test_a_test_whose_results_keep_their_contract_passes(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        OF_ANYIO
        + """
    async def test_agent(mcp_guarded):
        async with FaultyServer().session() as session:
            tools = mcp_guarded(session)
            assert (await tools.call("get_stock", {"sku": "A-1"}))["quantity"] == 3
        async with mcp_guarded(FaultyServer().transport()) as tools:
            await tools.call("get_stock", {"sku": "A-1"})
        assert [record.verdict for record in mcp_guarded.records] == ["Conforming", "Conforming"]
    """
    )
    suite.runpytest_inprocess().assert_outcomes(passed=1)


def test_an_error_of_the_tool_s_own_is_no_break(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        OF_ANYIO
        + """
    async def test_agent(mcp_guarded):
        async with FaultyServer("error_prose").session() as session:
            with pytest.raises(GuardError):
                await mcp_guarded(session).call("get_stock", {"sku": "A-1"})
    """
    )
    suite.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_break_that_is_expected_fails_nothing_and_another_one_does(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        OF_ANYIO
        + """
    @pytest.mark.parametrize("fault", ["missing_field", "text_prose"])
    async def test_agent(mcp_guarded, fault):
        mcp_guarded.expect("output_violation")
        async with FaultyServer(fault).session() as session:
            with pytest.raises(GuardError):
                await mcp_guarded(session).call("get_stock", {"sku": "A-1"})

    def test_typing_error(mcp_guarded):
        with pytest.raises(ValueError, match="'timeout' is no break of a contract"):
            mcp_guarded.expect("timeout")
    """
    )
    result = suite.runpytest_inprocess()
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["  get_stock: structured_missing (executed, call *)"])


def test_the_mark_runs_a_test_once_for_each_fault_that_it_names(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        OF_ANYIO
        + """
    @pytest.mark.mcp_faults("missing_field", "schema")
    async def test_agent(mcp_faulty_server, mcp_fault):
        assert list(mcp_faulty_server.fault.values()) == [mcp_fault]
    """
    )
    result = suite.runpytest_inprocess("-v")
    names = ["missing_field", *(fault.name for fault in FAULTS.values() if fault.kind == "schema")]
    result.assert_outcomes(passed=len(names))
    result.stdout.fnmatch_lines_random([f"*test_agent[[]{name}*] PASSED*" for name in names])


def test_without_the_mark_it_is_every_fault_that_the_sdk_can_meet(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_agent(mcp_fault): assert mcp_fault.about")
    here = [fault for fault in FAULTS.values() if not fault.modern or SDK_MAJOR == 2]
    suite.runpytest_inprocess().assert_outcomes(passed=len(here))


def test_a_fault_that_is_not_one_is_a_usage_error(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest

        @pytest.mark.mcp_faults("missing_fields")
        def test_agent(mcp_fault): ...
        """
    )
    result = suite.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*there is no fault 'missing_fields'; do you mean 'missing_field'?*"])


@pytest.mark.parametrize("mark", ["mcp_faults()", 'mcp_faults(kind="data")'])
def test_a_mark_that_names_no_fault_does_not_leave_the_test_out(suite: pytest.Pytester, mark: str) -> None:
    suite.makepyfile(
        f"""
        import pytest

        @pytest.mark.{mark}
        def test_agent(mcp_fault): ...
        """
    )
    result = suite.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*mcp_faults takes names alone, one at least*"])


def test_the_fixtures_work_under_pytest_asyncio_too(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    suite.makepyfile(
        """
        import pytest
        from mcp_guard import OutputValidationError
        from mcp_guard.testing import FaultyServer

        @pytest.mark.mcp_faults("missing_field")
        async def test_agent(mcp_guarded, mcp_faulty_server):
            mcp_guarded.expect("output_violation")
            async with mcp_faulty_server.session() as session:
                with pytest.raises(OutputValidationError):
                    await mcp_guarded(session).call("get_stock", {"sku": "A-1"})
        """
    )
    suite.runpytest_inprocess("-p", "no:anyio").assert_outcomes(passed=1)


def test_a_suite_that_does_not_use_it_pays_for_nothing(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import sys

        def test_nothing():
            loaded = {"mcp", "jsonschema", "jsonschema_rs", "mcp_guard._check", "mcp_guard.testing.faults"}
            assert not loaded & sys.modules.keys()
        """
    )
    suite.runpytest_subprocess("-p", "no:anyio").assert_outcomes(passed=1)
