"""The two sides of a comparison: our books of one exchange, and the exchange's own state. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from market.accounting.differences import Resumption
from market.instruments.orders import AccountFill, Fill, OpenOrder, OrderReport
from market.money import text_of
from market.trade.arbitrages import Leg
from market.trade.balance_rounding import rounding_of
from market.trade.report_checks import ReportRules
from market.trade.reservation_state import BalanceRow, fill_key

ROUNDING_SHARE = Decimal("0.000001")
"""A millionth of a balance: what exchanges round of fees, but no deposit that a person would make."""
ORDER_SHARE = Decimal("0.01")
"""Share of an order: nearer to what its report says the balances must be, however much else the account has."""


@dataclass(frozen=True, slots=True)
class BookedLeg:
    """A leg on the exchange that is compared."""

    arbitrage_id: str
    leg: Leg


@dataclass(frozen=True, slots=True)
class OrderSearch:
    """The exchange's answer to a repeated look-up of an order that was unknown to it."""

    arbitrage_id: str
    leg: Leg
    report: OrderReport | None
    is_ambiguous: bool = False
    is_unanswered: bool = False

    @property
    def may_move_money(self) -> bool:
        """Whether the order may have moved balances that the books do not know of yet.

        So may one that the exchange acknowledged and then denies: a replica that lags lists balances before orders.
        """
        was_acknowledged = self.leg.exchange_order_id is not None
        return self.report is not None or self.is_ambiguous or self.is_unanswered or was_acknowledged


@dataclass(frozen=True, slots=True)
class BookState:
    """The store's state of one exchange, read after the exchange's own state."""

    exchange: str
    legs: tuple[BookedLeg, ...]
    """All that may have been sent in the time that `ExchangeState.fills` cover, and some time before."""
    rows: tuple[BalanceRow, ...] | None = None
    """None if anything was open at the exchange, or moved, while it was asked: then there is nothing to compare."""
    resumable: tuple[Resumption, ...] = ()
    """Of what a halt stopped, while trading is running again."""
    unconfirmed: tuple[BookedLeg, ...] = ()
    """Legs of residual arbitrages whose orders the exchange does not know although its balances suggest them."""
    has_client_ids: bool = True
    rules: ReportRules = field(default_factory=ReportRules)

    @property
    def traded(self) -> frozenset[str] | None:
        """Currencies that our orders and their fees move here; None if the markets are not known.

        Whatever else the account has, as rewards and tokens that nobody asked for, is no business of ours."""
        markets = [market for market in self.rules.markets.values() if market.exchange == self.exchange]
        if not markets:
            return None
        of_markets = {name for market in markets for name in (market.base, market.quote_currency)}
        of_legs = {name for own in self.legs for name in (own.leg.base, own.leg.quote_currency)}
        return frozenset(of_markets | of_legs | {fill.fee_currency for own in self.legs for fill in own.leg.fills})


@dataclass(frozen=True, slots=True)
class ExchangeState:
    """The exchange's own state."""

    orders: tuple[OpenOrder, ...]
    fills: tuple[AccountFill, ...]
    fills_since: int
    """The store's time: fills of legs sent from then on are all among `fills`."""
    asked_at: int
    """The store's time, before anything was asked: what was booked by then should be listed."""
    balances: Mapping[str, Decimal] | None = None
    searches: tuple[OrderSearch, ...] = ()
    looked_up: Mapping[str, OrderReport] = field(default_factory=dict)
    """By our id, what the exchange says of the very orders that its lists and balances contradict, asked last."""


def fills_of(ours: BookState) -> list[Fill]:
    return [fill for own in ours.legs for fill in own.leg.fills]


def booked_fills(ours: BookState) -> dict[str, Fill]:
    return {fill_key(fill): fill for fill in fills_of(ours)}


class Owners:
    """Whose an order is, by either of its ids."""

    def __init__(self, ours: BookState) -> None:
        self._by_client_id = {own.leg.client_order_id: own for own in ours.legs}
        self._by_id = {own.leg.exchange_order_id: own for own in ours.legs if own.leg.exchange_order_id is not None}

    def of(self, exchange_order_id: str, client_order_id: str | None) -> BookedLeg | None:
        return self._by_id.get(exchange_order_id) or self._by_client_id.get(client_order_id or "")

    def has(self, one: OpenOrder | AccountFill) -> bool:
        return self.of(one.exchange_order_id, one.client_order_id) is not None


def is_covered(leg: Leg, theirs: ExchangeState) -> bool:
    """Whether all that `leg` filled should be among the exchange's fills."""
    is_since = leg.times.get("granted", 0) >= theirs.fills_since
    return leg.is_final and is_since and leg.times.get("done", theirs.asked_at) < theirs.asked_at


def rounding_between(row: BalanceRow, there: Decimal, ours: BookState) -> Decimal:
    """Return what rounding may come to since the last comparison: by fills, which `ours.legs` have from some time
    before."""
    share = max(row.free + row.held, there) * ROUNDING_SHARE
    return max(share, rounding_of(row.currency, fills_of(ours)))


def booked_terms(fill: Fill) -> tuple[object, ...]:
    """Return all of a fill that the books follow from."""
    return fill.symbol, fill.side, fill.price, fill.amount, fill.cost, fill.fee, fill.fee_currency


def text_of_fill(fill: Fill) -> str:
    amount, price = text_of(fill.amount), text_of(fill.price)
    fee = f"fee {text_of(fill.fee)} {fill.fee_currency}"
    return f"{fill.side} {amount} {fill.symbol} at {price} for {text_of(fill.cost)}, {fee}"
