"""What do we know of this case? The answer may be whole, empty, in part or not there, and none of it is an error."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import AwareDatetime, BaseModel, Field

from mcp_guard import Budget, BudgetExhaustedError, GuardedSession, Retry, ToolExecutionError, guard

SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("support_server.py"))])


class Observation(BaseModel):
    """What one source said at one time. It is never changed by a later one."""

    source: str
    at: AwareDatetime
    state: Literal["read", "timed_out"]
    facts: dict[str, str] = {}


class Ok(BaseModel):
    """Every source that was asked was read, and there is something."""

    status: Literal["ok"]
    observations: list[Observation]


class NoMatch(BaseModel):
    """Every source that was asked was read, and there is nothing: that is an answer."""

    status: Literal["no_match"]
    observations: list[Observation]


class Partial(BaseModel):
    """Some sources were read, and some were not: what they would have said is not known."""

    status: Literal["partial"]
    observations: list[Observation]
    again_after: float


class Unavailable(BaseModel):
    """No source was read: nothing is known, least of all that there is nothing."""

    status: Literal["unavailable"]
    observations: list[Observation]
    again_after: float


Answer: TypeAlias = Annotated[Ok | NoMatch | Partial | Unavailable, Field(discriminator="status")]


async def look_up(tools: GuardedSession[ClientSession], order: str) -> tuple[str, list[Observation]]:
    """How far the answer reaches, and all that was observed on the way, in order."""
    seen: list[Observation] = []
    arguments: dict[str, object] = {"order": order}
    async with Budget(attempts=6, seconds=45):  # for the question as a whole, however it is asked
        while True:
            try:
                answer = await tools.call("find_case", arguments, into=Answer)
            except ToolExecutionError as error:
                return f"refused: {error.failure.kind}", seen
            except BudgetExhaustedError as error:
                return f"not known in full, the {error.limit} are spent", seen
            seen += answer.observations
            match answer:
                case Ok() | NoMatch():
                    found = any(each.facts for each in seen)
                    return "a case" if found else "no case: every source was read", seen
                case Partial() | Unavailable():
                    # only what is missing is read again; what was read stays as it was observed
                    arguments["sources"] = [each.source for each in answer.observations if each.state == "timed_out"]
                    await asyncio.sleep(answer.again_after)


async def main() -> None:
    """Ask about orders of every kind; O-8 is another customer's, and there is no O-9."""
    async with stdio_client(SERVER) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = guard(session, safe=["find_case"], retry=Retry(retries=1))  # it only reads, and we know it
        for order in ("O-1", "O-2", "O-3", "O-4", "O-5", "O-6", "O-8", "O-9"):
            outcome, seen = await look_up(tools, order)
            print(f"{order}: {outcome}")
            for each in seen:
                print(f"  {each.at:%H:%M:%S} {each.source} {each.state} {each.facts or ''}".rstrip())


if __name__ == "__main__":
    asyncio.run(main())
