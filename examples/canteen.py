"""A canteen's tools, made well and made badly: what the linter says of both, and what wrong arguments do to each.

Run it with ``python examples/canteen.py``. Both servers are ordinary ones of the SDK, as people write them.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import logging
from enum import Enum
from typing import Annotated, Any

from pydantic import BaseModel, Field

from mcp_guard import GuardError, connect, lint

# the server class of the installed SDK
_MODULES = {"1": ("mcp.server.fastmcp", "FastMCP"), "2": ("mcp.server.mcpserver", "MCPServer")}
_module, _name = _MODULES[importlib.metadata.version("mcp").partition(".")[0]]
Server: Any = vars(importlib.import_module(_module))[_name]


class Day(str, Enum):
    """A day on which the canteen is open."""

    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"


class Dish(BaseModel):
    """A dish, and what is known about it."""

    name: str
    price_cents: Annotated[int, Field(ge=0)]
    allergens: list[str]


class Menu(BaseModel):
    """What there is on a day."""

    day: Day
    dishes: list[Dish]


class Order(BaseModel):
    """An order that was taken."""

    number: int
    pickup: str
    total_cents: Annotated[int, Field(ge=0)]


class Seats(BaseModel):
    """Free seats in the hall."""

    free: Annotated[int, Field(ge=0)]
    of: Annotated[int, Field(ge=0)]


class Opening(BaseModel):
    """When the canteen is open on a day."""

    opens: str
    closes: str


class Rating(BaseModel):
    """What the guests think of a dish."""

    dish: str
    stars: Annotated[float, Field(ge=0, le=5)]


DISHES = [
    Dish(name="lentil stew", price_cents=450, allergens=["celery"]),
    Dish(name="cheese noodles", price_cents=520, allergens=["gluten", "milk"]),
]
WhichAllergens = Annotated[list[str] | None, Field(description="Allergens to avoid, as the dishes name them.")]
Time = Annotated[str, Field(description="When it is fetched, as HH:MM.", pattern="^[0-9]{2}:[0-9]{2}$")]
WhichDay = Annotated[Day, Field(description="The day that is asked about, such as monday.")]


def well_made() -> Any:
    """Five tools with enum, default, optional and list arguments, each described, each with a closed result."""
    server = Server("canteen", log_level="CRITICAL")

    @server.tool()  # type: ignore[untyped-decorator]  # the two SDKs share no types
    def get_menu(
        day: WhichDay, without: Annotated[list[str] | None, Field(description="Allergens to avoid.")] = None
    ) -> Menu:
        """List the dishes of one day with prices in cents, leaving out those with an allergen to avoid."""
        dishes = [dish for dish in DISHES if not set(without or []) & set(dish.allergens)]
        return Menu(day=day, dishes=dishes)

    @server.tool()  # type: ignore[untyped-decorator]  # the same
    def order_dishes(
        dishes: Annotated[list[str], Field(description="Names of the dishes, as get_menu lists them.", min_length=1)],
        pickup: Annotated[
            str, Field(description="When it is fetched, as HH:MM.", pattern="^[0-9]{2}:[0-9]{2}$")
        ] = "12:00",
    ) -> Order:
        """Order dishes to be fetched at a time of day. This costs money: order once, and keep the number."""
        prices = {dish.name: dish.price_cents for dish in DISHES}
        return Order(number=17, pickup=pickup, total_cents=sum(prices[name] for name in dishes))

    @server.tool()  # type: ignore[untyped-decorator]  # the same
    def count_free_seats(day: WhichDay) -> Seats:
        """Count the seats in the hall that nobody has reserved for lunch on that day."""
        return Seats(free=40 if day is Day.MONDAY else 25, of=120)

    @server.tool()  # type: ignore[untyped-decorator]  # the same
    def read_opening_hours(day: WhichDay) -> Opening:
        """Tell when the canteen opens and closes on a day, as HH:MM in local time."""
        return Opening(opens="11:30", closes="14:00" if day is Day.WEDNESDAY else "14:30")

    @server.tool()  # type: ignore[untyped-decorator]  # the same
    def rate_dish(
        dish: Annotated[str, Field(description="Name of the dish, as get_menu lists it.")],
        stars: Annotated[int, Field(description="0 for bad to 5 for good.", ge=0, le=5)],
    ) -> Rating:
        """Add a guest's rating of a dish, and tell what all guests together think of it."""
        return Rating(dish=dish, stars=(stars + 4) / 2)

    return server


def badly_made() -> Any:
    """The same canteen, as it is often seen."""
    server = Server("canteen", log_level="CRITICAL")

    @server.tool(description="")  # type: ignore[untyped-decorator]  # the same
    def get_menu(day: Any) -> dict[str, Any]:
        return {"menu": [dish.name for dish in DISHES], "day": day}

    @server.tool(name="gеt_menu", description="menu")  # type: ignore[untyped-decorator]  # noqa: RUF001  # a Cyrillic letter
    def get_menu_again(day: str = "monday") -> dict[str, Any]:
        return {"dishes": {"lentil stew": 4.5}, "day": day}

    @server.tool(description="orders today")  # type: ignore[untyped-decorator]  # the same
    def order_dishes_today(dishes: list[Any]) -> str:
        return f"ordered {len(dishes)}"

    @server.tool(description="orders tomorrow")  # type: ignore[untyped-decorator]  # the same
    def order_dishes_tomorrow(dishes: list[Any]) -> str:
        return f"ordered {len(dishes)}"

    @server.tool(description="orders later")  # type: ignore[untyped-decorator]  # the same
    def order_dishes_later(dishes: list[Any], when: Any = None) -> str:
        return f"ordered {len(dishes)} for {when}"

    return server


PROBES: list[tuple[str, dict[str, Any]]] = [
    ("get_menu", {"day": "monday"}),
    ("get_menu", {"day": "MONDAY"}),
    ("get_menu", {"day": "sunday"}),
    ("get_menu", {"day": 1}),
    ("get_menu", {"day": None}),
    ("get_menu", {}),
    ("get_menu", {"day": "monday", "without": ["milk"]}),
    ("get_menu", {"day": "monday", "without": "milk"}),
    ("get_menu", {"day": "monday", "wihtout": ["milk"]}),
    ("get_menu", {"day": ["monday", "tuesday"]}),
    ("get_menu", {"date": "monday"}),
    ("get_menu", {"day": " monday"}),
    ("order_dishes", {"dishes": ["lentil stew"]}),
    ("order_dishes", {"dishes": []}),
    ("order_dishes", {"dishes": "lentil stew"}),
    ("order_dishes", {"dishes": ["lentil stew"], "pickup": "noon"}),
    ("order_dishes", {"dishes": ["pizza"]}),
    ("order_dishes", {"dish": "lentil stew"}),
    ("order_dishes_later", {"dishes": "lentil stew"}),
    ("order_dishes_later", {"dishes": ["pizza"], "when": {"at": "noon"}}),
    ("order_dishes_later", {"dishes": [None], "at": "noon"}),
    ("rate_dish", {"dish": "lentil stew", "stars": 5}),
    ("rate_dish", {"dish": "lentil stew", "stars": 7}),
    ("rate_dish", {"dish": "lentil stew", "stars": "5"}),
]
"""Two dozen calls, few of them right."""


async def look_at(title: str, server: Any) -> None:
    """Lint a server, and send it the probes."""
    print(f"== {title}")
    async with connect(server) as tools:
        logging.getLogger("mcp_guard").setLevel(logging.CRITICAL)  # what it would say stands in the table
        contracts = await tools.refresh()
        findings = lint(contracts)
        print(f"{len(findings)} findings")
        for finding in findings:
            print(f"  {finding.code:24} {finding.to_dict()['tool']}: {finding.says}")
        for tool, arguments in PROBES:
            if tool in contracts:
                try:
                    told = f"the data: {await tools.call(tool, arguments)}"
                except GuardError as error:
                    told = f"{error.kind}, {error.outcome}"
                print(f"  {tool}({arguments}): {told}")


async def main() -> None:
    """Look at both."""
    await look_at("made well", well_made())
    await look_at("made badly", badly_made())


if __name__ == "__main__":
    asyncio.run(main())
