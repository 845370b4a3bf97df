"""bitFlyer's public stream (Lightstream): JSON-RPC over a WebSocket, which ccxt has no reader for."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from heapq import nlargest, nsmallest
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from market.money import Amount, Price, decimal_of
from market.quotes import MAX_LEVELS, Level
from pricefeeds.books import BookTop
from pricefeeds.errors import FeedDroppedError, FeedRefusedError

OPEN_TIMEOUT_SECONDS = 5.0
CLOSE_TIMEOUT_SECONDS = 0.5


class Board:
    """One product's order book: a snapshot, and what changed since. bitFlyer gives it no time and no sequence."""

    def __init__(self) -> None:
        self._bids: dict[Decimal, Decimal] = {}
        self._asks: dict[Decimal, Decimal] = {}
        self.is_complete = False
        """False until the first snapshot; changes before it have nothing to be applied to."""

    def restart(self, message: Mapping[str, Any]) -> None:
        """Raises KeyError, TypeError, ValueError for what is no board."""
        self._bids, self._asks = {}, {}
        self.is_complete = True
        self.apply(message)

    def apply(self, message: Mapping[str, Any]) -> None:
        """Raises KeyError, TypeError, ValueError for what is no board."""
        _apply_side(self._bids, message["bids"])
        _apply_side(self._asks, message["asks"])

    def top(self) -> BookTop:
        bids = nlargest(MAX_LEVELS, self._bids)
        asks = nsmallest(MAX_LEVELS, self._asks)
        return BookTop(
            bids=tuple(Level(Price(price), Amount(self._bids[price])) for price in bids),
            asks=tuple(Level(Price(price), Amount(self._asks[price])) for price in asks),
        )


@asynccontextmanager
async def lightstream_books(url: str, product_code: str) -> AsyncIterator[AsyncIterator[BookTop]]:
    """Books of one product, one for each message, while the connection lasts.

    Opening and reading raise FeedDroppedError, and FeedRefusedError where the exchange declines the subscription.
    """
    try:
        connection = await connect(url, open_timeout=OPEN_TIMEOUT_SECONDS, close_timeout=CLOSE_TIMEOUT_SECONDS)
    except (WebSocketException, OSError, TimeoutError) as error:
        raise FeedDroppedError(f"cannot connect to bitFlyer's stream: {error}") from error
    try:
        yield _books(connection, product_code)
    finally:
        await connection.close()


def snapshot_channel(product_code: str) -> str:
    return f"lightning_board_snapshot_{product_code}"


def changes_channel(product_code: str) -> str:
    return f"lightning_board_{product_code}"


async def _books(connection: ClientConnection, product_code: str) -> AsyncIterator[BookTop]:
    board = Board()
    try:
        # The snapshots come seconds apart, changes at once: asking for changes first leaves no hole between them.
        for number, channel in enumerate((changes_channel(product_code), snapshot_channel(product_code)), start=1):
            request = {"jsonrpc": "2.0", "method": "subscribe", "params": {"channel": channel}, "id": number}
            await connection.send(json.dumps(request))
        async for frame in connection:
            if _applied(board, product_code, frame) and board.is_complete:
                yield board.top()
    except (WebSocketException, OSError) as error:
        raise FeedDroppedError(f"bitFlyer's stream broke: {error}") from error
    raise FeedDroppedError("bitFlyer closed its stream")


def _applied(board: Board, product_code: str, frame: str | bytes) -> bool:
    """Whether the frame was about this board. Raises FeedDroppedError for nonsense, FeedRefusedError for a no."""
    try:
        message = json.loads(frame, parse_float=Decimal)
        if message.get("error") is not None:
            raise FeedRefusedError(f"bitFlyer refused the subscription: {message['error']}")
        if message.get("method") != "channelMessage":
            return False
        channel, content = message["params"]["channel"], message["params"]["message"]
        if channel == snapshot_channel(product_code):
            board.restart(content)
        elif channel == changes_channel(product_code):
            board.apply(content)
        else:
            return False
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FeedDroppedError(f"bitFlyer sent what is no board: {error!r}") from error
    return True


def _apply_side(side: dict[Decimal, Decimal], changes: Sequence[Mapping[str, Any]]) -> None:
    for change in changes:
        price, amount = decimal_of(change["price"]), decimal_of(change["size"])
        # Price 0 gathers market orders during a halt (bitFlyer's docs, "board"): no level that one could trade at.
        if amount == 0 or price == 0:
            side.pop(price, None)
        else:
            side[price] = amount
