"""The support case J-42: pages that end early, sources that are late, and an answer that says how far it reaches."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from typing import Any

from support_case import Answer, NoMatch, Observation, Ok
from support_server import TOOLS

from mcp_guard import Budget, BudgetExhaustedError, GuardedSession, guard
from mcp_guard.testing import FaultyServer

PAGES = {None: (["J-40", "J-41"], "b"), "b": (["J-41"], "c"), "c": (["J-42", "J-43"], None)}  # J-41 moved meanwhile


class Desk:
    """The desk's two tools, behind the contracts of support_server.py. Its parcels are late until `awake`."""

    def __init__(self) -> None:
        self.awake = False
        self._clock = datetime(2026, 11, 5, 9, tzinfo=timezone.utc)

    def list_cases(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """A page of the open cases."""
        cases, following = PAGES[arguments.get("cursor")]
        return {"cases": [{"case": case, "order": case.replace("J", "O")} for case in cases], "next": following}

    def find_case(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the sources that are asked say of an order."""
        seen = [self._read(source, arguments["order"]) for source in arguments.get("sources", ["tickets", "shipments"])]
        states = {each["state"] for each in seen}
        if states == {"read"}:
            return {"status": "ok", "observations": seen}
        return {"status": "partial" if "read" in states else "unavailable", "observations": seen, "again_after": 0.01}

    def _read(self, source: str, order: str) -> dict[str, Any]:
        self._clock += timedelta(seconds=1)
        said = {"source": source, "at": self._clock.isoformat()}
        if source == "shipments" and not self.awake:
            return {**said, "state": "timed_out"}
        facts = {"case": order.replace("O", "J")} if source == "tickets" else {"parcel": "in Hamburg"}
        return {**said, "state": "read", "facts": facts}


async def find(tools: GuardedSession[Any], case: str, cursor: str | None = None) -> tuple[str | None, str | None]:
    """The order that a case is about, and where to read on if it was not found; both `None`: there is no such case."""
    given = {"cursor": cursor} if cursor else {}
    cases = tools.paginate("list_cases", given, items="cases", cursor="cursor", next_cursor="next", key="case")
    read: list[str] = []
    order = None
    async for each in cases:
        read.append(each["case"])
        if each["case"] == case:
            order = each["order"]
    print(f"   read {', '.join(read)}; complete={cases.complete}, because {cases.stopped_because}")
    return order, None if cases.complete else cases.cursor


async def look(tools: GuardedSession[Any], order: str, missing: list[str]) -> list[Observation]:
    """All that was observed, asking again for what is missing, as long as the budget lasts."""
    seen: list[Observation] = []
    try:
        while missing:
            answer = await tools.call("find_case", {"order": order, "sources": missing}, into=Answer)
            seen += answer.observations
            missing = [each.source for each in answer.observations if each.state == "timed_out"]
            print(f"   {answer.status}: {', '.join(f'{each.source} {each.state}' for each in answer.observations)}")
            if not isinstance(answer, Ok | NoMatch):
                await asyncio.sleep(answer.again_after)
    except BudgetExhaustedError as error:
        print(f"   {error}")
    return seen


def say(seen: list[Observation]) -> list[str]:
    """Tell what is known of each source, and give those of which nothing is."""
    unknown: list[str] = []
    for source in dict.fromkeys(each.source for each in seen):
        of_it = [each for each in seen if each.source == source]
        if of_it[-1].state == "read":
            print(f"   {source}, as of {of_it[-1].at:%H:%M:%S}: {of_it[-1].facts}")
        else:
            unknown.append(source)
            print(f"   {source}: not known; asked {len(of_it)} times, the last time at {of_it[-1].at:%H:%M:%S}")
    return unknown


async def main() -> None:
    """A customer asks for J-42, and again later."""
    desk = Desk()
    server = FaultyServer(tools=TOOLS, work={"find_case": desk.find_case, "list_cases": desk.list_cases})
    async with server.session() as session:
        tools = guard(session)
        print("1. Which order is J-42 about?")
        async with Budget(attempts=2):
            order, cursor = await find(tools, "J-42")
        print(f"2. Not found, and not at the end: read on at {cursor!r}")
        order, _ = await find(tools, "J-42", cursor)
        print(f"3. What is known of {order}?")
        async with Budget(attempts=4, seconds=45):
            seen = await look(tools, str(order), ["tickets", "shipments"])
        print("4. What may be said")
        unknown = say(seen)
        print("5. Later, only what is missing")
        desk.awake = True
        async with Budget(attempts=4, seconds=45):
            seen += await look(tools, str(order), unknown)
        print("6. What may be said now")
        say(seen)
    print(f"list_cases was called {server.calls['list_cases']} times, find_case {server.calls['find_case']} times")


if __name__ == "__main__":
    asyncio.run(main())
