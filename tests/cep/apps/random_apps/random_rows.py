"""Streams of the random apps, and rows for them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Column = tuple[str, str]
"""Name and type."""
Values = list[Any]
RandomEvent = tuple[int, str, Values]
"""Time, stream, values."""


@dataclass(frozen=True)
class Shape:
    """A stream as a query reads it. `is_base`: rows come from outside, one by one; `is_single`: its rows come in
    chunks of one."""

    name: str
    columns: tuple[Column, ...]
    is_base: bool = False
    is_single: bool = True

    def of_types(self, *types: str) -> list[str]:
        return [name for name, type_ in self.columns if type_ in types]

    @property
    def numbers(self) -> list[str]:
        return self.of_types("int", "long", "double", "float")

    @property
    def definition(self) -> str:
        return f"define stream {self.name} ({', '.join(f'{name} {type_}' for name, type_ in self.columns)});"


TICKS = Shape(
    "Ticks",
    (
        ("venue", "string"),
        ("coin", "string"),
        ("price", "double"),
        ("size", "int"),
        ("volume", "long"),
        ("ratio", "float"),
        ("live", "bool"),
        ("moment", "long"),
    ),
    is_base=True,
)
DEALS = Shape(
    "Deals",
    (("coin", "string"), ("side", "string"), ("cost", "double"), ("quantity", "long"), ("rank", "int")),
    is_base=True,
)
BEATS = Shape("Beats", (("n", "int"),), is_base=True)
"""Its rows move the clock alone."""
BASES = (TICKS, DEALS)
UNIQUE = {"price", "cost"}
"""Columns in which no value comes twice."""

TEXTS = {"venue": ["north", "south", "west"], "coin": ["ada", "btc", "eth", "sol"], "side": ["ask", "bid"]}
VALUES: dict[str, list[Any]] = {
    "bool": [True, True, False],
    "float": [0.5, 1.25, 2.0, 3.75, -1.5, 0.1, 1.1, 55.6],
    "int": [0, 1, 2, 3, 4, 6, 8, 12, 30, -5],
    "long": [0, 1, 2, 3, 4, 6, 8, 12, 30, -5],
}
GAPS = {
    "dense": (0, 0, 1, 3, 10, 25),
    "mixed": (0, 1, 50, 120, 250, 499, 500, 501, 1000),
    "leaps": (0, 1, 400, 900, 8000, 60000),
    "slow": (200, 700, 1000, 1500, 2000, 5000),
}


def random_events(rng: Random, streams: Sequence[Shape], *, nulls: float) -> list[RandomEvent]:
    """Return some dozens of rows in the order of their times, then beats that let what waits come."""
    at, gaps = rng.choice([1000, 2500, 9999, 60000]), GAPS[rng.choice(list(GAPS))]
    count = rng.randint(18, 40)
    prices = rng.sample([quarter / 4 for quarter in range(320, 480)], count)
    events: list[RandomEvent] = []
    for number in range(count):
        shape = rng.choice(streams)
        events.append((at, shape.name, [_value(rng, column, at, prices[number], nulls) for column in shape.columns]))
        at += rng.choice(gaps)
    for gap in (1000, rng.choice([300, 2500, 7000]), 30000):
        at += gap
        events.append((at, BEATS.name, [0]))
    return events


def _value(rng: Random, column: Column, at: int, price: float, nulls: float) -> Any:
    name, type_ = column
    if name != "moment" and rng.random() < nulls:
        return None
    if name == "moment":
        return at - rng.choice([0, 0, 0, 5, 400])
    if name in UNIQUE:
        return price
    return rng.choice(TEXTS.get(name) or VALUES[type_])


@dataclass(frozen=True)
class RandomCase:
    """One app with its rows, as conformance cases are written."""

    id: str
    app: str
    events: list[RandomEvent]
    outputs: list[str]
    queries: list[str]
    compare: str = "ordered"
    times: bool = True

    def line(self) -> dict[str, Any]:
        return dict(vars(self)) | {"events": [list(event) for event in self.events]}

    def text(self) -> str:
        return json.dumps(self.line())
