"""Candles of a market's quotes, and of the spread between two markets. Pure.

A candle covers `start` ≤ time < `start` + its length; intervals begin at whole multiples since 1970, so days are UTC.
Prices are mids in quote currency, exact; a spread is in bps, rounded half to even to `SPREAD_STEP`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from heapq import merge
from itertools import groupby
from typing import Literal

from market.money import BPS
from market.time_units import MICROSECONDS

CandleInterval = Literal["1s", "5s", "15s", "1m", "5m", "15m", "1h", "4h", "1d"]

INTERVALS: dict[CandleInterval, int] = {
    "1s": MICROSECONDS,
    "5s": 5 * MICROSECONDS,
    "15s": 15 * MICROSECONDS,
    "1m": 60 * MICROSECONDS,
    "5m": 300 * MICROSECONDS,
    "15m": 900 * MICROSECONDS,
    "1h": 3_600 * MICROSECONDS,
    "4h": 14_400 * MICROSECONDS,
    "1d": 86_400 * MICROSECONDS,
}
"""Name → length in microseconds."""
SPREAD_STEP = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class QuoteCandle:
    """Mids of one market; `bid` and `ask` are the best prices at its end.

    `quotes` counts those that arrived; 0 if the feed only said that the one before was still valid.
    """

    start: int
    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal
    bid: Decimal
    ask: Decimal
    quotes: int


@dataclass(frozen=True, slots=True)
class SpreadCandle:
    """Gross spread of buying on one market and selling on the other, in bps; `samples`: how often both had a price."""

    start: int
    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal
    samples: int


@dataclass(frozen=True, slots=True)
class PricedCandles:
    """One side of a spread. `rates`: candles of the FX market that converts its currency, if one has to.

    `inverted`: that market is SETTLEMENT/CURRENCY (`market.instruments.markets.FxRoute`).
    """

    candles: Sequence[QuoteCandle]
    rates: Sequence[QuoteCandle] | None = None
    inverted: bool = False


def candle_start(time: int, length: int) -> int:
    """Return the start of the candle that `time` is in; both in microseconds."""
    return time - time % length


def merged_candles(candles: Iterable[QuoteCandle], length: int) -> Iterator[QuoteCandle]:
    """Yield the candles of `length` microseconds that shorter ones, oldest first, make up."""
    for start, parts in groupby(candles, key=lambda one: candle_start(one.start, length)):
        yield united(start, list(parts))


def united(start: int, parts: Sequence[QuoteCandle]) -> QuoteCandle:
    """Return one candle of all `parts`, oldest first; there is at least one."""
    last = parts[-1]
    return QuoteCandle(
        start=start,
        open=parts[0].open,
        high=max(part.high for part in parts),
        low=min(part.low for part in parts),
        close=last.close,
        bid=last.bid,
        ask=last.ask,
        quotes=sum(part.quotes for part in parts),
    )


def spread_candles(buy: PricedCandles, sell: PricedCandles, length: int, carried: int) -> Iterator[SpreadCandle]:
    """Yield the candles of what buying on `buy` and selling on `sell` would bring before fees, oldest first.

    Sampled at the end of each of their candles: the bid of one and the ask of the other, each at the side of the FX
    that a trade would pay. A price holds for `carried` microseconds after its candle's start.
    """
    for start, samples in groupby(_spreads(buy, sell, carried), key=lambda one: candle_start(one[0], length)):
        values = [value for _, value in samples]
        yield SpreadCandle(start, values[0], max(values), min(values), values[-1], len(values))


def spread_bps(ask: Decimal, bid: Decimal) -> Decimal:
    """Return the spread of buying at `ask` and selling at `bid`, both in one currency."""
    return ((bid - ask) * BPS / ask).quantize(SPREAD_STEP)


def _spreads(buy: PricedCandles, sell: PricedCandles, carried: int) -> Iterator[tuple[int, Decimal]]:
    """Yield (start of the sampled candle, spread)."""
    streams = [buy.candles, buy.rates or (), sell.candles, sell.rates or ()]
    needed = [True, buy.rates is not None, True, sell.rates is not None]
    known: list[QuoteCandle | None] = [None] * len(streams)
    numbered = ([(one.start, number, one) for one in stream] for number, stream in enumerate(streams))
    for start, group in groupby(merge(*numbered, key=lambda one: one[:2]), key=lambda one: one[0]):
        for _, number, candle in group:
            known[number] = candle
        bought, buy_rate, sold, sell_rate = (
            one if one is not None and start - one.start <= carried else None for one in known
        )
        if bought is None or sold is None:
            continue
        if (needed[1] and buy_rate is None) or (needed[3] and sell_rate is None):
            continue
        yield start, spread_bps(_paid(bought.ask, buy_rate, buy.inverted), _got(sold.bid, sell_rate, sell.inverted))


def _paid(ask: Decimal, rate: QuoteCandle | None, inverted: bool) -> Decimal:
    if rate is None:
        return ask
    return ask / rate.bid if inverted else ask * rate.ask


def _got(bid: Decimal, rate: QuoteCandle | None, inverted: bool) -> Decimal:
    if rate is None:
        return bid
    return bid / rate.ask if inverted else bid * rate.bid
