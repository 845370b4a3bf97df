"""Which parameter sets a sweep tries: every combination of a grid, or random draws from it, by seed.

min_net_bps=0:20:2      0, 2, 4 … 20
latency_ms=0,50,100     these
max_notional=100:5000   as a range: anything between, drawn
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import product
from math import prod

from backtest.sweep.errors import SweepRejectedError
from market.money import BoundedDecimal, decimal_of, decimal_of_whole, text_of

MAX_SETS = 100_000
DRAWN_DIGITS = 6
"""Digits of a drawn number: enough to distinguish sets, few enough to be read and typed again."""

Point = tuple[tuple[str, Decimal], ...]
"""One value of every parameter that a sweep varies, always in the same order."""


@dataclass(frozen=True, slots=True)
class GridAxis:
    """One parameter and the values to try, in the order they were given."""

    name: str
    values: tuple[BoundedDecimal, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """One parameter that is drawn from `low` to `high`, both included."""

    name: str
    low: BoundedDecimal
    high: BoundedDecimal
    is_integer: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """`draws` None: every combination of `axes`; else so many sets drawn from `axes` and `ranges` by `seed`."""

    axes: tuple[GridAxis, ...]
    ranges: tuple[Range, ...] = ()
    draws: int | None = None
    seed: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return (*(axis.name for axis in self.axes), *(part.name for part in self.ranges))

    @property
    def size(self) -> int:
        return prod(len(axis.values) for axis in self.axes) if self.draws is None else self.draws

    def points(self) -> Iterator[Point]:
        """Return the sets in their order; in a grid the last axis varies fastest."""
        if self.draws is None:
            for values in product(*(axis.values for axis in self.axes)):
                yield tuple(zip(self.names, values, strict=True))
            return
        # one generator for one sweep, from its own seed alone: no other draw can shift these
        chance = random.Random(self.seed)  # noqa: S311 - a seeded draw of parameters keeps no secret
        for _ in range(self.draws):
            chosen = [(axis.name, chance.choice(axis.values)) for axis in self.axes]
            drawn = [(part.name, _drawn(part, chance)) for part in self.ranges]
            yield (*chosen, *drawn)


def checked_grid(grid: Grid) -> Grid:
    """Return the grid. Raises SweepRejectedError in one sentence if it makes no sweep."""
    if not grid.names:
        raise SweepRejectedError("nothing is varied: name at least one parameter with --grid or --range")
    twice = sorted({name for name in grid.names if grid.names.count(name) > 1})
    if twice:
        raise SweepRejectedError(f"{twice[0]} is given twice; name all its values in one --grid")
    if grid.ranges and grid.draws is None:
        raise SweepRejectedError(f"{grid.ranges[0].name} is a range: say with --random N how many sets to draw")
    if grid.draws is not None and grid.draws < 1:
        raise SweepRejectedError("--random must draw at least one set")
    if grid.size > MAX_SETS:
        raise SweepRejectedError(f"{grid.size:,} sets are too many (maximum {MAX_SETS:,})")
    return grid


def axis_of(text: str) -> GridAxis:
    """Return the axis of `NAME=FROM:TO:STEP` or `NAME=VALUE,VALUE…`. Raises SweepRejectedError."""
    name, given = _named(text, "--grid", "NAME=FROM:TO:STEP or NAME=VALUE,VALUE")
    if ":" not in given:
        values = tuple(_number(text, word) for word in given.split(","))
        if len(set(values)) < len(values):
            raise SweepRejectedError(f"--grid {text}: repeats a value")
        return GridAxis(name, values)
    words = given.split(":")
    if len(words) != 3:
        raise SweepRejectedError(f"--grid {text}: is not FROM:TO:STEP")
    first, last, step = (_number(text, word) for word in words)
    if step <= 0:
        raise SweepRejectedError(f"--grid {text}: the step must be greater than 0")
    if last < first:
        raise SweepRejectedError(f"--grid {text}: is empty, because {text_of(last)} is below {text_of(first)}")
    count = int((last - first) // step) + 1
    if count > MAX_SETS:
        raise SweepRejectedError(f"--grid {text}: {count:,} values are too many (maximum {MAX_SETS:,} sets)")
    return GridAxis(name, tuple(first + step * number for number in range(count)))


def range_of(text: str) -> Range:
    """Return the range of `NAME=LOW:HIGH`. Raises SweepRejectedError."""
    name, given = _named(text, "--range", "NAME=LOW:HIGH")
    words = given.split(":")
    if len(words) != 2:
        raise SweepRejectedError(f"--range {text}: is not NAME=LOW:HIGH")
    low, high = (_number(text, word, "--range") for word in words)
    if high <= low:
        raise SweepRejectedError(f"--range {text}: is empty, because {text_of(high)} is not above {text_of(low)}")
    return Range(name, low, high)


def _named(text: str, option: str, form: str) -> tuple[str, str]:
    name, mark, value = (part.strip() for part in text.partition("="))
    if not name or not mark:
        raise SweepRejectedError(f"{option} {text}: is not {form}")
    if not value:
        raise SweepRejectedError(f"{option} {text}: has no values")
    return name, value


def _number(text: str, word: str, option: str = "--grid") -> Decimal:
    try:
        number = decimal_of(word.strip())
    except ValueError as error:
        raise SweepRejectedError(f"{option} {text}: {error}") from None
    if abs(number) >= Decimal("1E15") or (number and number.adjusted() < -15):
        raise SweepRejectedError(f"{option} {text}: {word.strip()} is out of range for every parameter")
    return number


def _drawn(part: Range, chance: random.Random) -> Decimal:
    if part.is_integer:
        return decimal_of_whole(chance.randint(int(part.low), int(part.high)))
    # drawn as a whole number of tiny steps: exact in Decimal, and the same on every machine
    share = decimal_of_whole(chance.randrange(10**9 + 1)) / 10**9
    value = part.low + (part.high - part.low) * share
    step = Decimal(1).scaleb((part.high - part.low).adjusted() - DRAWN_DIGITS + 1)
    return min(max(value.quantize(step, ROUND_HALF_EVEN), part.low), part.high)
