"""What a `Summary` looks like: breaks by day, tool and contract, as HTML and SVG without script and network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_guard.testing.sketch import Sketch
    from mcp_guard.testing.summary import Summary, Tool

_TOOLS: Final = 40
_DAYS: Final = 62
_HEIGHT: Final = 120
_BAR: Final = 14
_WHOLE: Final = 10
"""From here on a number is shown without a fraction."""
_STYLE: Final = """
.plot { overflow-x: auto; } .plot table { border-collapse: collapse; font-size: .85rem; }
.plot th { font-weight: normal; text-align: right; padding: .1rem .5rem; white-space: nowrap; }
.plot td { text-align: right; padding: .1rem .4rem; border: 1px solid var(--line); }
.plot thead th { writing-mode: vertical-rl; text-align: left; padding: .3rem .1rem; }
.plot svg { display: block; } .plot .all { fill: #8886; } .plot .broken { fill: var(--error); }
"""
_Counts = dict[tuple[str, str], tuple[int, int]]


def figures(summary: Summary) -> str:
    """The plots, in the order in which one asks: when, which tool and when, under which contract, how large, how slow.

    Of very many days the last 62 are shown, of very many tools the 40 with the most breaks.
    """
    by_day: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    by_tool: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    cells: _Counts = defaultdict(lambda: (0, 0))
    versions: _Counts = defaultdict(lambda: (0, 0))
    for group, number in summary.results.items():
        tool = name_of(group.server, group.tool)
        broken = number if group.error else 0
        for counts, key in ((by_day, group.day), (by_tool, tool)):
            counts[key] = counts[key][0] + number, counts[key][1] + broken
        for pairs, pair in ((cells, (tool, group.day)), (versions, (tool, group.fingerprint))):
            pairs[pair] = pairs[pair][0] + number, pairs[pair][1] + broken
    days = sorted(by_day)[-_DAYS:]
    tools = sorted(by_tool, key=lambda tool: (-by_tool[tool][1], tool))[:_TOOLS]
    return "".join(
        [
            f"<style>{_STYLE}</style>",
            *_bars("Results by day, and how many of them broke", {day: by_day[day] for day in days}),
            *_table("Breaks by tool and day", cells, tools, days),
            *_versions(versions, tools),
            *_amounts("Characters in a result", summary.sizes, tools),
            *_amounts("Milliseconds of a call", summary.times, tools),
        ]
    )


def name_of(server: str, tool: str) -> str:
    """A tool as it is called where there are several servers."""
    return f"{server}: {tool}" if server else tool


def _bars(title: str, counts: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    most = max((number for number, _ in counts.values()), default=0)
    if not most:
        return
    width = len(counts) * (_BAR + 4)
    yield f'<h2>{title}</h2><div class="plot"><svg role="img" width="{width}" height="{_HEIGHT}">'
    for index, (day, (number, broken)) in enumerate(counts.items()):
        yield f"<g><title>{escape(_day(day))}: {broken:,} of {number:,}</title>"
        for kind, value in (("all", number), ("broken", broken)):
            height = max(1, round(value / most * _HEIGHT)) if value else 0
            at = f'x="{index * (_BAR + 4)}" y="{_HEIGHT - height}" width="{_BAR}" height="{height}"'
            yield f'<rect class="{kind}" {at}/>'
        yield "</g>"
    first, *_, last = [*counts, *counts]
    yield f"</svg><p>{escape(_day(first))} to {escape(_day(last))}; the highest is {most:,} results a day</p></div>"


def _table(title: str, counts: _Counts, rows: list[str], columns: list[str]) -> Iterator[str]:
    """How many broke, the redder the larger their share of the results in the cell; a dot where there were none."""
    if not rows or not columns:
        return
    heads = "".join(f"<th>{escape(_day(column))}</th>" for column in columns)
    yield f'<h2>{title}</h2><div class="plot"><table><thead><tr><th></th>{heads}</tr></thead><tbody>'
    for row in rows:
        yield f"<tr><th>{escape(row)}</th>"
        for column in columns:
            number, broken = counts.get((row, column), (0, 0))
            share = broken / number if number else 0.0
            colour = f' style="background: rgb(192 57 43 / {0.15 + 0.75 * share:.2f})"' if broken else ""
            shown = f"{broken:,}" if number else "·"
            yield f'<td{colour} title="{broken:,} of {number:,}, {share:.1%}">{shown}</td>'
        yield "</tr>"
    yield "</tbody></table></div>"


def _versions(counts: _Counts, tools: list[str]) -> Iterator[str]:
    """The tools that were judged under more than one contract, and how many broke under each."""
    of = {tool: sorted(version for other, version in counts if other == tool) for tool in tools}
    rows = [(tool, version) for tool in tools if len(of[tool]) > 1 for version in of[tool]]
    if not rows:
        return
    yield '<h2>Breaks by tool and contract</h2><div class="plot"><table>'
    yield "<tr><th></th><th>contract</th><th>results</th><th>broke</th><th></th></tr>"
    for tool, version in rows:
        number, broken = counts[tool, version]
        cells = f"<td>{escape(version or 'none')}</td><td>{number:,}</td><td>{broken:,}</td>"
        yield f"<tr><th>{escape(tool)}</th>{cells}<td>{broken / number:.1%}</td></tr>"
    yield "</table></div>"


def _amounts(title: str, sketches: Mapping[Tool, Sketch], tools: list[str]) -> Iterator[str]:
    named = {name_of(*tool): sketch for tool, sketch in sketches.items()}
    if not any(tool in named for tool in tools):
        return
    yield f'<h2>{title}</h2><div class="plot"><table><tr><th></th><th>half</th><th>95 %</th><th>99 %</th></tr>'
    for tool in tools:
        if tool in named:
            cells = "".join(f"<td>{quantile}</td>" for quantile in quantiles(named[tool]))
            yield f"<tr><th>{escape(tool)}</th>{cells}</tr>"
    yield "</table><p>So many have at most this, to within 2 %.</p></div>"


def quantiles(sketch: Sketch) -> list[str]:
    """What half of the values, 95 % and 99 % of them do not exceed."""
    found = [sketch.quantile(share) or 0.0 for share in (0.5, 0.95, 0.99)]
    return [f"{quantile:,.0f}" if quantile >= _WHOLE else f"{quantile:.2g}" for quantile in found]


def _day(day: str) -> str:
    return day or "no day"
