"""Whenever a reader joins, and whatever the account does between two steps, all readers have the current book."""

from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from exchanges.books.port import Conversation, FetchSnapshot, Send, WireOutput
from exchanges.catalogue import own_facts, wire_of
from market.instruments.orders import Side
from market.prices.book_top import BookTop
from simulators.matching.order_records import OrderRequest, RequestRejectedError
from tests.exchanges.served import TRADED
from tests.simulators.visitor import Reader, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, WireClient

ROUNDS = 60
JOINING = (0, 17, 35)
SIDES: tuple[Side, ...] = ("buy", "sell")


@dataclass
class Follower:
    """One connection that rebuilds the book as feeders do."""

    visitor: Visitor
    reader: Reader
    conversation: Conversation
    top: BookTop | None = None

    async def obey(self, heard: list[WireOutput]) -> None:
        for step in heard:
            if isinstance(step, Send):
                await self.reader.socket.send_str(step.text)
            elif isinstance(step, FetchSnapshot):
                wire = wire_of(self.visitor.wire.exchange)
                async with self.visitor.session.get(f"{self.visitor.outside.url}/{wire.name}{step.path}") as got:
                    await self.obey(self.conversation.take_snapshot(await got.read(), self.visitor.clock.now()))
            elif isinstance(step, BookTop):
                self.top = step

    async def catch_up(self) -> None:
        for frame in await self.reader.said():
            await self.obey(self.conversation.take_frame(frame, self.visitor.clock.now()))


@dataclass
class Trader:
    """Places orders at random around the best prices: some fill, in part or whole, some rest, some are cancelled."""

    visitor: Visitor
    random: Random = field(default_factory=lambda: Random(7))
    placed: list[str] = field(default_factory=list)

    def act(self) -> None:
        exchange, symbol = self.visitor.exchange, self.visitor.wire.symbol
        listing, book = exchange.listings[symbol], exchange.books[symbol]
        for _ in range(self.random.randrange(4)):
            side = self.random.choice(SIDES)
            best = book.best("sell" if side == "buy" else "buy") or 0
            price = listing.price(best + self.random.randrange(-30, 31) * max(1, best // 20_000))
            amount = Decimal(self.random.choice(("0.01", "0.3", "1")))
            with suppress(RequestRejectedError):
                order = exchange.place(OrderRequest(symbol, side, amount, price, self.random.random() < 0.3))
                self.placed.append(order.order_id)
        if self.placed and self.random.random() < 0.4:
            with suppress(RequestRejectedError):
                exchange.cancel(self.random.choice(self.placed))


async def joined(visitor: Visitor) -> Follower:
    wire = wire_of(visitor.wire.exchange)
    [market] = [market for market in TRADED if market.exchange == wire.name and market.symbol == visitor.wire.symbol]
    path = own_facts(wire.name).addresses.stream_path
    socket = await visitor.session.ws_connect(f"{visitor.outside.url}/{wire.name}{path}", autoping=False)
    follower = Follower(visitor, Reader(socket), wire.conversation(market, visitor.keys))
    await follower.obey(follower.conversation.open(visitor.clock.now()))
    await follower.catch_up()
    return follower


def check(follower: Follower) -> None:
    visitor, top = follower.visitor, follower.top
    assert top is not None
    listing = visitor.exchange.listings[visitor.wire.symbol]
    book = visitor.exchange.books[visitor.wire.symbol]
    for side, levels in zip(SIDES, (top.bids, top.asks), strict=True):
        standing = [(listing.price(ticks), listing.amount(lots)) for ticks, lots in book.levels(side, 10)]
        assert [(Decimal(price), Decimal(amount)) for price, amount in levels] == standing


@pytest.mark.parametrize("wire", WIRE_CLIENTS, ids=lambda wire: wire.exchange)
async def test_all_readers_have_the_book_that_stands(wire: WireClient, tmp_path: Path) -> None:
    async with visiting(tmp_path, wire) as visitor:
        followers: list[Follower] = []
        trader = Trader(visitor)
        for number in range(ROUNDS):
            if number in JOINING:
                followers.append(await joined(visitor))
            trader.act()
            visitor.clock.advance(0.05)
            visitor.rounds(1)
            # Binance says every third step what has changed since the last time
            is_reported = wire.exchange != "binance" or number % 3 == 1
            for follower in followers:
                await follower.catch_up()
                if is_reported:
                    check(follower)
        assert visitor.exchange.customer.fills
