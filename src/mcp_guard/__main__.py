"""Runs the command line: ``python -m mcp_guard``."""

from __future__ import annotations

import sys

from mcp_guard.cli import main

if __name__ == "__main__":
    sys.exit(main())
