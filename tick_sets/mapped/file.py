"""The mapping file of a CSV that no format here knows: TOML that says which column is what."""

import tomllib
from datetime import UTC, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    field_validator,
    model_validator,
)

from market.money import BoundedDecimal
from market.prices.quotes import MAX_LEVELS
from market.validation_messages import error_text
from tick_sets.errors import reject
from tick_sets.mapped.times import Fold
from tick_sets.rows.special_files import check_file

Name = Annotated[str, Field(min_length=1)]
Scale = Annotated[BoundedDecimal, Field(gt=0)]
Word = StrictStr | StrictInt | StrictBool
Wanted = Word | Annotated[list[Word], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TimeMapping(_Strict):
    """A column of times: numbers since 1970 in `unit` (`auto`: each by its own size), or text."""

    column: Name
    unit: Literal["s", "ms", "us", "ns", "auto", "text"]
    format: str | None = None
    """For text: a format of strptime; without one, ISO 8601."""
    zone: str = "UTC"
    """For text that names no zone: a name like Asia/Tokyo."""
    fold: Fold = "reject"
    """For the hour that occurs twice when clocks are put back."""

    @field_validator("zone")
    @classmethod
    def _known(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError(f"{zone} is not a known time zone") from None
        return zone

    @property
    def zone_info(self) -> tzinfo:
        return UTC if self.zone == "UTC" else ZoneInfo(self.zone)


class ColumnName(_Strict):
    """Taken from each row."""

    column: Name


class SideColumns(_Strict):
    """Names of columns, each with `{level}` in it."""

    bid: Name
    bid_amount: Name
    ask: Name
    ask_amount: Name


class QuoteColumns(_Strict):
    """Names of columns; one amount for all rows if the file has none, as for rates."""

    bid: Name
    ask: Name
    bid_amount: Name | None = None
    ask_amount: Name | None = None
    constant_amount: BoundedDecimal | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _both_amounts(self) -> "QuoteColumns":
        named = [name for name in (self.bid_amount, self.ask_amount) if name is not None]
        if len(named) != (2 if self.constant_amount is None else 0):
            raise ValueError("name bid_amount and ask_amount, or constant_amount if the file has none")
        return self


class LevelColumns(SideColumns):
    """The best level is number `first`."""

    count: int = Field(ge=1, le=MAX_LEVELS)
    first: int = Field(default=0, ge=0, le=1)

    @model_validator(mode="after")
    def _numbered(self) -> "LevelColumns":
        if not all("{level}" in name for name in (self.bid, self.bid_amount, self.ask, self.ask_amount)):
            raise ValueError("each name needs {level} where the level's number stands")
        return self


class PriceColumns(_Strict):
    """For prints and bars: the column of the price, and the traded amount, a column or one for all."""

    price: Name
    amount: Name | None = None
    constant_amount: BoundedDecimal | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _one_amount(self) -> "PriceColumns":
        if (self.amount is None) == (self.constant_amount is None):
            raise ValueError("name amount, or constant_amount if the file has none")
        return self


class Mapping(_Strict):
    """The whole file. Columns of a CSV without a header are called by their number from 1: "1", "2", …"""

    time: TimeMapping
    exchange_time: TimeMapping | None = None
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    header: bool = True
    skip_lines: int = Field(default=0, ge=0, le=10_000)
    """Lines before the header, or before the first row, that are no part of the table."""
    newest_first: bool = False
    """The rows go back in time, and are read from the last to the first."""
    decimal: Literal[".", ","] = "."
    """What stands before the decimals of prices, amounts and times."""
    price_scale: Scale = Decimal(1)
    amount_scale: Scale = Decimal(1)
    """What one unit of the file's numbers is worth: 1e-9 if prices are whole billionths."""
    exchange: Name | ColumnName | None = None
    symbol: Name | ColumnName | None = None
    sequence: Name | None = None
    """A column of numbers that grow from row to row."""
    quote: QuoteColumns | None = None
    levels: LevelColumns | None = None
    print: PriceColumns | None = None
    bar: PriceColumns | None = None
    bar_seconds: int | None = Field(default=None, ge=1)
    """How long after its time a bar is known."""
    where: dict[Name, Wanted] = Field(default_factory=dict)
    """Conditions: only rows with the word, or one of the words, in each of these columns are read."""

    @model_validator(mode="after")
    def _one_kind(self) -> "Mapping":
        if sum(one is not None for one in (self.quote, self.levels, self.print, self.bar)) != 1:
            raise ValueError("it needs one of [quote], [levels], [print] and [bar]")
        if (self.bar is None) != (self.bar_seconds is None):
            raise ValueError("bar_seconds and [bar] belong together")
        return self


def read_mapping(path: Path) -> Mapping:
    """Return the mapping. Raises ImportRejectedError: one sentence on what is wrong."""
    check_file(path)
    try:
        document = tomllib.loads(path.read_text())
    except OSError as error:
        reject(path, None, f"cannot be read ({error.strerror or error})")
    except (ValueError, RecursionError) as error:
        reject(path, None, f"is not valid TOML ({error})")
    try:
        return Mapping.model_validate(document)
    except ValidationError as error:
        reject(path, None, f"is not a valid mapping: {error_text(error, 'it')}")
