"""Checks the moving average's signals, by its app and the closes recorded with each, and that each of its orders has a
signal."""

from collections.abc import Iterable, Mapping

from backtest.verify.first_difference import NOTHING, FirstDifference
from market.trade.arbitrages import Arbitrage
from market.trade.moving_average import SIDES, AverageRule, AverageTrade, Close, MovingAverage

MOVING_AVERAGE = "ma"


def signal_difference(signal: AverageTrade, rule: AverageRule) -> FirstDifference | None:
    """Return None if the app gives the same signal again."""
    where = f"signal {signal.trade_id}"
    _, crossing = rule(MovingAverage(signal.closes), _close(signal))
    if crossing is None:
        return FirstDifference(where, "trade_type", signal.trade_type, NOTHING)
    pairs = (("trade_type", signal.trade_type, crossing.trade_type), ("average", signal.average, crossing.mean))
    return next((FirstDifference(where, *pair) for pair in pairs if pair[1] != pair[2]), None)


def order_difference(
    arbitrage: Arbitrage, signals: Mapping[str, AverageTrade], started_at: int
) -> FirstDifference | None:
    """Return None if it is no order of the moving average, or one that its signal asks for. `started_at`: of the
    session, microseconds; a signal of the session before may be traded in this one."""
    if arbitrage.strategy != MOVING_AVERAGE:
        return None
    where, signal = f"arbitrage {arbitrage.arbitrage_id}", signals.get(arbitrage.arbitrage_id)
    if signal is None:
        is_earlier = _period(arbitrage.arbitrage_id) < started_at
        return None if is_earlier else FirstDifference(where, "signal", NOTHING, "one that it was traded on")
    wanted = (signal.exchange, signal.symbol, SIDES[signal.trade_type])
    for leg in arbitrage.legs[:1]:
        found = (leg.exchange, leg.symbol, leg.side)
        if found != wanted:
            return FirstDifference(where, "leg", " ".join(found), " ".join(wanted))
    return None


def by_id(signals: Iterable[AverageTrade]) -> dict[str, AverageTrade]:
    return {signal.trade_id: signal for signal in signals}


def _close(signal: AverageTrade) -> Close:
    return Close(
        signal.exchange,
        signal.quote_region,
        signal.symbol,
        signal.trade_price,
        _period(signal.trade_id),
        signal.timestamp,
        signal.trade_location,
    )


def _period(trade_id: str) -> int:
    """Return the signal's period, 0 if it is no id of a signal."""
    period = trade_id.rpartition("|")[2]
    return int(period) if period.isascii() and period.isdecimal() else 0
