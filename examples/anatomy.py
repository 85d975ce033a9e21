"""Takes results apart: their content blocks, structured content and isError, and what a guard makes of each."""

import asyncio
import json
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters

from mcp_guard import GuardError, Record, ToolExecutionError, connect
from mcp_guard.records import CallInfo

SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("anatomy_server.py"))])
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("divide", {"a": 6, "b": 3}),
    ("divide", {"a": 1, "b": 0}),
    ("get_weather", {"city": "Berlin"}),
    ("get_weather", {"city": "Atlantis"}),
    ("get_weather", {"city": "Lyon"}),
    ("get_weather", {"city": "Oslo"}),
    ("get_weather", {"town": "Oslo"}),
    ("get_tides", {}),
]


class Dissect:
    """A hook that shows each answer as it came, and the verdict on it."""

    def __init__(self) -> None:
        self._call: CallInfo | None = None

    @contextmanager
    def around(self, call: CallInfo) -> Generator[None]:
        """Keep the call while it is under way: its raw answer is to be had from it."""
        self._call = call
        yield

    def __call__(self, record: Record) -> None:
        """Show the answer part by part."""
        result: dict[str, Any] = (self._call.result() if self._call else None) or {}
        for block in result.get("content", []):
            says = block.get("text") or block.get("mimeType") or block.get("uri")
            print(f"  content            {block['type']}: {says}")
        for member in ("structuredContent", "isError"):
            if member in result:
                print(f"  {member:18} {json.dumps(result[member])}")
        print(f"  verdict            {record.verdict or 'none'}{f', from {record.source}' if record.source else ''}")


async def main() -> None:
    """Make each call, and show its answer and what `call` gives."""
    logging.getLogger("mcp_guard").setLevel(logging.CRITICAL)  # what it would say stands in the output
    async with connect(SERVER, hooks=[Dissect()]) as tools:
        for tool, arguments in CALLS:
            print(f"{tool} {json.dumps(arguments)}")
            try:
                print(f"  call gives         {await tools.call(tool, arguments)}")
            except GuardError as error:
                print(f"  call raises        {type(error).__name__}, {error.outcome}")
                if isinstance(error, ToolExecutionError):
                    print(f"  the failure        kind={error.failure.kind}, retryable={error.failure.retryable}")


if __name__ == "__main__":
    asyncio.run(main())
