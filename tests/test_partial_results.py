"""The support desk: docs/partial-results.md does what it shows, and the example ends as it says."""

from __future__ import annotations

import runpy
from typing import Any, Final, get_args

import pytest

from mcp_guard import Conforming, Contract, Errored, Violating, check
from mcp_guard._pages import StoppedBecause
from support import Request, raw_session
from support.page import EXAMPLES, Page, follow

PAGE: Final = Page("docs/partial-results.md")


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The support desk's server, new."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return runpy.run_path(str(EXAMPLES / "support_server.py"))


async def test_the_page_does_what_it_says(desk: dict[str, Any]) -> None:
    def respond(request: Request) -> Any:
        return desk["answer"](request.params["name"], request.arguments or {})["result"]

    results = {tool["name"]: respond for tool in desk["TOOLS"]}
    async with raw_session(tools=desk["TOOLS"], results=results) as (session, _):
        assert await follow(PAGE.blocks(), {"__name__": "page", "session": session}) > 0


def test_another_customers_order_and_none_at_all_are_answered_alike(desk: dict[str, Any]) -> None:
    answers = [desk["answer"]("find_case", {"order": order}) for order in ("O-8", "O-9")]
    assert answers[0] == answers[1]
    verdict = check(answers[0]["result"], Contract.from_tool(desk["TOOL"]))
    assert isinstance(verdict, Errored)
    assert (verdict.failure.kind, verdict.failure.retryable) == ("authorization_denied", False)


READ: Final = {"source": "tickets", "at": "2026-11-05T09:00:00Z", "state": "read", "facts": {}}
LATE: Final = {"source": "shipments", "at": "2026-11-05T09:00:01Z", "state": "timed_out"}


@pytest.mark.parametrize(
    "status, observations, fits",
    [
        ("ok", [READ], True),
        ("no_match", [READ, READ], True),
        ("partial", [READ, LATE], True),
        ("unavailable", [LATE, LATE], True),
        ("ok", [READ, LATE], False),
        ("no_match", [READ, LATE], False),
        ("no_match", [], False),
        ("partial", [READ, READ], False),
        ("partial", [LATE, LATE], False),
        ("unavailable", [READ, LATE], False),
        ("ok", [{**READ, "at": None}], False),
        ("partial", [READ, {**LATE, "facts": {}}], False),
    ],
    ids=range(12),
)
def test_the_contract_tells_the_four_answers_apart(
    desk: dict[str, Any], status: str, observations: Any, fits: bool
) -> None:
    more = {"again_after": 1} if status in {"partial", "unavailable"} else {}
    data = {"status": status, "observations": observations, **more}
    verdict = check({"content": [], "structuredContent": data}, Contract.from_tool(desk["TOOL"]))
    assert isinstance(verdict, Conforming if fits else Violating)


def test_every_reason_to_stop_is_in_the_table() -> None:
    told = {reason.strip("`"): complete for reason, *_, complete in PAGE.rows("`stopped_because`")}
    assert told.keys() == {"None", *get_args(StoppedBecause)}
    assert [reason for reason, complete in told.items() if complete == "yes"] == ["end"]
