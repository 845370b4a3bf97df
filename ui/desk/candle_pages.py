"""Pages of candles, newest first: of one market, and of the spread between two."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from market.instruments.markets import Market, fx_route
from market.prices.candles import (
    INTERVALS,
    CandleInterval,
    PricedCandles,
    QuoteCandle,
    SpreadCandle,
    candle_start,
    merged_candles,
    spread_candles,
)
from session.session import Session
from store.errors import CursorError
from store.server.page_reader import Page
from ui.candles.candle_files import END, MOST_READ, KeptInterval
from ui.candles.candle_keeper import CandleKeeper
from ui.services.session_markets import listed

Candle = TypeVar("Candle", QuoteCandle, SpreadCandle)

MARKET_SOURCES: dict[CandleInterval, KeptInterval] = {
    **dict.fromkeys(("1s", "5s", "15s"), "1s"),
    **dict.fromkeys(("1m", "5m", "15m"), "1m"),
    **dict.fromkeys(("1h", "4h", "1d"), "1h"),
}
SPREAD_SOURCES: dict[CandleInterval, KeptInterval] = {
    **dict.fromkeys(("1s", "5s", "15s", "1m", "5m"), "1s"),
    **dict.fromkeys(("15m", "1h", "4h"), "1m"),
    "1d": "1h",
}
"""What a candle is made of: a spread is only known at the end of each."""
CARRIED_SECONDS = 10
"""A price line has a gap if no quote came, or was confirmed, for so long."""


class NoMarketError(Exception):
    """The session has no such market, or no such spread; one sentence."""


@dataclass(frozen=True, slots=True)
class CandleQuestion:
    """`since` ≤ start < `until`, microseconds; at most `limit` candles; `cursor` of the page before."""

    interval: CandleInterval
    since: int = 0
    until: int = END
    limit: int = 300
    cursor: str | None = None

    @property
    def end(self) -> int:
        """Raise CursorError if the cursor is none of ours."""
        if self.cursor is None:
            return self.until
        if not (self.cursor.isascii() and self.cursor.isdigit() and len(self.cursor) <= len(str(END))):
            raise CursorError
        return min(self.until, int(self.cursor))

    def most(self, source: KeptInterval) -> int:
        """Return how many candles of `source` are read: one more candle's than asked for, the oldest being cut off."""
        return min(MOST_READ, (self.limit + 1) * (INTERVALS[self.interval] // INTERVALS[source]))


def session_market(session: Session, exchange: str, symbol: str) -> Market:
    """Return the market. Raises NoMarketError."""
    found = {one.symbol: one for one in session.markets if one.exchange == exchange}
    if symbol not in found:
        raise NoMarketError(f"{exchange} has no market {symbol[:40]!r} in this session; it has {listed(found)}.")
    return found[symbol]


async def market_candles(keeper: CandleKeeper, market: Market, asked: CandleQuestion) -> Page[QuoteCandle]:
    """Return a page, newest first. Raises CursorError, OSError."""
    source = MARKET_SOURCES[asked.interval]
    read = await _read(keeper, market, source, asked)
    return _page(merged_candles(read, INTERVALS[asked.interval]), asked, _cut_at(read, source, asked))


async def spread_page(
    session: Session, keeper: CandleKeeper, buy: Market, sell: Market, asked: CandleQuestion
) -> Page[SpreadCandle]:
    """Return a page of the spread of buying on one market and selling on the other, newest first. Raises
    NoMarketError, CursorError, OSError."""
    if buy.base != sell.base or (buy.exchange, buy.symbol) == (sell.exchange, sell.symbol):
        raise NoMarketError("A spread is between two different markets of one asset.")
    source = SPREAD_SOURCES[asked.interval]
    sides = [await _read(keeper, market, source, asked) for market in (buy, sell)]
    cut_at = max(_cut_at(read, source, asked) for read in sides)
    priced = [
        await _priced(session, keeper, market, read, source, cut_at)
        for market, read in zip((buy, sell), sides, strict=True)
    ]
    carried = max(CARRIED_SECONDS * INTERVALS["1s"], INTERVALS[source])
    found = spread_candles(priced[0], priced[1], INTERVALS[asked.interval], carried)
    return _page(found, asked, cut_at)


async def _read(keeper: CandleKeeper, market: Market, source: KeptInterval, asked: CandleQuestion) -> list[QuoteCandle]:
    length = INTERVALS[asked.interval]
    since = candle_start(asked.since + length - 1, length)
    return await keeper.candles((market.exchange, market.symbol), source, since, asked.end, asked.most(source))


async def _priced(
    session: Session,
    keeper: CandleKeeper,
    market: Market,
    read: Sequence[QuoteCandle],
    source: KeptInterval,
    since: int,
) -> PricedCandles:
    """Return the candles with the rates of their currency. Raises NoMarketError if nothing converts it."""
    try:
        route = fx_route(market.quote_currency, session.settlement_currency, session.markets)
    except LookupError as error:
        raise NoMarketError(f"No spread of {market.symbol} on {market.exchange}: {error}.") from None
    if route is None:
        return PricedCandles(read)
    # whichever exchange quotes it: in a session one does
    fx = next(one for one in session.markets if one.is_fx and one.symbol == route.symbol)
    until = read[-1].start + 1 if read else since
    first = max(since - CARRIED_SECONDS * INTERVALS["1s"], 0)
    rates = await keeper.candles((fx.exchange, fx.symbol), source, first, until)
    return PricedCandles(read, rates, route.inverted)


def _cut_at(read: Sequence[QuoteCandle], source: KeptInterval, asked: CandleQuestion) -> int:
    """Return the start of the first candle that is whole: what was read may begin within one. 0 if nothing was left
    out."""
    if len(read) < asked.most(source):
        return 0
    length = INTERVALS[asked.interval]
    return candle_start(read[0].start + length - 1, length)


def _page(found: Iterable[Candle], asked: CandleQuestion, cut_at: int) -> Page[Candle]:
    """Return the newest that are whole; the cursor is the start of the oldest, before which the next page ends."""
    whole = [one for one in found if one.start >= cut_at]
    shown = whole[-asked.limit :]
    is_last = cut_at == 0 and len(shown) == len(whole)
    oldest = shown[0].start if shown else cut_at
    return Page(tuple(reversed(shown)), None if is_last else str(oldest))
