"""Does the official conformance suite see a difference between the SDK alone and the SDK under guard?

`make conformance` runs every client scenario but those of OAuth, for each version of the suite, on both majors of the
SDK, three times: plain, with `guard`, with `connect`. It writes docs/conformance.md, and ends with 1 where a guarded
run differs from the plain one in any check. Suite and Node come from npm, into .conformance/.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import datetime as dt
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PLACE: Final = ROOT / ".conformance"
PAGE: Final = ROOT / "docs" / "conformance.md"

SUITES: Final = ["0.2.0-alpha.12", "0.1.16"]
SDKS: Final = ["mcp2", "mcp1"]
WAYS: Final = ["plain", "guard", "connect"]
VERSIONS: Final = ["2025-06-18", "2025-11-25", "2026-07-28"]
AT_ONCE: Final = 4
PATIENCE: Final = 180

HEAD: Final = """\
# Conformance

The [official conformance suite]({url}) plays the server, and looks at
what a client sends. This page is made by `make conformance`, and answers one question: does the suite see a difference
between the SDK alone (plain) and the same SDK with `guard` or `connect`?

{answer}

Run on {date} with mcp_guard {guard}, {sdks}, Python {python} and Node {node}.
Every client scenario is run but those of OAuth (`auth/...`). One that holds for several protocol versions is run for
each of them, where the suite can be told which (0.1.16 can't). The program under test is
[conformance/client.py](../conformance/client.py); plain, `guard` and `connect` differ in how the session is opened, and
in nothing else.

Two things the table does not show:

* The policy is `ENFORCE`, with one exception. In `http-custom-headers` the suite has the tool
  `test_custom_headers_null` called with arguments that do not fit its inputSchema (`null` for a boolean). By default a
  guard does not send such a call, and the suite's check of the header is then not made. So for this one tool
  `arguments` is set to "report".
* In `sep-2322-client-request-state` the last answer has no `resultType`. The SDK raises a `ValidationError` for it,
  and so does `guard`, which gets its results from the SDK; `connect` takes it as complete. The suite looks only at
  whether the call is repeated, so the program goes on after an error there.

*ok 5*: all 5 checks were passed. *2 of 5*: 2 were passed, and the program did what it could. *none*: there was nothing
to check, as the client has not got the feature. *exit*: the program itself ended with an error. A guarded run counts as
different as soon as one single check comes out otherwise, or is not the same check.
"""


@dataclass(frozen=True)
class Run:
    """One scenario, once."""

    suite: str
    scenario: str
    version: str
    sdk: str
    way: str


@dataclass(frozen=True)
class Outcome:
    """What the suite said: each check's id, name and status, and whether it counted the whole as passed."""

    passed: bool
    exited: bool
    checks: frozenset[tuple[str, str, str]]

    def __str__(self) -> str:
        """A cell of the table."""
        counted = [status for _, _, status in self.checks if status != "SKIPPED"]
        good = counted.count("SUCCESS")
        text = "none" if not counted else f"ok {good}" if good == len(counted) else f"{good} of {len(counted)}"
        return f"{text}, exit" if self.exited else text


def output(*command: str | Path) -> str:
    """What a command prints."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip()


def place(suite: str) -> Path:
    """Where a version of the suite is installed."""
    return PLACE / suite / "node_modules"


def node() -> Path:
    """The Node that npm has as a package."""
    return place(SUITES[0]) / node_package() / "bin" / "node"


def node_package() -> str:
    """The npm package with Node for this machine."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"node-{platform.system().lower()}-{machine}"


def program(suite: str) -> Path:
    """The suite's command."""
    return place(suite) / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


def install() -> None:
    """Get what is not there yet."""
    npm = shutil.which("npm")
    for suite in SUITES:
        wanted = [f"@modelcontextprotocol/conformance@{suite}"]
        there = program(suite).exists()
        if suite == SUITES[0]:
            wanted.append(f"{node_package()}@22")
            there = there and node().exists()
        if there:
            continue
        if npm is None:
            sys.exit("the conformance suite is installed by npm, and there is none")
        (PLACE / suite).mkdir(parents=True, exist_ok=True)
        output(npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", PLACE / suite, *wanted)


def scenarios(suite: str) -> Iterator[tuple[str, str]]:
    """Each scenario with each protocol version it is to be run for; none where the suite is not told."""
    for line in output(node(), program(suite), "list", "--client").splitlines():
        found = re.fullmatch(r"\s+- (\S+) \[(.*)\]", line)
        if found is None or found[1].startswith("auth/"):
            continue
        told = [version for version in found[2].split(",") if version in VERSIONS]
        if suite.startswith("0.1.") or not told:
            yield found[1], ""
        else:
            yield from ((found[1], version) for version in told)


def played(run: Run) -> Outcome:
    """Let the suite play one scenario."""
    client = f".venv-{run.sdk}/bin/python conformance/client.py {run.way}"
    with tempfile.TemporaryDirectory() as folder:
        command = [node(), program(run.suite), "client", "--command", client, "--scenario", run.scenario, "-o", folder]
        if run.version:
            command += ["--spec-version", run.version]
        done = subprocess.run(  # noqa: S603
            [str(part) for part in command], cwd=ROOT, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
        found = list(Path(folder).rglob("checks.json"))
        if len(found) != 1:
            raise RuntimeError(f"{run}: the suite left no result\n{done.stdout}{done.stderr}")
        checks = json.loads(found[0].read_text(encoding="utf-8"))
    exited = "Client exited with code" in done.stderr or "Client timed out" in done.stderr
    told = frozenset((check["id"], check["name"], check["status"]) for check in checks if check["status"] != "INFO")
    return Outcome(done.returncode == 0, exited, told)


def table(suite: str, rows: Sequence[tuple[str, str]], outcomes: dict[Run, Outcome]) -> Iterator[str]:
    """One version of the suite."""
    names = [f"{version_of(sdk, 'mcp')} {way}" for sdk, way in product(SDKS, WAYS)]
    yield f"## Suite {suite}\n"
    yield f"| scenario | protocol | {' | '.join(names)} | same |"
    yield f"| --- | --- |{' --- |' * len(names)} --- |"
    for scenario, version in rows:
        runs = [Run(suite, scenario, version, sdk, way) for sdk, way in product(SDKS, WAYS)]
        cells = " | ".join(str(outcomes[run]) for run in runs)
        same = "**no**" if any(differs(run, outcomes) for run in runs) else "yes"
        yield f"| {scenario} | {version or '-'} | {cells} | {same} |"
    yield ""


def differs(run: Run, outcomes: dict[Run, Outcome]) -> bool:
    """Whether a run is not like the plain one."""
    return outcomes[run] != outcomes[Run(run.suite, run.scenario, run.version, run.sdk, "plain")]


def differences(outcomes: dict[Run, Outcome]) -> Iterator[str]:
    """Each guarded run that is not like the plain one, with the checks that are not."""
    for run, outcome in outcomes.items():
        plain = outcomes[Run(run.suite, run.scenario, run.version, run.sdk, "plain")]
        if outcome != plain:
            lost = ", ".join(f"{name} {status}" for _, name, status in sorted(plain.checks - outcome.checks))
            new = ", ".join(f"{name} {status}" for _, name, status in sorted(outcome.checks - plain.checks))
            where = f"{run.suite}, {run.scenario} {run.version}, {run.sdk}, {run.way}"
            yield f"* {where}: plain has {lost or 'nothing more'}; guarded has {new or 'nothing more'}"


def failures(outcomes: dict[Run, Outcome]) -> Iterator[str]:
    """What the SDK alone does not pass."""
    for run, outcome in outcomes.items():
        if run.way == "plain" and not outcome.passed:
            bad = sorted({check for check, _, status in outcome.checks if status in {"FAILURE", "WARNING"}})
            what = ", ".join(f"`{check}`" for check in bad) or "no check, but the program ended with an error"
            yield f"* mcp {version_of(run.sdk, 'mcp')}, {run.scenario} {run.version} (suite {run.suite}): {what}"


def version_of(sdk: str, package: str) -> str:
    """The version that is installed beside an SDK."""
    script = f"import importlib.metadata as m; print(m.version({package!r}))"
    return output(ROOT / f".venv-{sdk}" / "bin" / "python", "-c", script)


def page(rows: dict[str, list[tuple[str, str]]], outcomes: dict[Run, Outcome]) -> str:
    """The whole page."""
    different = list(differences(outcomes))
    guarded = sum(run.way != "plain" for run in outcomes)
    answer = (
        f"**{len(different)} of {guarded} guarded runs differ from the plain one:**\n\n" + "\n".join(different)
        if different
        else f"**No: all {guarded} guarded runs end like the plain one, check by check; see the two notes below.**"
    )
    head = HEAD.format(
        url="https://github.com/modelcontextprotocol/conformance",
        answer=answer,
        date=dt.datetime.now(dt.timezone.utc).date(),
        guard=version_of(SDKS[0], "mcp-result-guard"),
        sdks=" and ".join(f"mcp {version_of(sdk, 'mcp')}" for sdk in SDKS),
        python=platform.python_version(),
        node=output(node(), "--version").removeprefix("v"),
    )
    tables = "\n".join(line for suite in SUITES for line in table(suite, rows[suite], outcomes))
    plain = "\n".join(failures(outcomes)) or "Nothing."
    return f"{head}\n{tables}\n## What the SDK alone does not pass\n\n{plain}\n"


def main() -> int:
    """Run all, write the page, and say whether there is a difference."""
    install()
    rows = {suite: list(scenarios(suite)) for suite in SUITES}
    runs = [Run(suite, *row, sdk, way) for suite in SUITES for row in rows[suite] for sdk in SDKS for way in WAYS]
    sys.stdout.write(f"{len(runs)} runs\n")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = dict(zip(runs, pool.map(played, runs), strict=True))
    PAGE.write_text(page(rows, outcomes), encoding="utf-8")
    different = list(differences(outcomes))
    sys.stdout.write("\n".join([*different, f"{len(different)} differences; see docs/{PAGE.name}", ""]))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
