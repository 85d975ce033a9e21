"""A `FaultyServer` at a command: for what starts its servers itself, over stdio."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mcp_guard.testing import FaultyServer

_PROGRAM: Final = """
import sys
from pathlib import Path

import anyio
from mcp_guard.testing import FaultyServer

def work(arguments):
    if all(fault.works for fault in server.fault.values()):
        with Path(sys.argv[1]).open("a") as file:
            file.write("ran ")
    return {"sku": arguments["sku"], "quantity": 3}

server = FaultyServer(*sys.argv[2:], work={"get_stock": work})
anyio.run(server.serve_stdio)
"""


@contextmanager
def at_a_command(server: FaultyServer) -> Generator[tuple[str, list[str]]]:
    """A command and its arguments, for a server with the same fault; its runs are added to those of this server."""
    faults = [fault.name for fault in server.fault.values()]
    with tempfile.TemporaryDirectory() as folder:
        ran = Path(folder) / "ran.txt"
        yield sys.executable, ["-c", _PROGRAM, str(ran), *faults]
        if ran.is_file():
            server.runs["get_stock"] += ran.read_text("utf-8").count("ran")
