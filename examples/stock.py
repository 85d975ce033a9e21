"""May we order? Decided on status, quantity and freshness of data that keeps its contract, and on nothing else."""

import asyncio
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import AwareDatetime, BaseModel

from mcp_guard import GuardedSession, OutputValidationError, ToolExecutionError, guard

SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("stock_server.py"))])


class Stock(BaseModel):
    """What we need to know of an article."""

    status: str  # one of those that the contract names
    quantity: int | None
    checked_at: AwareDatetime


async def decide(tools: GuardedSession[ClientSession], sku: str, wanted: int) -> str:
    """Order, or why not."""
    try:
        stock = await tools.call("get_stock", {"sku": sku}, into=Stock)
    except ToolExecutionError as error:  # the source could not say
        return f"ask again later: {error.failure.kind}"
    except OutputValidationError as error:  # it said what can't be true
        return f"tell the supplier: {error}"
    if stock.status != "available" or stock.quantity is None:
        return f"don't order: {stock.status}"
    fresh = datetime.now(timezone.utc) - stock.checked_at < timedelta(minutes=15)
    return "order" if fresh and stock.quantity >= wanted else f"don't order: {stock.quantity} left, {fresh=}"


async def main() -> None:
    """Ask about articles of every kind."""
    async with stdio_client(SERVER) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = guard(session)
        for sku in ("A-1", "A-2", "A-3", "B-1", "B-2", "B-3", "C-1"):
            print(f"{sku}: {await decide(tools, sku, wanted=2)}")


if __name__ == "__main__":
    asyncio.run(main())
