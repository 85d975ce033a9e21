"""The command line, as a process: what it prints, how it ends, and what it leaves behind."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, TypeAlias
from xml.etree import ElementTree as ET

import pytest

from mcp_guard.cli import COMMANDS, main
from mcp_guard.cli.common import STATUSES
from mcp_guard.testing import GET_STOCK

CALL: Final = {"tool": "get_stock", "arguments": {"sku": "A-1"}}
BAD: Final = {**GET_STOCK, "description": "", "outputSchema": {"properties": {"a": {"$ref": "#/gone"}}}}


Run: TypeAlias = Callable[..., "Done"]


def faulty(*words: str) -> list[str]:
    """The end of a line that starts a server with this fault."""
    return ["--", sys.executable, "-m", "mcp_guard.testing", *words]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process: quicker, and the same but for the process itself."""

    def in_process(*words: Any) -> Done:
        try:
            status = main([str(word) for word in words])
        except SystemExit as exit_:  # argparse's
            status = int(exit_.code or 0)
        written = capsys.readouterr()
        return Done(status, written.out, written.err)

    return in_process


def process(*words: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  # our own command
        [sys.executable, "-m", "mcp_guard", *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )


def listing(path: Path, *tools: Any) -> Path:
    path.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    return path


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps(CALL) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def server(tmp_path: Path) -> Callable[..., list[str]]:
    """A server out of a few lines of Python, which are run before it serves `tools` (a list of definitions)."""

    def made(before: str = "", tools: str = "[GET_STOCK]") -> list[str]:
        script = tmp_path / "server.py"
        body = f"""
            import sys, anyio
            from mcp_guard.testing import GET_STOCK, FaultyServer
            {before}
            tools = {tools}
            work = {{tool["name"]: lambda _: {{"sku": "A-1", "quantity": 3}} for tool in tools}}
            anyio.run(FaultyServer(tools=tools, work=work).serve_stdio)
        """
        script.write_text(textwrap.dedent(body), encoding="utf-8")
        return ["--", sys.executable, str(script)]

    return made


def test_without_words_the_help_is_shown_with_every_command_in_it(run: Run) -> None:
    shown = run()
    assert shown.returncode == 0
    assert all(command in shown.stdout for command in COMMANDS)


@pytest.mark.parametrize(
    "words, status, says",
    [
        (["lint", "--format", "yaml", "x"], 2, "invalid choice"),
        (["check"], 2, "name a server"),
        (["check", "http://127.0.0.1:9/mcp", *faulty()], 2, "not both"),
        (["check", "not-a-url"], 3, "is no URL of a server; a command is given after --"),
        (["check", "--header", "nonsense", "http://127.0.0.1:9/mcp"], 2, "NAME:VALUE"),
        (["check", "--header", "Authorization: gar\u00e7on", "http://127.0.0.1:9/mcp"], 2, "NAME:VALUE"),
        (["lint", "ftp://example.org/tools.json"], 3, "is no URL of a server"),
        (["check", "http://127.0.0.1:9/mcp"], 3, "can't be reached"),
        (["check", "--", "no-such-command-anywhere"], 3, "No such file or directory"),
        (["lint", "no-such-file.json"], 4, "No such file or directory"),
        (["lint", "--ignore", "nonsense", *faulty()], 2, "there is no rule 'nonsense'"),
        (["check", "--timeout", "nan", *faulty()], 2, "no number of seconds"),
        (["check", "--call", "no-such-file", *faulty()], 4, "No such file"),
        (["call", "get_stock", "[]", *faulty()], 2, "JSON object"),
        (["replay", "no-such-file"], 4, "No such file"),
        (["explain", "output-missin"], 2, "do you mean output-missing?"),
        (["demo", "nonsense"], 2, "there is no fault 'nonsense'"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else None,
)
def test_what_can_not_be_done_ends_with_its_status_and_one_sentence(
    run: Run, words: Sequence[str], status: int, says: str
) -> None:
    done = run(*words)
    assert done.returncode == status
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_the_end_of_what_a_dead_server_wrote_is_shown_escaped(run: Run) -> None:
    done = run("check", "--", sys.executable, "-c", "import sys; sys.exit('\\x1b[31mno database')")
    assert done.returncode == 3
    assert r"| \x1b[31mno database" in done.stderr


def test_a_server_that_keeps_its_word_is_found_to(run: Run, calls: Path) -> None:
    done = run("check", "--call", calls, *faulty())
    assert done.returncode == 0
    assert "calls: 1" in done.stdout
    assert done.stderr == ""


def test_a_server_that_breaks_it_is_found_to_with_the_place(run: Run, calls: Path) -> None:
    done = run("check", "--call", calls, *faulty("wrong_type"))
    assert done.returncode == 1
    assert "output_violation /sku: must be string" in done.stdout
    assert "1 error" in done.stdout


def test_nothing_is_called_that_was_not_named(run: Run, server: Callable[..., list[str]]) -> None:
    done = run("check", *server())
    assert done.returncode == 0
    assert "calls: 0" in done.stdout
    assert run("check", "--policy", "strict", *faulty("text_only")).returncode == 0


def test_a_strict_check_raises_on_what_enforce_only_notes(run: Run, calls: Path) -> None:
    assert run("check", "--call", calls, *faulty("text_only")).returncode == 0
    assert run("check", "--call", calls, "--policy", "strict", *faulty("text_only")).returncode == 1


def test_calls_may_be_an_array_and_anything_else_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "calls.json"
    path.write_text(json.dumps([CALL, {"tool": "get_stock", "arguments": {}}]), encoding="utf-8")
    done = run("check", "--call", path, *faulty())
    assert "invalid_arguments: must have sku" in done.stdout
    path.write_text('{"tool": 3}', encoding="utf-8")
    refused = run("check", "--call", path, *faulty())
    assert refused.returncode == 4
    assert "call 1 is not of the form" in refused.stderr


def test_a_line_may_hold_what_only_python_takes_for_its_end_and_lines_of_blanks_are_none(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text('\ufeff{"tool": "get_stock", "arguments": {"sku": "A\u2028\x85"}}\n  \n', encoding="utf-8")
    done = run("check", "--call", path, *faulty())
    assert (done.returncode, done.stderr) == (0, "")
    assert "calls: 1" in done.stdout


def test_what_the_linter_finds_fails_from_the_level_that_was_named(run: Run, tmp_path: Path) -> None:
    path = listing(tmp_path / "tools.json", BAD)
    done = run("lint", path)
    assert done.returncode == 1
    assert "output-unusable /outputSchema: dangling_ref" in done.stdout
    ignoring = ["--ignore", "output-unusable", "--ignore", "get_stock:description-missing"]
    assert run("lint", path, *ignoring).returncode == 0
    assert run("lint", path, *ignoring, "--fail-on", "note").returncode == 1


def test_a_listing_can_be_an_array_a_response_or_a_lock_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    for content in ([GET_STOCK], {"jsonrpc": "2.0", "id": 1, "result": {"tools": [GET_STOCK]}}):
        path.write_text(json.dumps(content), encoding="utf-8")
        assert "tools: 1" in run("lint", path).stdout
    assert run("pin", "--lock", tmp_path / "mcp.lock", path).returncode == 0
    assert "tools: 1" in run("lint", tmp_path / "mcp.lock").stdout
    path.write_text("3", encoding="utf-8")
    assert "neither a lock file nor a listing" in run("lint", path).stderr
    path.write_text("[" * 100_000, encoding="utf-8")
    assert "is no JSON" in run("lint", path).stderr


def test_what_is_pinned_is_compared_and_accepted(run: Run, tmp_path: Path) -> None:
    lock = tmp_path / "mcp.lock"
    assert run("pin", "--lock", lock, *faulty()).returncode == 0
    again = run("pin", "--lock", lock, *faulty())
    assert again.returncode == 4
    assert "--force" in again.stderr
    assert run("diff", lock, *faulty()).returncode == 0
    changed = run("diff", lock, *faulty("stale_schema"))
    assert changed.returncode == 1
    assert "as_of" in changed.stdout
    assert run("check", "--lock", lock, "--fail-on", "note", *faulty("stale_schema")).returncode == 1
    assert run("diff", lock, "--accept", *faulty("stale_schema")).returncode == 0
    assert run("diff", lock, *faulty("stale_schema")).returncode == 0


def test_a_call_prints_the_validated_data_or_the_error_with_values_only_where_asked_for(run: Run) -> None:
    arguments = json.dumps(CALL["arguments"])
    assert json.loads(run("call", "get_stock", arguments, *faulty()).stdout) == {"sku": "A-1", "quantity": 3}
    failed = run("call", "get_stock", arguments, *faulty("injection_in_value"))
    assert failed.returncode == 1
    assert "output_violation" in failed.stderr
    assert "Ignore all previous" not in failed.stderr
    assert (
        "Ignore all previous" in run("call", "get_stock", arguments, "--values", *faulty("injection_in_value")).stderr
    )


def test_recordings_are_judged_again(run: Run, tmp_path: Path) -> None:
    def line(value: Any) -> str:
        return json.dumps({"tool": GET_STOCK, "arguments": {}, "result": {"content": [], "structuredContent": value}})

    good, path = {"sku": "A-1", "quantity": 3}, tmp_path / "calls.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([line(good), line({**good, "quantity": "3"}), "{"]).encode()))
    done = run("replay", path)
    assert done.returncode == 1
    assert "violation-type /quantity: 1 results do not satisfy type" in done.stdout
    assert f"{path}:2" in done.stdout
    assert f"{path}:3" in done.stdout
    assert "results: 2" in done.stdout
    newer = listing(tmp_path / "new.json", {**GET_STOCK, "outputSchema": {"type": "object"}})
    graded = run("replay", "--contracts", newer, path)
    assert graded.returncode == 0
    assert "output-vacuous" in graded.stdout


def test_every_code_is_explained(run: Run) -> None:
    shown = run("explain").stdout
    for code in ["output-vacuous", "timeout", "invalid_arguments", *map(str, STATUSES)]:
        assert code in shown
    assert "What to do:" in run("explain", "output-vacuous").stdout


def test_the_demo_shows_both_sides(run: Run) -> None:
    done = run("demo", "page_two", "silent_after_work")
    assert done.returncode == 0
    assert "plain:   a result: {'quantity': 3}" in done.stdout
    assert "guarded: OutputValidationError" in done.stdout
    assert "waits for ever" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_there_is_a_completion_script(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert "mcp-guard" in done.stdout


def test_json_is_one_object(run: Run, tmp_path: Path) -> None:
    report = json.loads(run("lint", "--format", "json", listing(tmp_path / "t.json", BAD)).stdout)
    assert report["counts"]["error"] == 1
    entry = {e["code"]: e for case in report["cases"] for e in case["entries"]}["output-unusable"]
    assert entry["pointer"] == "/outputSchema"
    assert entry["level"] == "error"


TAGS: Final = frozenset(
    {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "strong", "dl", "dt", "dd", "article"),
        *("code", "details", "summary", "pre", "mark", "footer"),
    }
)
# a name with what each format would have to escape, and what XML can't hold at all
ODD: Final = "<b>&\"'%0A::error::\x00\x1b[31m\u202e\ufffe\U0001f600]]>"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    return listing(tmp_path / "odd.json", {**BAD, "name": ODD, "inputSchema": {"properties": {ODD: True}}})


def test_junit_is_xml_with_a_failure_for_each_tool_that_fails(run: Run, odd: Path, tmp_path: Path) -> None:
    output = tmp_path / "junit.xml"
    assert run("lint", "--format", "junit", "-o", output, odd).returncode == 1
    suite = ET.parse(output).getroot().find("testsuite")  # noqa: S314  # our own
    assert suite is not None
    assert suite.get("failures") == "1"
    assert len(suite.findall("testcase/failure")) == 1


def test_sarif_is_valid(run: Run, odd: Path) -> None:
    model: Any = pytest.importorskip("pydantic_sarif.model")  # it has no types

    written = run("lint", "--format", "sarif", odd).stdout
    (a_run,) = model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(written).runs
    assert a_run.results
    assert {result.ruleId for result in a_run.results} >= {"output-unusable", "name-characters"}


def test_github_s_commands_are_one_line_each_and_can_not_be_forged(run: Run, odd: Path) -> None:
    lines = run("lint", "--format", "github", odd).stdout.splitlines()
    assert all(line.startswith(("::error title=", "::warning title=", "::notice title=")) for line in lines[:-1])
    assert not any("%0A::error::" in line for line in lines)


def test_html_has_no_script_and_nothing_of_the_server_s_that_is_not_escaped(run: Run, odd: Path) -> None:
    written = run("lint", "--format", "html", odd).stdout
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            tags.extend([tag, *(name for name, _ in attrs if name.startswith("on"))])

    Tags().feed(written)
    assert set(tags) <= TAGS
    assert "<mark>" in written
    assert "\x1b" not in written
    assert "\u202e" not in written


def test_no_format_writes_what_would_move_a_terminal(run: Run, odd: Path) -> None:
    for format_ in ("text", "json", "junit", "sarif", "github", "html"):
        written = run("lint", "--format", format_, odd).stdout
        assert written
        assert all(c.isprintable() or c == "\n" for c in written), format_


def test_a_report_can_be_written_where_the_encoding_holds_ascii_alone(odd: Path) -> None:
    done = process("lint", odd, PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert r"\U0001f600" in done.stdout


def test_a_file_that_can_not_be_written_is_said(run: Run, odd: Path, tmp_path: Path) -> None:
    done = run("lint", "-o", tmp_path / "no" / "such" / "folder", odd)
    assert done.returncode == 4
    assert "No such file or directory" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_an_output_that_can_not_be_written_to_is_no_finding(odd: Path) -> None:
    command = [sys.executable, "-m", "mcp_guard", "lint", str(odd)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603  # ours
    assert (done.returncode, done.stderr) == (4, "mcp-guard: standard output: No space left on device\n")


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "ftp://me:SECRET@example.org/mcp?key=SECRET#SECRET"],
        ["lint", "http://me:SECRET@127.0.0.1:9/mcp?key=SECRET#SECRET"],
        ["lint", "http://me:SEC?RET@127.0.0.1:9/mcp"],
        ["lint", "http://me:SEC/RET@127.0.0.1:9/mcp"],
        ["lint", "http://127.0.0.1:9/mcp", "--header", "Authorization Bearer SECRET"],
        ["lint", "--", "no-such-command-anywhere", "--key", "SECRET"],
    ],
    ids=lambda words: words[1],
)
def test_what_may_be_secret_in_a_url_a_header_or_a_command_is_not_shown(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert done.returncode in {2, 3}
    assert done.stderr
    assert not any(word in done.stdout + done.stderr for word in ("SEC", "RET"))


@pytest.mark.parametrize("method, says", [("initialize", "can't be reached"), ("tools/list", "can't be listed")])
def test_a_server_that_never_answers_is_left_after_the_time_and_ended(
    run: Run, tmp_path: Path, method: str, says: str
) -> None:
    script, pid = tmp_path / "server.py", tmp_path / "pid"
    body = f"""
        import os, anyio
        from mcp_guard.testing.raw import NOTHING, RawServer
        from mcp_guard.testing.server import FaultyServer

        open({str(pid)!r}, "w").write(str(os.getpid()))
        server = FaultyServer()
        peer = server._peer()
        peer.on = {{**peer.on, {method!r}: NOTHING}}
        server._peer = lambda: peer
        anyio.run(server.serve_stdio)
    """
    script.write_text(textwrap.dedent(body), encoding="utf-8")
    done = run("lint", "--timeout", "3", "--", sys.executable, script)
    assert done.returncode == 3
    assert says in done.stderr
    assert "no answer came in time (3 s" in done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize("content", ["[1, null]", '{"tools": ["a"]}'])
def test_a_file_without_a_tool_in_it_is_no_listing(run: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "tools.json").write_text(content, encoding="utf-8")
    done = run("lint", tmp_path / "tools.json")
    assert done.returncode == 4
    assert "neither a lock file nor a listing" in done.stderr


def test_a_listing_that_was_left_before_its_end_is_pinned_with_a_warning(run: Run, tmp_path: Path) -> None:
    done = run("pin", "--lock", tmp_path / "mcp.lock", *faulty("cursor_loop"))
    assert done.returncode == 0
    assert "the listing was left before its end" in done.stderr


@pytest.mark.parametrize("name, content", [("calls.jsonl", bytes(range(256))), ("calls.jsonl.gz", b"no gzip")])
def test_a_file_that_is_no_recording_is_not_found_to_be_good(
    run: Run, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    done = run("replay", tmp_path / name)
    assert done.returncode == 4
    assert name in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no file can have such a name there")
@pytest.mark.parametrize("form", ["text", "html", "junit", "github"])
def test_the_name_of_a_recording_moves_no_terminal(run: Run, tmp_path: Path, form: str) -> None:
    path = tmp_path / "\x1b[2Jcalls.jsonl"
    good = {"tool": GET_STOCK, "arguments": {}, "result": {"content": [], "structuredContent": {"sku": 1}}}
    path.write_text(json.dumps(good) + "\nnothing\n", encoding="utf-8")
    done = run("replay", "--format", form, path)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout + done.stderr


def test_noise_before_the_answers_does_no_harm(run: Run, server: Callable[..., list[str]], calls: Path) -> None:
    noise = "print('starting up ...', flush=True); print('debug', file=sys.stderr)"
    done = run("check", "--call", calls, *server(noise))
    assert done.returncode == 0
    assert "starting" not in done.stdout + done.stderr
    assert "debug" not in done.stdout + done.stderr


def test_thousands_of_tools_are_listed_and_linted(run: Run, server: Callable[..., list[str]]) -> None:
    done = run("check", *server(tools="[{**GET_STOCK, 'name': f'tool_{n}'} for n in range(3_000)]"))
    assert "tools: 3000" in done.stdout
    assert "tools-many" in done.stdout


def test_a_reader_that_closes_the_pipe_gets_no_traceback(odd: Path) -> None:
    command = [sys.executable, "-m", "mcp_guard", "lint", str(odd)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603  # our own
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize("no_color, coloured", [("", True), ("1", False)])
def test_colours_and_a_moving_line_are_for_a_terminal_alone(
    odd: Path, calls: Path, no_color: str, *, coloured: bool
) -> None:
    import pty

    def on_terminal(*words: Any) -> str:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(  # noqa: S603  # our own
            [sys.executable, "-m", "mcp_guard", *map(str, words)],
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "NO_COLOR": no_color, "TERM": "xterm"},
        )
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
            while some := os.read(ours, 4096):
                said += some
        os.close(ours)
        process.wait()
        return said.decode()

    assert ("\x1b[31m" in on_terminal("lint", odd)) is coloured
    assert ("\r\x1b[Kcalls: 1 of 1" in on_terminal("check", "--call", calls, *faulty())) is coloured


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM], ids=lambda asked: asked.name)
def test_being_asked_to_end_ends_the_server_too(
    server: Callable[..., list[str]], tmp_path: Path, calls: Path, asked: signal.Signals
) -> None:
    pid = tmp_path / "pid"
    words = server(f"import os; open({str(pid)!r}, 'w').write(str(os.getpid())); GET_STOCK['name'] = 'silent'")
    script = Path(words[-1])
    script.write_text(script.read_text().replace("FaultyServer(", "FaultyServer('silent', "), encoding="utf-8")
    calls.write_text('{"tool": "silent", "arguments": {"sku": "A-1"}}', encoding="utf-8")
    command = [sys.executable, "-m", "mcp_guard", "check", "--call", str(calls), *words]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen(command, **pipes) as process:  # noqa: S603  # our own
        while not pid.exists() or not pid.read_text():
            time.sleep(0.05)
        time.sleep(1)  # it is in the call by now, or still before it: either has to end
        process.send_signal(asked)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in str(said)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
