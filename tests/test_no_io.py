"""Whatever a schema refers to, contracts and checks open no file and no connection: watched by an audit hook.

A hook can't be taken away again, so all this runs in a Python of its own: this very file. What an import opens is the
import's; audit hooks don't see what an extension module does by itself, so the addresses in the schemas are those of a
socket that nobody may connect to and of a pipe that blocks whoever opens it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_guard import ENFORCE, STRICT, Contract, Contracts, GuardError, Verdict, check, connect, guard
from mcp_guard._verdict import as_error
from support import SDK_MAJOR, SESSIONS, RawServer, raw_transport
from support.calls import data, said

HERE: Final = Path(__file__).parent
WATCHED: Final = (
    *("open", "socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "pty."),
    *("http.", "urllib.", "ftplib.", "smtplib.", "os.listdir", "os.scandir", "shutil.", "tempfile.", "ctypes.dlopen"),
)
"""What the audit events of reading, writing and connecting begin with."""


def hostile(address: str, pipe: str) -> Iterator[Any]:
    """Schemas that lead elsewhere, or seem to."""
    main = (f"http://{address}/x", f"file://{pipe}", "x.json")
    others = [
        *(f"{scheme}://{address}/x" for scheme in ("https", "ftp", "ws", "HTTP", "jar:file")),
        *(f"file:{pipe}", pipe, f"//{address}/x", f"\\\\{address}\\x", "data:application/json,{}", "../x.json", "?x"),
        *(f"http://user:word@{address}/x", "urn:uuid:1", "%2e%2e/x"),
    ]
    for place in (*main, *others):
        yield {"properties": {"a": {"$ref": place}}}
        yield {"$id": place, "properties": {"a": {"$ref": "y.json"}}}
    for place in main:
        ref = {"$ref": place}
        yield {"properties": {"a": {"$ref": f"{place}#/$defs/x"}}}
        yield {"$schema": place, "type": "object"}
        yield {"$id": place, "$defs": {"a": {"$id": "z", "type": "integer"}}, "properties": {"a": {"$ref": "z"}}}
        yield {"$dynamicRef": place}
        yield {"$schema": DIALECTS[1], "$recursiveRef": place}
        yield {"$schema": DIALECTS[0], "id": place, "properties": {"a": ref}}
        yield {"type": "object", "properties": {"a": {"enum": [ref], "default": ref}}, "examples": [ref]}
        yield {"const": ref, "x-other": ref, "x-some": [ref]}
        yield {"properties": {"$ref": {"const": place}, "$schema": {"const": place}}}
        yield {"allOf": [{"contentSchema": ref, "contentMediaType": "application/json"}]}
        yield {"properties": {"a": {"format": "uri", "pattern": place}}}
        yield {"$vocabulary": {place: True}, "type": "object"}
    for dialect in DIALECTS:
        yield {"$schema": dialect, "properties": {"a": {"$ref": dialect}}}
        yield {"properties": {"a": {"$ref": dialect}}}
    yield {"properties": {"a": {"$ref": "https://json-schema.org/draft/2020-12/meta/validation"}}}


DIALECTS: Final = [
    "http://json-schema.org/draft-04/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema#",
]


def corpus(address: str, pipe: str) -> Iterator[tuple[dict[str, Any], Any, str | None]]:
    """Tools, results of theirs, and the protocol that was spoken."""
    for case in json.loads((HERE / "data" / "results.json").read_text("utf-8")):
        output = {} if case["schema"] in ("absent", "unlisted") else {"outputSchema": case["schema"]}
        yield {"name": "t", "inputSchema": {}, **output}, case["result"], case.get("protocol")
    for path in sorted((HERE / "data" / "recordings").glob("*.jsonl")):
        for call in map(json.loads, path.read_text("utf-8").splitlines()):
            yield call["tool"], call.get("result"), call["protocol"]
    for schema in hostile(address, pipe):
        for result in (data({"a": "x"}), data({"$ref": 1}), said('{"a": 1}')):
            yield {"name": "t", "inputSchema": schema, "outputSchema": schema}, result, None


def every_word(verdict: Verdict, contract: Contract) -> None:
    """All that is made of a verdict."""
    words: list[Any] = [repr(verdict), repr(contract), repr(contract.unusable), contract.fingerprint, contract.dialect]
    if (error := as_error(verdict)) is not None:
        words += [str(error), error.to_dict(), error.for_model(), error.explain(), error.explain(values=True)]


@contextmanager
def watching(seen: list[str]) -> Generator[None]:
    """While this is open, what is opened is noted."""
    SEEN.append(seen)
    try:
        yield
    finally:
        SEEN.remove(seen)


SEEN: Final[list[list[str]]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if SEEN and event.startswith(WATCHED) and not _is_import():
        SEEN[-1].append(f"{event} {arguments!r}"[:300])


def _is_import() -> bool:
    frame: Any = sys._getframe(2)  # noqa: SLF001  # who it is that opens something
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def checked(cases: list[Any]) -> list[str]:
    """Make all contracts and check all results; what was opened meanwhile."""
    seen: list[str] = []
    with watching(seen):
        for tool, result, protocol in cases:
            contract = Contract.from_tool(tool)
            for policy in (ENFORCE, STRICT):
                every_word(check(result, contract, protocol=protocol, policy=policy), contract)
            contracts, others = Contracts(), Contracts()
            contracts.learn([contract])
            others.learn([Contract.from_tool({**tool, "inputSchema": {}, "outputSchema": {}})])
            repr([contracts.diff(others), contract.input])
    return seen


async def called(door: Any, schemas: list[Any], *, modern: bool) -> list[str]:
    """Call tools of all schemas through a real session; what was opened meanwhile."""
    seen: list[str] = []
    tools: list[dict[str, Any]] = [
        {"name": f"t{index}", "inputSchema": {**each, "type": "object"}, "outputSchema": {"type": "object", **each}}
        for index, each in enumerate(schemas)
        if isinstance(each.get("$schema", ""), str)
    ]
    server: dict[str, Any] = {
        "tools": tools,
        "results": {each["name"]: data({"a": "x"}) for each in tools},
        "modern": modern,
    }
    if door is connect:
        mode = {"mode": "auto" if modern else "legacy"} if SDK_MAJOR == 2 else None
        opening: Any = connect(raw_transport(RawServer(**server)), client_options=mode)
    else:
        opening = door(**server)
    async with opening as opened:
        with watching(seen):
            session = opened if door is connect else guard(opened[0])
            for each in tools:
                with suppress(GuardError):
                    await session.call(each["name"], {"a": 1})
    return seen


def main(address: str, pipe: str) -> None:
    """Run all, and tell what was opened."""
    sys.addaudithook(_hook)
    told: list[Any] = []
    probe: list[str] = []
    with watching(probe):
        socket.socket().close()
        with suppress(OSError):
            Path(pipe).parent.joinpath("none").open()
    told += [len(probe), checked([*corpus(address, pipe)])]
    schemas = [*hostile(address, pipe)]
    doors = [(door, modern) for door in (*SESSIONS, connect) for modern in (False, True)[:SDK_MAJOR]]
    told += [asyncio.run(called(door, schemas, modern=modern)) for door, modern in doors]
    sys.stdout.write(json.dumps(told))


def test_nothing_that_a_server_publishes_makes_a_file_or_a_connection_be_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        nobody.listen()
        nobody.settimeout(0)
        address = "{}:{}".format(*nobody.getsockname())
        done = subprocess.run(  # noqa: S603  # ours
            [sys.executable, "-W", "error", __file__, address, str(pipe)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        with pytest.raises(BlockingIOError):
            nobody.accept()
    probe, *told = json.loads(done.stdout)
    assert probe >= 2, "the hook sees nothing"
    assert len(told) == 1 + SDK_MAJOR * (len(SESSIONS) + 1)
    assert not [each for opened in told for each in opened]


if __name__ == "__main__":
    main(*sys.argv[1:])
