"""A `Report` as text, JSON, JUnit XML, SARIF or GitHub's workflow commands. All of them are pure text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from xml.etree import ElementTree as ET

from mcp_guard._lint import RULES
from mcp_guard._version import __version__
from mcp_guard.cli.html import as_html
from mcp_guard.cli.report import Entry, Report

_COLOURS: Final = {"error": "31", "warning": "33", "note": "36", "head": "1", "dim": "2"}
# XML 1.0, section 2.2: what is outside of these can't stand in a document, not even escaped
_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SARIF_LEVELS: Final = {"error": "error", "warning": "warning", "note": "note"}
_GITHUB: Final = {"error": "error", "warning": "warning", "note": "notice"}


def as_text(report: Report, *, colours: bool = False) -> str:
    """Lines for a terminal or a log."""

    def paint(colour: str, words: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{words}\x1b[0m" if colours else words

    def lines() -> Iterator[str]:
        for case in report.cases:
            if case.entries:
                yield paint("head", f"- {case.name}")  # a log that takes commands at the start of a line sees none
                for entry in case.entries:
                    at = f" {entry.pointer}" if entry.pointer else ""
                    yield f"  {paint(entry.level, f'{entry.level:7}')} {entry.code}{paint('dim', at)}: {entry.says}"
                    if entry.where:
                        yield f"          {paint('dim', entry.where)}"
        for name, fact in report.facts.items():
            yield f"{name}: {fact}"
        yield f"{report.subject}: {report.summary()}"

    return "\n".join(lines()) + "\n"


def as_json(report: Report) -> str:
    """One JSON object."""
    return (
        json.dumps(
            {
                "mcp_guard": __version__,
                "command": report.command,
                "subject": report.subject,
                "facts": report.facts,
                "counts": report.count(),
                "cases": [{"name": c.name, "entries": [e.to_dict() for e in c.entries]} for c in report.cases],
            },
            indent=2,
        )
        + "\n"
    )


def as_junit(report: Report) -> str:
    """JUnit XML, as CI systems read it: a test case for each thing looked at, a failure for what is no note."""
    failed = [[e for e in case.entries if e.level != "note"] for case in report.cases]
    suite = ET.Element(
        "testsuite",
        name=_xml(f"mcp-guard {report.command} {report.subject}"),
        tests=str(len(report.cases)),
        failures=str(sum(map(bool, failed))),
        errors="0",
        skipped="0",
    )
    for case, entries in zip(report.cases, failed, strict=True):
        element = ET.SubElement(suite, "testcase", classname=f"mcp_guard.{report.command}", name=_xml(case.name))
        if entries:
            failure = ET.SubElement(element, "failure", message=_xml(_sentence(entries[0])), type=entries[0].code)
            failure.text = _xml("\n".join(map(_sentence, entries)))
        if notes := [entry for entry in case.entries if entry.level == "note"]:
            ET.SubElement(element, "system-out").text = _xml("\n".join(map(_sentence, notes)))
    suites = ET.Element("testsuites")
    suites.append(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def as_sarif(report: Report) -> str:
    """SARIF 2.1.0."""
    rules = {entry.code: entry for entry in report.entries}
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "mcp-guard", "version": __version__, "rules": [*map(_rule, rules.values())]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(entry, report, list(rules)) for entry in report.entries],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def as_github(report: Report) -> str:
    """GitHub's workflow commands: each entry becomes an annotation."""
    lines = [
        f"::{_GITHUB[entry.level]} title={_property(f'{entry.tool}: {entry.code}')}::{_data(_sentence(entry))}"
        for entry in report.entries
    ]
    return "\n".join([*lines, _data(f"{report.subject}: {report.summary()}")]) + "\n"


def _sentence(entry: Entry) -> str:
    at = f" {entry.pointer}" if entry.pointer else ""
    where = f" ({entry.where})" if entry.where else ""
    return f"{entry.tool}: {entry.code}{at}: {entry.says}{where}"


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def _rule(entry: Entry) -> dict[str, Any]:
    rule = RULES.get(entry.code)
    if rule is None:
        return {"id": entry.code}
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.what_to_do},
        "defaultConfiguration": {"level": _SARIF_LEVELS[rule.level]},
    }


def _result(entry: Entry, report: Report, codes: list[str]) -> dict[str, Any]:
    file, _, number = entry.where.rpartition(":")
    line = int(number) if number.isdecimal() and int(number) else 1
    return {
        "ruleId": entry.code,
        "ruleIndex": codes.index(entry.code),
        "level": _SARIF_LEVELS[entry.level],
        "message": {"text": _sentence(entry)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(file or report.subject)},
                    "region": {"startLine": line},
                },
                "logicalLocations": [{"name": entry.tool, "fullyQualifiedName": f"{entry.tool}{entry.pointer}"}],
            }
        ],
    }


def _uri(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="/:@?&=+,;~-_.", errors="replace") or "tools"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: Final[dict[str, Callable[[Report], str]]] = {
    "text": as_text,
    "json": as_json,
    "junit": as_junit,
    "sarif": as_sarif,
    "github": as_github,
    "html": as_html,
}
"""Every format by the name that ``--format`` takes."""
