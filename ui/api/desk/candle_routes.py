"""GET: candles of a market, of the spread between two, and the order books of now."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Query, Request

from market.decide.settings import Settings
from market.instruments.markets import Market
from market.money import decimal_of
from market.prices.candles import CandleInterval
from streams.message_format import WireError
from ui.desk.candle_pages import CandleQuestion, NoMarketError, market_candles, session_market, spread_page
from ui.examples.candle_examples import BOOK, CANDLES, SPREAD_CANDLES
from ui.examples.trade_examples import shown
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.row_pages import Cursor
from ui.rows.book import BookRow, book_row
from ui.rows.candle import CandlePageRow, SpreadCandlePageRow, candle_page_row, spread_candle_page_row
from ui.services.dashboard import Dashboard, dashboard_of

router = APIRouter(tags=["market"])

Answer = TypeVar("Answer")

LATEST = 2**53 - 1
"""The latest microsecond that a JSON number holds exactly."""
Interval = Annotated[CandleInterval, Query(description="Length of a candle.")]
Since = Annotated[int, Query(alias="from", ge=0, le=LATEST, description="Earliest start, microseconds UTC.")]
Until = Annotated[int, Query(ge=0, le=LATEST, description="Latest start, exclusive, microseconds UTC.")]
Candles = Annotated[int, Query(alias="limit", ge=1, le=1_000, description="Candles per page.")]
Name = Annotated[str, Query(max_length=40, description="Exchange.")]
Symbol = Annotated[str, Query(max_length=60, description="A market of the exchange, for example BTC/USD.")]


def candle_question(
    interval: Interval = "1m", since: Since = 0, until: Until = LATEST, cursor: Cursor = None, limit: Candles = 300
) -> CandleQuestion:
    return CandleQuestion(interval, since, until, limit, cursor)


Asked = Annotated[CandleQuestion, Depends(candle_question)]


@router.get("/candles", responses=shown(example=CANDLES))
async def candles(
    request: Request,
    asked: Asked,
    exchange: Name,
    symbol: Symbol,
) -> CandlePageRow:
    """Return candles of one market's mids, newest first: the one that grows, and those that were kept (seconds twelve
    hours, minutes thirty days, hours for ever), over all sessions of the data folder. A span without quotes has
    none."""
    dashboard = dashboard_of(request.app)
    market = _market(dashboard, exchange, symbol)
    page = await _answered(lambda: market_candles(dashboard.hub.candles, market, asked))
    return candle_page_row(page, asked.interval, dashboard.session.clock().now())


@router.get("/candles/spread", responses=shown(example=SPREAD_CANDLES))
async def spread(
    request: Request,
    asked: Asked,
    buy_exchange: Name,
    buy_symbol: Symbol,
    sell_exchange: Name,
    sell_symbol: Symbol,
) -> SpreadCandlePageRow:
    """Return candles of the spread between two markets of one asset, newest first: bps, after FX and before fees, of
    buying on one and selling on the other. Sampled each second; above five minutes each minute, for days each hour. A
    page may hold fewer than `limit` while `next_cursor` says that there is more."""
    dashboard = dashboard_of(request.app)
    buy, sell = _market(dashboard, buy_exchange, buy_symbol), _market(dashboard, sell_exchange, sell_symbol)
    page = await _answered(lambda: spread_page(dashboard.session, dashboard.hub.candles, buy, sell, asked))
    return spread_candle_page_row(page, asked.interval, dashboard.session.clock().now())


@router.get("/books", responses=shown(example=BOOK) | {404: PROBLEM_RESPONSE})
async def book(
    request: Request,
    exchange: Name,
    symbol: Symbol,
    amount: Annotated[
        str | None, Query(max_length=60, description="Base amount of an order that is walked through both sides.")
    ] = None,
) -> BookRow:
    """Return both sides of a market's newest book in the log, up to ten levels, and what one order would get."""
    dashboard = dashboard_of(request.app)
    market = _market(dashboard, exchange, symbol)
    latest = dashboard.hub.live_state.latest(market.exchange, market.symbol)
    if latest is None:
        raise ProblemError(404, f"No quote of {symbol} on {exchange} has come yet.")
    try:
        size = None if amount is None else decimal_of(amount)
    except ValueError as error:
        raise ProblemError(422, f"amount: {error}.") from None
    if size is not None and size <= 0:
        raise ProblemError(422, "amount: write a number above 0.")
    try:
        return book_row(latest, size, dashboard.session.clock().now(), _max_quote_age(dashboard.hub.settings))
    except WireError:
        raise ProblemError(404, f"The newest quote of {symbol} on {exchange} is no book.") from None


def _max_quote_age(settings: Settings | None) -> int:
    """In microseconds; 0 without settings, so that nothing counts as fresh."""
    return 0 if settings is None else settings.max_quote_age_ms * 1_000


def _market(dashboard: Dashboard, exchange: str, symbol: str) -> Market:
    try:
        return session_market(dashboard.session, exchange, symbol)
    except NoMarketError as error:
        raise ProblemError(422, str(error)) from None


async def _answered(read: Callable[[], Awaitable[Answer]]) -> Answer:
    """Raise ProblemError 422, 503."""
    try:
        return await read()
    except NoMarketError as error:
        raise ProblemError(422, str(error)) from None
    except OSError as error:
        detail = f"Candles cannot be read from the disk: {error.strerror}. Try again in a moment."
        raise ProblemError(503, detail, headers={"Retry-After": "5"}) from None
