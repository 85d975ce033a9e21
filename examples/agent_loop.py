"""An agent's loop, its model a script: what the guard says to the model is its next prompt, and a broken tool rests."""

import asyncio
import re
from typing import Any

from mcp import ClientSession
from mcp.client.stdio import stdio_client
from stock import SERVER

from mcp_guard import ContractError, GuardedSession, GuardError, guard


def model(sku: str, prompts: list[str]) -> dict[str, Any] | None:
    """The arguments of the next call, or `None` where the model is done."""
    if not prompts:
        return {"sku": sku, "warehouse": "Berlin"}
    if allowed := re.search(r"/warehouse must be one of '(\w+)'", prompts[-1]):
        return {"sku": sku, "warehouse": allowed[1]}  # it corrects itself
    return {"sku": sku} if "failed" in prompts[-1] else None  # it is stubborn: what failed, it tries again


async def loop(tools: GuardedSession[ClientSession], sku: str) -> None:
    """Let the model call until it is done, or until there is no use in it."""
    prompts: list[str] = []
    broken = False
    while not broken and (arguments := model(sku, prompts)) is not None:
        print(f"the model calls get_stock({arguments})")
        try:
            prompts.append(f"get_stock says: {await tools.call('get_stock', arguments)}")
        except GuardError as error:
            prompts.append(error.for_model())
            broken = isinstance(error, ContractError)  # another call mends nothing, and the tool may have run
        print(f"  {prompts[-1]}")


async def main() -> None:
    """Ask about an article in order, and about one for which the server breaks its word."""
    async with stdio_client(SERVER) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = guard(session)
        for sku in ("A-1", "B-2"):
            await loop(tools, sku)


if __name__ == "__main__":
    asyncio.run(main())
