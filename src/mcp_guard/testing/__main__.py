"""``python -m mcp_guard.testing FAULT``: a `FaultyServer` over standard input and output."""

from __future__ import annotations

import argparse

import anyio

from mcp_guard.testing.faults import FAULTS
from mcp_guard.testing.server import FaultyServer


def main() -> None:
    """Serve one client."""
    parser = argparse.ArgumentParser(prog="python -m mcp_guard.testing", description=__doc__)
    parser.add_argument("fault", nargs="?", choices=FAULTS, metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--modern", action="store_true", help="speak protocol 2026-07-28")
    given = parser.parse_args()
    anyio.run(FaultyServer(given.fault, modern=given.modern).serve_stdio)


if __name__ == "__main__":
    main()
