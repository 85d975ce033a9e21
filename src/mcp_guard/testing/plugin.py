"""The pytest plugin: fixtures `mcp_guarded`, `mcp_fault` and `mcp_faulty_server`, and the mark `mcp_faults`.

pytest loads it in every run in which the package is installed, so nothing else is imported until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, final

import pytest

if TYPE_CHECKING:
    from mcp_guard.records import Record
    from mcp_guard.testing.faults import Fault
    from mcp_guard.testing.server import FaultyServer

_MARK: Final = "mcp_faults"
_BREAKS: Final = frozenset(
    {
        *("output_violation", "structured_missing", "malformed_result", "limit_exceeded", "contract_unusable"),
        *("contract_changed", "tool_unlisted", "unfinished_result"),
    }
)
"""Kinds of errors that say that the server broke its word."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers", f"{_MARK}(*names): run the test once for each of these faults, kinds of faults, or '*' for all"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `mcp_fault` once for each fault that its mark names."""
    if "mcp_fault" not in metafunc.fixturenames:
        return
    from mcp_guard.testing.faults import chosen

    mark = metafunc.definition.get_closest_marker(_MARK)
    names: tuple[Any, ...] = ("*",) if mark is None else mark.args
    if mark is not None and (mark.kwargs or not names):
        says = f'{_MARK} takes names alone, one at least, such as {_MARK}("missing_field", "data")'
        pytest.fail(f"{metafunc.definition.nodeid}: {says}", pytrace=False)
    try:
        faults = chosen(names)
    except (TypeError, ValueError) as error:
        raise pytest.fail.Exception(f"{metafunc.definition.nodeid}: {error}", pytrace=False) from None
    here = [fault for fault in faults if not fault.modern or find_spec("mcp_types") is not None]
    metafunc.parametrize("mcp_fault", here, ids=[fault.name for fault in here])


@pytest.fixture
def mcp_faulty_server(mcp_fault: Fault) -> FaultyServer:
    """A `FaultyServer` with the fault of this run: its tool is ``get_stock``."""
    from mcp_guard.testing.server import FaultyServer

    return FaultyServer(mcp_fault)


@pytest.fixture
def mcp_guarded() -> Iterator[Guarded]:
    """Puts sessions and servers under STRICT, and fails the test where a result broke its contract.

    ::

        async def test_my_agent(mcp_guarded, session):
            await my_agent(mcp_guarded(session))

    ``mcp_guarded(session)`` gives a guarded session; ``mcp_guarded(server)``, for what `connect` takes, an async
    context manager that gives one. Keywords are those of `guard`.
    """
    guarded = Guarded()
    yield guarded
    if guarded.breaks:
        pytest.fail(guarded.report(), pytrace=False)


@final
class Guarded:
    """The fixture `mcp_guarded`."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        """Of every call that was made, in order."""
        self._expected: frozenset[str] = frozenset()

    def __call__(self, to: Any, **options: Any) -> Any:
        """A guarded session for a session, or an async context manager that gives one."""
        from mcp_guard import STRICT, connect, guard
        from mcp_guard.testing.asserting import is_session

        options = {"policy": STRICT, **options, "hooks": [*options.get("hooks", ()), self.records.append]}
        return guard(to, **options) if is_session(to) else connect(to, **options)

    def expect(self, *kinds: str) -> None:
        """Kinds of errors that are no failure of this test, such as ``"output_violation"``.

        Raises:
            ValueError: An error of this kind is no break of a contract.
        """
        if unknown := sorted(set(kinds) - _BREAKS):
            raise ValueError(f"{unknown[0]!r} is no break of a contract; there are: {', '.join(sorted(_BREAKS))}")
        self._expected |= set(kinds)

    @property
    def breaks(self) -> list[Record]:
        """The records of the calls whose result, or whose tool, broke its contract unexpectedly."""
        return [record for record in self.records if record.error in _BREAKS - self._expected]

    def report(self) -> str:
        """What broke, a line each, whatever the test made of it."""
        lines = [f"mcp_guard: {len(self.breaks)} of {len(self.records)} tool calls broke their contract"]
        for record in self.breaks:
            lines.append(f"  {record.tool}: {record.error} ({record.outcome}, call {record.call_id})")
            lines += [f"    {place.pointer or '(root)'}: {place.keyword}" for place in record.violations]
            lines += [f"    deviation: {code}" for code in record.deviations]
        return "\n".join(lines)
