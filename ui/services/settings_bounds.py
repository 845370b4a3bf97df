"""Bounds of each setting, read from the settings' model, so that the page and REST reject the same values."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import get_args

from annotated_types import Ge, Gt, Le, Lt

from market.decide.settings import Settings
from market.money import decimal_of


@dataclass(frozen=True, slots=True)
class Bounds:
    """Minimum and maximum; an open end is exclusive. None: no bound."""

    low: Decimal | None = None
    high: Decimal | None = None
    is_low_open: bool = False
    is_high_open: bool = False

    def words(self, unit: str) -> str:
        """Return the bounds as text, such as `0 to 100 bps`."""
        suffix = f" {unit}" if unit else ""
        if self.low is None or self.high is None:
            return unit
        low = f"above {plain_number(self.low)}, up to" if self.is_low_open else f"{plain_number(self.low)} to"
        return f"{low} {plain_number(self.high)}{suffix}"


def bounds_of(name: str) -> Bounds:
    """Return the bounds of a number; for a table such as `taker_fees`, those of its numbers."""
    field = Settings.model_fields[name]
    marks = [*field.metadata]
    for inner in get_args(field.annotation):
        marks += getattr(inner, "__metadata__", ())
    return _bounds(_flat(marks))


def plain_number(value: Decimal) -> str:
    """Return the number with commas between thousands, and a minus sign."""
    return f"{value.normalize():,f}".replace("-", "−")


def _flat(marks: Iterable[object]) -> list[object]:
    """Return the marks as a flat list: pydantic keeps some bounds in a `FieldInfo` of their own."""
    return [one for mark in marks for one in (mark, *getattr(mark, "metadata", ()))]


def _bounds(marks: Iterable[object]) -> Bounds:
    found = Bounds()
    for mark in marks:
        match mark:
            case Ge():
                found = Bounds(_number(mark.ge), found.high, False, found.is_high_open)
            case Gt():
                found = Bounds(_number(mark.gt), found.high, True, found.is_high_open)
            case Le():
                found = Bounds(found.low, _number(mark.le), found.is_low_open, False)
            case Lt():
                found = Bounds(found.low, _number(mark.lt), found.is_low_open, True)
    return found


def _number(bound: object) -> Decimal:
    return decimal_of(str(bound))
