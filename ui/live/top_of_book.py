"""The latest best bid and ask of one market."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, Literal, TypeVar

from market.money import decimal_of
from streams.message_format import WireError

TopStatus = Literal["fresh", "stale", "withdrawn"]
Number = TypeVar("Number", float, Decimal)


@dataclass(frozen=True, slots=True)
class TopOfBook:
    """Times in microseconds; `verified_time` is when the feed last confirmed the quote."""

    exchange: str
    region: str
    symbol: str
    base: str
    quote_currency: str
    bid: Decimal
    bid_amount: Decimal
    ask: Decimal
    ask_amount: Decimal
    received_time: int
    verified_time: int
    sequence: int
    is_withdrawn: bool

    @property
    def quote_id(self) -> str:
        return f"{self.exchange}:{self.symbol}:{self.sequence}"

    @property
    def mid(self) -> Decimal:
        return (self.bid + self.ask) / 2

    def status(self, now: int, max_quote_age: int) -> TopStatus:
        """Return the status; `now` and `max_quote_age` in microseconds of market time."""
        if self.is_withdrawn:
            return "withdrawn"
        return "fresh" if now - self.verified_time <= max_quote_age else "stale"


class LatestRow:
    """The newest quote row of one market and its later marks. Not parsed until shown."""

    __slots__ = ("is_withdrawn", "row", "verified_time")

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self.verified_time: int = row["received_time"]
        self.is_withdrawn = False

    def mid(self) -> float:
        """Return a double, for charts. Raises WireError."""
        try:
            return _positive((float(self.row["bid"]) + float(self.row["ask"])) / 2)
        except (KeyError, TypeError, ValueError) as error:
            raise WireError(f"not a quote: {error!r}") from error

    def top(self) -> TopOfBook:
        """Return the parsed quote. Raises WireError."""
        row = self.row
        try:
            return TopOfBook(
                exchange=row["exchange"],
                region=row["region"],
                symbol=row["symbol"],
                base=row["base"],
                quote_currency=row["quote_currency"],
                bid=_positive(decimal_of(row["bid"])),
                bid_amount=decimal_of(row["bid_amount"]),
                ask=_positive(decimal_of(row["ask"])),
                ask_amount=decimal_of(row["ask_amount"]),
                received_time=row["received_time"],
                verified_time=self.verified_time,
                sequence=row["sequence"],
                is_withdrawn=self.is_withdrawn,
            )
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise WireError(f"not a quote: {error!r}") from error


def _positive(price: Number) -> Number:
    """Return `price`. Raises ValueError if it is not finite and above 0: feeds reject such prices, and dividing by one
    that came through would end the hub."""
    if not isfinite(price) or price <= 0:
        raise ValueError(f"{price} is no price")
    return price
