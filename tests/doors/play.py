"""Says as JSON what one framework does with each fault: `python tests/doors/play.py NAME`, where it is installed."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import json
import logging
import sys
from pathlib import Path
from typing import Any


async def rows(module: Any) -> list[dict[str, Any]]:
    """A row for each case."""
    doors: Any = importlib.import_module("doors")
    server: Any = importlib.import_module("mcp_guard.testing").FaultyServer
    return [
        {
            "case": case.name,
            "alone": dataclasses.asdict(await module.alone(server(case.fault))),
            "guarded": dataclasses.asdict(await module.guarded(server(case.fault))),
        }
        for case in doors.CASES
    ]


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # not here: the files are named as the frameworks are
    logging.disable()
    out = sys.stdout
    sys.stdout = sys.stderr  # what a framework prints is none of it
    json.dump(asyncio.run(rows(importlib.import_module(f"doors.{sys.argv[1]}"))), out)
