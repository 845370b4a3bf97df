"""bitFlyer's stream: the board alone, against the simulated exchange, and against a server that speaks badly."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import ServerConnection, serve

from market.quotes import Level
from pricefeeds.books import BookTop
from pricefeeds.errors import FeedDroppedError, FeedRefusedError
from pricefeeds.lightstream import Board, lightstream_books
from pricefeeds.sources import lightstream_url
from tests.pricefeeds.conftest import World
from tests.pricefeeds.samples import level

DEADLINE_SECONDS = 10.0
Side = list[tuple[float, float]]


def message(bids: Side, asks: Side) -> dict[str, object]:
    sides = {
        name: [{"price": price, "size": size} for price, size in side]
        for name, side in (("bids", bids), ("asks", asks))
    }
    return {"mid_price": 0, **sides}


def top_of(board: Board) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
    return board.top().bids, board.top().asks


def test_a_board_is_a_snapshot_and_its_changes() -> None:
    board = Board()
    assert not board.is_complete
    board.restart(message([(100, 1), (99, 2)], [(101, 1), (102, 2)]))
    assert board.is_complete
    board.apply(message([(100, 0), (98, 0.5)], [(101.5, 3)]))
    assert top_of(board) == (
        (level("99", "2"), level("98", "0.5")),
        (level("101", "1"), level("101.5", "3"), level("102", "2")),
    )
    board.restart(message([(50, 1)], []))
    assert top_of(board) == ((level("50", "1"),), ())


def test_market_orders_during_a_halt_are_no_level() -> None:
    board = Board()
    board.restart(message([(0, 5), (99, 2)], [(0, 7), (101, 1)]))
    assert top_of(board) == ((level("99", "2"),), (level("101", "1"),))


def test_ten_levels_of_a_deep_board() -> None:
    board = Board()
    board.restart(message([(price, 1) for price in range(1, 500)], [(price, 1) for price in range(900, 501, -1)]))
    bids, asks = top_of(board)
    assert [entry.price for entry in bids] == list(range(499, 489, -1))
    assert [entry.price for entry in asks] == list(range(502, 512))


async def test_books_follow_the_simulated_exchange(world: World) -> None:
    """After every move of the exchange the reader's ten levels become the exchange's own."""
    async with asyncio.timeout(DEADLINE_SECONDS), lightstream_books(lightstream_url(world.session), "BTC_JPY") as books:
        top = await anext(books)
        for _ in range(300):
            await world.step()
            while (top.bids, top.asks) != world.levels("bitflyer", "BTC/JPY"):
                top = await anext(books)


async def test_an_unknown_product_is_refused(world: World) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), lightstream_books(lightstream_url(world.session), "XYZ_JPY") as books:
        with pytest.raises(FeedRefusedError, match="bitFlyer refused the subscription"):
            await anext(books)


async def test_nobody_there_is_a_dropped_feed() -> None:
    with pytest.raises(FeedDroppedError, match="cannot connect to bitFlyer's stream"):
        async with lightstream_books("ws://127.0.0.1:1/bitflyer/ws", "BTC_JPY"):
            pass


@asynccontextmanager
async def hearing(*frames: str) -> AsyncIterator[AsyncIterator[BookTop]]:
    """Our reader, subscribed to a server that sends `frames` once it has heard both requests, then closes."""

    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.recv()
        for frame in frames:
            await connection.send(frame)

    async with serve(speak, "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with lightstream_books(url, "BTC_JPY") as books:
            yield books


def channel_message(channel: str, content: object) -> str:
    return json.dumps(
        {"jsonrpc": "2.0", "method": "channelMessage", "params": {"channel": channel, "message": content}}
    )


SNAPSHOT = channel_message("lightning_board_snapshot_BTC_JPY", message([(100, 1)], [(101, 1)]))
CHANGES = "lightning_board_BTC_JPY"
NONSENSE = {
    "truncated": '{"jsonrpc":"2.0","method":"channelMess',
    "plain text": "hello",
    "a list": "[1, 2]",
    "no message": '{"method":"channelMessage","params":{}}',
    "no sides": channel_message(CHANGES, {"mid_price": 1}),
    "no number": channel_message(CHANGES, {"bids": [{"price": "x", "size": 1}], "asks": []}),
    "null": channel_message(CHANGES, {"bids": [{"price": None, "size": 1}], "asks": []}),
    "not a list of levels": channel_message(CHANGES, {"bids": 5, "asks": []}),
}


@pytest.mark.parametrize("frame", NONSENSE.values(), ids=NONSENSE.keys())
async def test_nonsense_drops_the_feed_at_once(frame: str) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), hearing(SNAPSHOT, frame, SNAPSHOT) as books:
        assert await anext(books) == BookTop((level("100"),), (level("101"),))
        with pytest.raises(FeedDroppedError, match="sent what is no board"):
            await anext(books)


async def test_what_is_not_about_the_board_is_passed_over_and_the_end_is_told() -> None:
    others = (
        '{"jsonrpc":"2.0","id":1,"result":true}',
        channel_message(CHANGES, message([(1, 1)], [])),  # before the snapshot there is nothing to change
        channel_message("lightning_ticker_BTC_JPY", {}),
    )
    async with asyncio.timeout(DEADLINE_SECONDS), hearing(*others, SNAPSHOT) as books:
        assert (await anext(books)).bids == (level("100"),)
        with pytest.raises(FeedDroppedError, match="bitFlyer closed its stream"):
            await anext(books)
