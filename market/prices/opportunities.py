"""An opportunity: buying on one exchange and selling on another pays after fees and FX, at one row of the log."""

from dataclasses import dataclass
from decimal import Decimal

from market.money import BoundedDecimal, Price
from market.prices.quotes import Level


@dataclass(frozen=True, slots=True)
class OpportunityLeg:
    """One side of an opportunity as quoted: `price` and `amount` of the best level, all `levels` best first.

    `levels` are asks where this leg buys and bids where it sells. Times in microseconds; `age` at detection.
    """

    exchange: str
    symbol: str
    quote_currency: str
    price: Price
    amount: BoundedDecimal
    levels: tuple[Level, ...]
    quote_id: str
    age: int
    exchange_time: int | None = None
    """When the exchange says that it was so, by its own clock; None if it says nothing."""
    received_time: int | None = None
    """When the quote arrived; None in what earlier versions wrote."""

    @property
    def market_name(self) -> str:
        return f"{self.exchange} {self.symbol}"


@dataclass(frozen=True, slots=True)
class FxRate:
    """The FX quote used for one leg's currency, as quoted (bid and ask of `symbol`).

    `inverted` False: symbol is CURRENCY/SETTLEMENT; True: SETTLEMENT/CURRENCY.
    """

    currency: str
    symbol: str
    inverted: bool
    bid: BoundedDecimal
    ask: BoundedDecimal
    quote_id: str

    def paid(self, amount: Decimal) -> Decimal:
        """Settlement currency that buying `amount` of the currency costs, at the side one pays."""
        return amount / self.bid if self.inverted else amount * self.ask

    def received(self, amount: Decimal) -> Decimal:
        """Settlement currency that selling `amount` of the currency brings, at the side one gets."""
        return amount / self.ask if self.inverted else amount * self.bid

    def at_mid(self, amount: Decimal) -> Decimal:
        """Settlement value of `amount` halfway between both sides."""
        mid = (self.bid + self.ask) / 2
        return amount / mid if self.inverted else amount * mid


@dataclass(frozen=True, slots=True)
class Opportunity:
    """What CEP emits. `opportunity_id` hashes the quote ids, FX included: the same log gives the same ids.

    Bps are IEEE doubles in the written order of operations of `cep`; prices are Decimal. Times in microseconds UTC.
    `expected_profit` is in `currency` for the best levels alone. `fx` has at most one rate per currency.
    """

    opportunity_id: str
    base: str
    buy: OpportunityLeg
    sell: OpportunityLeg
    fx: tuple[FxRate, ...]
    settings_version: int
    gross_bps: float
    fee_bps: float
    net_bps: float
    expected_profit: float
    currency: str
    event_time: int
    detected_time: int
    expires_at: int
    offset: int
    """Position in the base's log of the row that made it."""

    def rate(self, currency: str) -> FxRate | None:
        """Return the FX rate of `currency`; None for the settlement currency itself."""
        return next((rate for rate in self.fx if rate.currency == currency), None)


MARKER_KINDS = ("probe", "end")


@dataclass(frozen=True, slots=True)
class LogMarker:
    """A row that passes through CEP unchanged: `probe` proves that it runs, `end` that a base's log is read through."""

    kind: str
    base: str
    marker_id: str
    offset: int
