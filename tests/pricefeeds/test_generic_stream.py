"""ccxt's books as frames: recorded messages of exchanges that nobody here reads, and messages that ccxt cannot take."""

import asyncio
import json
from collections.abc import Iterator
from decimal import Decimal

import pytest

from exchanges.books.errors import FrameRejectedError
from exchanges.ccxt.book_stream import BookStream
from exchanges.ccxt.generic_book import GenericBooks
from exchanges.errors import ExchangeUnavailableError
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook
from market.prices.quotes import Level
from tests.exchanges.books.recordings import received_frames
from tests.pricefeeds.generic_streams import played

GEMINI = {"symbol": "ALCX/USD", "id": "alcxusd", "base": "ALCX", "quote": "USD", "baseId": "ALCX", "quoteId": "USD"}
BITFINEX = {"symbol": "ODE/USD", "id": "tODEUSD", "base": "ODE", "quote": "USD", "baseId": "ODE", "quoteId": "USD"}
SNAPSHOT = '{"type":"l2_updates","symbol":"ALCXUSD","changes":[["buy","302.75","0.5"],["sell","303","2"]]}'
NEXT = '{"type":"l2_updates","symbol":"ALCXUSD","changes":[["buy","302.75","0"],["buy","302.5","0.00000001"]]}'


async def test_recorded_messages_of_gemini_come_out_as_its_books() -> None:
    frames = [frame for _, frame in received_frames("GEMINI.ws.1.0") if '"ALCXUSD"' in frame]
    await _comes_out("gemini", GEMINI, frames, [*_gemini_books(frames)])


async def test_recorded_messages_of_bitfinex_come_out_as_its_books() -> None:
    frames = [frame for _, frame in received_frames("BITFINEX.ws.11.0")]
    channel = next(json.loads(one)["chanId"] for one in frames if '"channel":"book"' in one and '"tODEUSD"' in one)
    frames = [one for one in frames if one.startswith(f"[{channel},") or f'"chanId":{channel},' in one]
    await _comes_out("bitfinex", BITFINEX, frames, [*_bitfinex_books(frames)])


async def _comes_out(exchange: str, market: dict[str, str], frames: list[str], books: list[BookTop]) -> None:
    assert len(books) > 10
    parser = GenericBooks()
    async with played(exchange, market, frames) as stream, asyncio.timeout(20):
        texts = stream.texts()
        for number, book in enumerate(books):
            [top] = parser.take_frame(await anext(texts), 0)
            assert top == book, number


@pytest.mark.parametrize("frame", ['{"type":"l2_updates","symbol":', '{"type":"l2_updates","changes":7}'])
async def test_a_message_that_ccxt_cannot_take_is_a_fault_and_not_the_end_of_all_messages(frame: str) -> None:
    parser = GenericBooks()
    async with played("gemini", GEMINI, [SNAPSHOT, frame, NEXT]) as stream, asyncio.timeout(20):
        texts = stream.texts()
        assert parser.take_frame(await anext(texts), 0) == [_top({"302.75": "0.5"}, {"303": "2"})]
        with pytest.raises(FrameRejectedError, match="malformed"):
            parser.take_frame(await anext(texts), 0)


async def test_each_book_is_a_copy_and_none_is_left_out() -> None:
    async with played("gemini", GEMINI, [SNAPSHOT, NEXT, SNAPSHOT, NEXT]) as stream, asyncio.timeout(20):
        texts = stream.texts()
        said = [await anext(texts) for _ in range(4)]
    parser = GenericBooks()
    first = _top({"302.75": "0.5"}, {"303": "2"})
    second = _top({"302.5": "0.00000001"}, {"303": "2"})
    third = _top({"302.75": "0.5", "302.5": "0.00000001"}, {"303": "2"})
    assert [top for text in said for top in parser.take_frame(text, 0)] == [first, second, third, second]


async def test_the_end_of_the_connection_ends_the_books() -> None:
    async with played("gemini", GEMINI, [SNAPSHOT]) as stream, asyncio.timeout(20):
        texts = stream.texts()
        await anext(texts)
        await _cut(stream)
        with pytest.raises(ExchangeUnavailableError):
            await anext(texts)


async def test_an_end_between_two_books_is_not_mended_in_silence() -> None:
    """ccxt tells an end only to who waits for a book just then, and connects again for who asks afterwards."""
    async with played("gemini", GEMINI, [SNAPSHOT]) as stream, asyncio.timeout(20):
        texts = stream.texts()
        await anext(texts)
        # the book is here, and the next one is not asked for yet
        [socket] = stream._client.clients.values()
        assert socket.futures == {}
        socket.on_close(1006)
        with pytest.raises(ExchangeUnavailableError, match="closing code 1006"):
            await anext(texts)


async def _cut(stream: BookStream) -> None:
    for socket in list(stream._client.clients.values()):
        await socket.connection.close()


def _gemini_books(frames: list[str]) -> Iterator[BookTop]:
    book = OrderBook()
    for fields in map(json.loads, frames):
        if fields.get("type") == "l2_updates":
            changes = fields["changes"]
            bids, asks = (
                [_level(price, size) for way, price, size in changes if way == one] for one in ("buy", "sell")
            )
            (book.restart if "trades" in fields and "auction_events" in fields else book.apply)(bids, asks)
            yield book.top()


def _bitfinex_books(frames: list[str]) -> Iterator[BookTop]:
    """[channel, [[price, count, amount], …]] or [channel, [price, count, amount]]; a count of 0 removes."""
    book = OrderBook()
    for row in map(json.loads, frames):
        if isinstance(row, dict) or row[1] == "hb":
            continue
        rows = row[1] if isinstance(row[1][0], list) else [row[1]]
        for price, count, amount in rows:
            level = _level(str(price), str(abs(Decimal(str(amount)))) if count else "0")
            book.apply(*(([level], []) if amount > 0 else ([], [level])))
        yield book.top()


def _top(bids: dict[str, str], asks: dict[str, str]) -> BookTop:
    book = OrderBook()
    book.restart([_level(*one) for one in bids.items()], [_level(*one) for one in asks.items()])
    return book.top()


def _level(price: str, amount: str) -> Level:
    return Level(Decimal(price), Decimal(amount))  # type: ignore[arg-type]  # a price and an amount by their names
