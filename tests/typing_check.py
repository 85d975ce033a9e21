"""What type checkers infer. Run by mypy and pyright alone; pytest does not collect it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel
from typing_extensions import TypedDict, assert_type

from mcp_guard import GuardedSession, Judged, Pages, attach, guard


class Stock(BaseModel):
    """A model."""

    sku: str


@dataclass
class Point:
    """A dataclass."""

    x: int


class Row(TypedDict):
    """A dict with names."""

    n: int


def total(value: Any) -> float:
    """A function of the value."""
    return float(value)


class Target:
    """Whatever is guarded."""


async def inferred(target: Target) -> None:
    """Never run."""
    tools = guard(target)
    assert_type(tools, GuardedSession[Target])
    assert_type(tools.target, Target)
    assert_type(attach(target).target, Target)
    async with tools as entered:
        assert_type(entered, GuardedSession[Target])

    assert_type(await tools.call("t"), Any)
    assert_type(await tools.call("t", {"a": 1}, into=None), Any)
    assert_type(await tools.call("t", into=Stock), Stock)
    assert_type(await tools.call("t", into=Point), Point)
    assert_type(await tools.call("t", into=Row), Row)
    assert_type(await tools.call("t", into=list[Stock]), list[Stock])
    assert_type(await tools.call("t", into=int | str), int | str)
    assert_type(await tools.call("t", into=Stock | None), Stock | None)
    assert_type(await tools.call("t", into=Literal["on", "off"]), Literal["on", "off"])
    assert_type(await tools.call("t", into=total), float)
    assert_type(await tools.judge("t"), Judged)
    assert_type(tools.paginate("t", items="/a", cursor="c", next_cursor=total), Pages)
