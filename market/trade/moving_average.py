"""The moving average strategy: a close each period → a signal when it crosses the mean → an order. Pure and exact.

What the mean is over and what a crossing is, an app's text says (`apps/moving-average.app`).
"""

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from market.instruments.orders import Side
from market.money import ZERO, BoundedDecimal, Price, total
from market.trade.arbitrages import FINAL_STATES, Arbitrage

STRATEGY = "MA Trading"

Sign = Literal[-1, 0, 1]
TradeType = Literal["BUY", "SELL"]
OrderState = Literal["wanted", "open", "filled", "partly_filled", "unfilled", "rejected", "missed", "residual"]

UNSETTLED_STATES: tuple[OrderState, ...] = ("wanted", "open")
SIDES: dict[TradeType, Side] = {"BUY": "buy", "SELL": "sell"}


@dataclass(frozen=True, slots=True)
class MovingAverage:
    """The closes of one market that its mean is over, the newest last, and on which side of it the newest stands."""

    closes: tuple[BoundedDecimal, ...] = ()
    sign: Sign = 0
    """0: on the mean itself, as the first close always is."""


@dataclass(frozen=True, slots=True)
class AverageCrossing:
    """This close and the one before stand on different sides of their means."""

    trade_type: TradeType
    mean: BoundedDecimal
    """The mean that was crossed, to 28 digits, for people to read; no decision is made on it."""


@dataclass(frozen=True, slots=True)
class Close:
    """The price of one market at one period, as one bot saw it."""

    exchange: str
    quote_region: str
    symbol: str
    price: Price
    period: int
    """When the period began, microseconds: of one period only the first close counts."""
    timestamp: int
    """Market time when it was looked at, microseconds."""
    trade_location: str
    """Region of the bot that looks."""


class AverageRule(Protocol):
    """What a close means. One definition, the app's text (`cep.apps.hosts.average_app`), handed over to the bot."""

    def __call__(self, before: MovingAverage, close: Close) -> tuple[MovingAverage, AverageCrossing | None]:
        """Return the average with `close`, and the crossing, if it is one. The answer depends on the arguments
        alone."""
        ...


@dataclass(frozen=True, slots=True)
class AverageTrade:
    """One crossing: a row of the original's table `trades`, with what became of its order, if one was wanted."""

    trade_id: str
    exchange: str
    quote_region: str
    symbol: str
    timestamp: int
    trade_location: str
    trade_price: Price
    trade_strategy: str
    trade_type: TradeType
    average: BoundedDecimal
    """The mean that the price crossed, to 28 digits."""
    at: int
    """When it was recorded, by the store's clock, microseconds."""
    order: "AverageOrder | None" = None
    closes: tuple[BoundedDecimal, ...] = ()
    """Those before this one that it follows from, the newest last; none in what earlier versions stored."""


@dataclass(frozen=True, slots=True)
class AverageOrder:
    """What became of a signal's order; its arbitrage has the trade's id. `filled` in base, `cost` in quote currency."""

    state: OrderState = "wanted"
    reason: str | None = None
    filled: BoundedDecimal = ZERO
    cost: BoundedDecimal = ZERO

    @property
    def is_settled(self) -> bool:
        return self.state not in UNSETTLED_STATES


@dataclass(frozen=True, slots=True)
class AverageState:
    """What the store keeps of one market between two closes."""

    period: int = 0
    average: MovingAverage = MovingAverage()


def after_close(
    state: AverageState, close: Close, rule: AverageRule, now: int, *, with_order: bool
) -> tuple[AverageState, AverageTrade | None]:
    """Return the state after `close`, and the trade to write; the same state if its period was recorded already.

    `now` is the store's, microseconds.
    """
    if close.period <= state.period:
        return state, None
    average, crossing = rule(state.average, close)
    after = AverageState(close.period, average)
    if crossing is None:
        return after, None
    trade = AverageTrade(
        trade_id=trade_id_of(close),
        exchange=close.exchange,
        quote_region=close.quote_region,
        symbol=close.symbol,
        timestamp=close.timestamp,
        trade_location=close.trade_location,
        trade_price=close.price,
        trade_strategy=STRATEGY,
        trade_type=crossing.trade_type,
        average=crossing.mean,
        at=now,
        order=AverageOrder() if with_order else None,
        closes=state.average.closes,
    )
    return after, trade


def trade_id_of(close: Close) -> str:
    """One per market and period, whoever records it."""
    return f"{close.exchange}|{close.symbol}|{close.period}"


def order_of(arbitrage: Arbitrage) -> AverageOrder:
    """Return what became of the order so far, by its arbitrage."""
    if arbitrage.state not in FINAL_STATES:
        return AverageOrder("open")
    filled, cost = total(leg.filled for leg in arbitrage.legs), total(leg.cost for leg in arbitrage.legs)
    if arbitrage.state == "residual":
        return AverageOrder("residual", arbitrage.reason, filled, cost)
    if filled == 0:
        return AverageOrder("unfilled", arbitrage.reason)
    return AverageOrder("filled" if filled >= arbitrage.amount else "partly_filled", None, filled, cost)


def changed_order(before: Arbitrage | None, after: Arbitrage) -> AverageOrder | None:
    """Return what a step made of the order of a signal; None if nothing, or if the arbitrage is of no signal."""
    if after.strategy != "ma":
        return None
    order = order_of(after)
    return None if before is not None and order_of(before) == order else order


def with_order(trade: AverageTrade, order: AverageOrder) -> AverageTrade:
    """Set the order, but leave one that is settled as it is."""
    return trade if trade.order is None or trade.order.is_settled else replace(trade, order=order)


def period_of(now: int, interval_ms: int) -> int:
    """When the period that `now` lies in began, microseconds."""
    return now - now % (interval_ms * 1_000)
