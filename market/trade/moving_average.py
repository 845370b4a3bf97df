"""The moving average strategy: closes → mean of the last ten → a signal when the price crosses it. Pure and exact.

Means are compared as fractions: rounded ones would see a crossing in a price that stands still.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from market.instruments.orders import Side
from market.money import ZERO, BoundedDecimal, Price, total
from market.trade.arbitrages import FINAL_STATES, Arbitrage

WINDOW = 10
STRATEGY = "MA Trading"

Sign = Literal[-1, 0, 1]
TradeType = Literal["BUY", "SELL"]
OrderState = Literal["wanted", "open", "filled", "partly_filled", "unfilled", "rejected", "missed", "residual"]

UNSETTLED_STATES: tuple[OrderState, ...] = ("wanted", "open")
SIDES: dict[TradeType, Side] = {"BUY": "buy", "SELL": "sell"}


@dataclass(frozen=True, slots=True)
class MovingAverage:
    """The last ten closes of one market, the newest last, and on which side of their mean the newest stands."""

    closes: tuple[BoundedDecimal, ...] = ()
    sign: Sign = 0
    """0: on the mean itself, as the first close always is."""

    @property
    def mean(self) -> Decimal:
        """To 28 digits, for people to read; no decision is made on it. Raises ZeroDivisionError without closes."""
        return total(self.closes) / len(self.closes)


def next_average(before: MovingAverage, close: Decimal) -> tuple[MovingAverage, TradeType | None]:
    """The average with `close`, and the signal where this close and the one before stand on different sides of theirs.

    The first means are of 1, 2, … closes. A close on the mean breaks the sequence: the next one signals nothing.
    """
    closes = (*before.closes, close)[-WINDOW:]
    after = MovingAverage(closes, _sign(closes))
    if before.sign * after.sign >= 0:
        return after, None
    return after, "BUY" if after.sign > 0 else "SELL"


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


@dataclass(frozen=True, slots=True)
class AverageTrade:
    """One crossing: a row of the original's table `trades`, with what became of its order, where one was wanted."""

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
    state: AverageState, close: Close, now: int, *, with_order: bool
) -> tuple[AverageState, AverageTrade | None]:
    """The state after `close`, and the trade to write; the same state if its period was recorded already.

    `now` is the store's, microseconds.
    """
    if close.period <= state.period:
        return state, None
    average, trade_type = next_average(state.average, close.price)
    after = AverageState(close.period, average)
    if trade_type is None:
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
        trade_type=trade_type,
        average=average.mean,
        at=now,
        order=AverageOrder() if with_order else None,
    )
    return after, trade


def trade_id_of(close: Close) -> str:
    """One per market and period, whoever records it."""
    return f"{close.exchange}|{close.symbol}|{close.period}"


def order_of(arbitrage: Arbitrage) -> AverageOrder:
    """What became of the order so far, by its arbitrage."""
    if arbitrage.state not in FINAL_STATES:
        return AverageOrder("open")
    filled, cost = total(leg.filled for leg in arbitrage.legs), total(leg.cost for leg in arbitrage.legs)
    if arbitrage.state == "residual":
        return AverageOrder("residual", arbitrage.reason, filled, cost)
    if filled == 0:
        return AverageOrder("unfilled", arbitrage.reason)
    return AverageOrder("filled" if filled >= arbitrage.amount else "partly_filled", None, filled, cost)


def with_order(trade: AverageTrade, order: AverageOrder) -> AverageTrade:
    """What is settled stays as it is."""
    return trade if trade.order is None or trade.order.is_settled else replace(trade, order=order)


def period_of(now: int, interval_ms: int) -> int:
    """When the period that `now` lies in began, microseconds."""
    return now - now % (interval_ms * 1_000)


def _sign(closes: tuple[Decimal, ...]) -> Sign:
    """Of the newest close minus the mean of all."""
    difference = Fraction(closes[-1]) * len(closes) - sum(map(Fraction, closes), Fraction(0))
    return 0 if difference == 0 else 1 if difference > 0 else -1
