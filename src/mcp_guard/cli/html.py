"""A `Report` as one HTML file without scripts: what was found, and the schema beside it with the place marked."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from html import escape
from typing import Any, Final

from mcp_guard._facts import is_array, is_object
from mcp_guard._version import __version__
from mcp_guard.cli.report import Entry, Report

_LONGEST: Final = 20_000
"""Characters of a definition that are shown."""
_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --error: #c0392b; --warning: #b9770e; --note: #2471a3; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; border-top: 1px solid var(--line); padding-top: 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dd { margin: 0; }
article { border-left: .3rem solid var(--note); padding: .1rem .8rem; margin: 1rem 0; }
article.error { border-color: var(--error); } article.warning { border-color: var(--warning); }
p { margin: .3rem 0; } code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { overflow-x: auto; border: 1px solid var(--line); padding: .6rem; max-height: 24rem; }
mark { background: #f6c34366; color: inherit; } .ok::before { content: "\\2713 "; color: #1e8449; }
summary { cursor: pointer; } footer { margin-top: 2rem; opacity: .7; }
"""


def as_html(report: Report) -> str:
    """The whole page."""
    title = escape(f"mcp-guard {report.command}: {report.subject}")
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head><body>"
    )
    return head + "\n".join(_body(report, title)) + "</body></html>\n"


def _body(report: Report, title: str) -> Iterator[str]:
    yield f"<h1>{title}</h1>"
    yield f"<p><strong>{escape(report.summary())}</strong></p>"
    if report.facts:
        facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in report.facts.items())
        yield f"<dl>{facts}</dl>"
    yield report.figures
    for case in report.cases:
        if not case.entries:
            yield f'<p class="ok">{escape(case.name)}</p>'
            continue
        yield f"<h2>{escape(case.name)}</h2>"
        for entry in case.entries:
            yield from _entry(entry)
    yield f"<footer>mcp_guard {escape(__version__)}</footer>"


def _entry(entry: Entry) -> Iterator[str]:
    yield f'<article class="{entry.level}"><p><strong>{entry.level}</strong> <code>{escape(entry.code)}</code></p>'
    yield f"<p>{escape(entry.says)}</p>"
    if entry.pointer:
        yield f"<p>at <code>{escape(entry.pointer)}</code></p>"
    if entry.where:
        yield f"<p>in <code>{escape(entry.where)}</code></p>"
    if entry.what_to_do:
        yield f"<p>{escape(entry.what_to_do)}</p>"
    if entry.definition is not None:
        shown = _marked(entry.definition, entry.place)
        yield f"<details><summary>the definition</summary><pre>{shown}</pre></details>"
    yield "</article>"


def _marked(definition: Any, pointer: str) -> str:
    """A definition as indented JSON, escaped, in which the place that a pointer leads to is marked."""
    begin, end = secrets.token_hex(16), secrets.token_hex(16)  # what no server can have written
    written = json.dumps(_with(definition, pointer, begin, end), indent=2)
    before, mark, rest = written.partition(f'"{begin}')
    inside, _, after = rest.partition(f'{end}"')
    if not mark:
        return escape(_cut(written))
    marked = json.dumps(json.loads(json.loads(f'"{inside}"')), indent=2)
    indent = before.rpartition("\n")[2]
    margin = " " * (len(indent) - len(indent.lstrip()))
    marked = marked.replace("\n", "\n" + margin)
    return f"{escape(before[-_LONGEST:])}<mark>{escape(_cut(marked))}</mark>{escape(_cut(after))}"


def _with(value: Any, pointer: str, begin: str, end: str) -> Any:
    """A copy in which the place of a pointer is a string: its JSON between two marks."""
    tokens = [t.replace("~1", "/").replace("~0", "~") for t in pointer.split("/")[1:]]
    root: dict[str, Any] = {"": value}
    place: Any = root
    key: Any = ""
    for token in tokens:
        inner: Any = place[key]
        if is_object(inner) and token in inner:
            place[key] = inner = dict(inner)
            place, key = inner, token
        elif is_array(inner) and token.isdecimal() and int(token) < len(inner):
            place[key] = inner = list(inner)
            place, key = inner, int(token)
        else:
            return value
    if tokens:
        place[key] = f"{begin}{json.dumps(place[key])}{end}"
    return root[""]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "\n…"
