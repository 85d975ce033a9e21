"""Writes docs/real-servers.md: `mcp-guard check` against public servers from npm and PyPI.

`make real-servers` runs it. It needs npm and a registry, takes some minutes, and is no part of the tests. Each server
is installed once, in `.venv-servers/checked`, and is started for the check alone, in a folder of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "real-servers.md"
HOME: Final = ROOT / ".venv-servers" / "checked"
SECONDS: Final = 600
HEAD: Final = """\
# Public servers, checked

`mcp-guard check` against servers that others have published, with a few harmless calls each. This page
is written by `scripts/real_servers.py` (`make real-servers`), last on {day}, with {sdk}. It is what that run saw
on that day, in a folder with one file, `notes.txt`; it is no judgement of a server.

| server | tools | calls | broke their contract | findings of the linter |
| --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Server:
    """A server: where it is from, how it is started, and what is called. `{folder}` is the folder of the run."""

    origin: str
    package: str
    command: str
    arguments: tuple[str, ...] = ()
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    besides: tuple[str, ...] = ()
    """What is installed with it."""


NOTES: Final[dict[str, Any]] = {"path": "{folder}/notes.txt"}
FOLDER: Final[dict[str, Any]] = {"path": "{folder}"}
FILES: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("read_text_file", NOTES),
    ("read_file", NOTES),
    ("list_directory", FOLDER),
    ("get_file_info", NOTES),
    ("directory_tree", FOLDER),
    ("list_allowed_directories", {}),
    ("read_text_file", {"path": "{folder}/none.txt"}),
)
FILESYSTEM: Final = "@modelcontextprotocol/server-filesystem"
SERVERS: Final = (
    Server("npm", f"{FILESYSTEM}@2025.8.21", "mcp-server-filesystem", ("{folder}",), FILES),
    Server("npm", f"{FILESYSTEM}@2026.8.31", "mcp-server-filesystem", ("{folder}",), FILES),
    Server(
        "npm",
        "@modelcontextprotocol/server-memory@2025.11.25",
        "mcp-server-memory",
        (),
        (
            ("create_entities", {"entities": [{"name": "a", "entityType": "x", "observations": ["b"]}]}),
            ("read_graph", {}),
            ("search_nodes", {"query": "a"}),
            ("open_nodes", {"names": ["a"]}),
        ),
    ),
    Server(
        "npm",
        "@modelcontextprotocol/server-everything",
        "mcp-server-everything",
        (),
        (("echo", {"message": "hello"}), ("get-structured-content", {"location": "New York"})),
    ),
    Server("npm", "@modelcontextprotocol/server-sequential-thinking", "mcp-server-sequential-thinking"),
    Server("npm", "time-mcp", "time-mcp", (), (("days_in_month", {"date": "2026-02-01"}),)),
    Server(
        "npm",
        "n8n-mcp",
        "n8n-mcp",
        (),
        (
            ("tools_documentation", {}),
            ("search_nodes", {"query": "slack"}),
            ("validate_node", {"nodeType": "nodes-base.set", "config": {}}),
            ("validate_node", {"nodeType": "nodes-base.httpRequest", "config": {}, "mode": "minimal"}),
        ),
    ),
    Server(
        "PyPI",
        "mcp-server-time",
        "mcp-server-time",
        (),
        (
            ("get_current_time", {"timezone": "Europe/Berlin"}),
            ("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
        ),
    ),
    Server("PyPI", "mcp-server-git", "mcp-server-git", (), (("git_status", {"repo_path": "{folder}"}),)),
    Server("PyPI", "mcp-server-fetch", "mcp-server-fetch"),
    Server(
        "PyPI",
        "mcp-server-calculator",
        "mcp-server-calculator",
        (),
        (("calculate", {"expression": "6*7"}), ("calculate", {"expression": "1/0"})),
    ),
    Server(
        "PyPI",
        "mcp-server-sqlite",
        "mcp-server-sqlite",
        ("--db-path", "{folder}/data.db"),
        (("list_tables", {}), ("read_query", {"query": "select 1 as n"})),
        ("mcp<2",),  # it says that it takes any, and does not start with 2.x
    ),
)


def main() -> None:
    """Check all, or those whose package names one of the words on the line, and write the page."""
    words = sys.argv[1:]
    chosen = [server for server in SERVERS if not words or any(word in server.package for word in words)]
    rows: list[str] = []
    details: list[str] = []
    for server in chosen:
        sys.stderr.write(f"{server.package}\n")
        row, detail = looked_at(server)
        rows.append(row)
        details.append(detail)
    day = datetime.now(timezone.utc).date().isoformat()
    sdk = subprocess.run(
        [sys.executable, "-c", "import importlib.metadata as m; print('mcp', m.version('mcp'))"],
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout.strip()
    text = HEAD.format(day=day, sdk=sdk) + "\n".join(rows) + "\n\n" + "\n".join(filter(None, details))
    PAGE.write_text(text, encoding="utf-8")


def looked_at(server: Server) -> tuple[str, str]:
    """The row of a server, and a list of what it broke."""
    label = f"{server.package} ({server.origin})"
    try:
        command = installed(server)
    except subprocess.SubprocessError as error:
        return f"| {label} | | | could not be installed: {type(error).__name__} | |", ""
    with tempfile.TemporaryDirectory() as folder:
        report = checked(server, command, Path(folder))
    if report is None:
        return f"| {label} | | | could not be started | |", ""
    calls = [case for case in report["cases"] if case["name"].startswith("call ")]
    broken = [(case["name"], e) for case in calls for e in case["entries"] if e["level"] == "error"]
    findings = Counter(
        f"{entry['code']} ({entry['level']})"
        for case in report["cases"]
        if case not in calls
        for entry in case["entries"]
    )
    found = ", ".join(f"{number} {code}" for code, number in sorted(findings.items())) or "none"
    row = f"| {label} | {report['facts']['tools']} | {len(calls)} | {len({name for name, _ in broken})} | {found} |"
    if not broken:
        return row, ""
    lines = [
        f"* {name}: `{e['code']}`{' at `' + e['pointer'] + '`' if 'pointer' in e else ''}: {e['says']}"
        for name, e in broken
    ]
    return row, f"## {label}\n\n" + "\n".join(lines) + "\n"


def installed(server: Server) -> Path:
    """The server's command, installed once."""
    folder = HOME / server.package.replace("/", "_").replace("@", "_")
    command = folder / ("node_modules/.bin" if server.origin == "npm" else "bin") / server.command
    if not command.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if server.origin == "npm":
            run(
                [
                    "npm",
                    "install",
                    "--prefix",
                    str(folder),
                    "--no-audit",
                    "--no-fund",
                    "--loglevel=error",
                    server.package,
                ]
            )
        else:
            run([sys.executable, "-m", "venv", str(folder)])
            run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", server.package, *server.besides])
    return command


def run(command: Sequence[str]) -> None:
    """Run a command that installs something."""
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)  # noqa: S603  # ours


def checked(server: Server, command: Path, folder: Path) -> dict[str, Any] | None:
    """The report of `mcp-guard check`; `None` where the server does not start."""
    (folder / "notes.txt").write_text("hello\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)  # noqa: S603, S607  # for the server that reads one
    calls = folder / "calls.json"
    written = json.dumps([{"tool": tool, "arguments": arguments} for tool, arguments in server.calls])
    calls.write_text(written.replace("{folder}", str(folder)), encoding="utf-8")
    arguments = [each.replace("{folder}", str(folder)) for each in server.arguments]
    done = subprocess.run(  # noqa: S603  # ours
        [
            *(sys.executable, "-m", "mcp_guard", "check", "--format", "json"),
            *("--call", str(calls), "--", str(command), *arguments),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
        cwd=folder,
        env={**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
    )
    if done.returncode not in {0, 1}:
        sys.stderr.write(done.stderr)
        return None
    report: dict[str, Any] = json.loads(done.stdout)
    return report


if __name__ == "__main__":
    main()
