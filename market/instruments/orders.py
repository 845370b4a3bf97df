"""Orders and fills as the exchange reports them: an order instructs, a fill is one execution of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol

from market.money import EXACT, ZERO, Amount, BoundedDecimal, Price

Side = Literal["buy", "sell"]


def opposite(side: Side) -> Side:
    return "sell" if side == "buy" else "buy"


@dataclass(frozen=True, slots=True)
class LimitOrder:
    """An immediate-or-cancel limit order: what does not fill at once is cancelled by the exchange."""

    client_order_id: str
    exchange: str
    symbol: str
    side: Side
    amount: Amount
    price: Price
    intended_at: int
    """Server time of the intent, microseconds: if an exchange knows no client id, the look-up starts here."""


@dataclass(frozen=True, slots=True)
class Fill:
    """One execution; `fee` in `fee_currency`, both to the digit as the exchange reported them."""

    fill_id: str
    exchange: str
    symbol: str
    side: Side
    price: Price
    amount: Amount
    cost: BoundedDecimal
    """What was paid or received in quote currency, as the exchange booked it."""
    fee: BoundedDecimal
    fee_currency: str
    filled_at: int
    """Exchange's time, microseconds."""


class FillLike(Protocol):
    """What a fill changes in an account's balances: the amount, its cost and the fee."""

    @property
    def side(self) -> Side: ...
    @property
    def amount(self) -> Decimal: ...
    @property
    def cost(self) -> Decimal: ...
    @property
    def fee(self) -> Decimal: ...
    @property
    def fee_currency(self) -> str: ...


def changes_of(fill: FillLike, base: str, quote_currency: str) -> tuple[tuple[str, Decimal], ...]:
    """(currency, signed change) of the account by a fill of this market; the fee's currency may be there twice."""
    sign = 1 if fill.side == "buy" else -1
    return (base, sign * fill.amount), (quote_currency, -sign * fill.cost), (fill.fee_currency, -fill.fee)


def summed_changes(filled: Iterable[tuple[FillLike, str, str]]) -> dict[str, Decimal]:
    """Return the signed change of each currency by fills, each with its market's base and quote currency; exact."""
    sums: dict[str, Decimal] = {}
    for fill, base, quote_currency in filled:
        for currency, change in changes_of(fill, base, quote_currency):
            sums[currency] = EXACT.add(sums.get(currency, ZERO), change)
    return sums


def changes_between(
    before: Iterable[FillLike], after: Iterable[FillLike], base: str, quote_currency: str
) -> dict[str, Decimal]:
    """Return how much more of each currency the account has if an order filled as `after` instead of `before`; 0 if
    they move as much of it."""
    changes: dict[str, Decimal] = {}
    for sign, fills in ((-1, before), (1, after)):
        for fill in fills:
            for currency, change in changes_of(fill, base, quote_currency):
                changes[currency] = changes.get(currency, ZERO) + sign * change
    return changes


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """A resting order on our account, also of other programs; `price` None: at the market."""

    exchange: str
    symbol: str
    exchange_order_id: str
    client_order_id: str | None
    side: Side
    amount: Amount
    """As ordered, not what is left of it."""
    price: Price | None
    placed_at: int
    """Exchange's time, microseconds."""


@dataclass(frozen=True, slots=True)
class AccountFill:
    """A fill from the account's history with its order, also of other programs."""

    fill: Fill
    exchange_order_id: str
    client_order_id: str | None = None
    """None also if the exchange's history does not say it."""


@dataclass(frozen=True, slots=True)
class StatedOrder:
    """What an exchange's answer says the order is, to be compared with what was sent; None if it does not say it."""

    client_order_id: str | None = None
    symbol: str | None = None
    """Ours if it is the market's name at the exchange, otherwise as the answer has it."""
    side: Side | None = None
    amount: Amount | None = None
    price: Price | None = None
    average: Price | None = None
    """Average price of what has filled, as the exchange computed it."""
    orders_of_fills: frozenset[str] = frozenset()
    """The exchange order ids that its fills name."""


@dataclass(frozen=True, slots=True)
class OrderReport:
    """What an exchange knows of one order; `is_final` once nothing more can fill."""

    exchange_order_id: str
    is_final: bool
    filled: Amount
    fills: tuple[Fill, ...]
    is_posted: bool = True
    """False: the order was certainly not posted, so no look-up is needed."""
    reason: str | None = None
    """Why it never left."""
    posted_at: int | None = None
    """When this process posted it, by the store's clock, microseconds; None if it only looked it up."""
    stated: StatedOrder | None = None
    """Only until it is checked (`market.trade.report_checks`); never stored."""
