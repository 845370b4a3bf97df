"""Messages of Coinbase Exchange's stream about one product, with the product's sequence."""

from collections.abc import Iterable
from itertools import takewhile
from uuid import uuid5

from market.instruments.orders import Side
from simulators.coinbaseexchange.coinbaseexchange_rows import IDS, PROFILE_ID, USER_ID, trade_row
from simulators.market.traded_day import DayFigures, TradedDay
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import PublicTrade, SimulatedAccountEvent, SimulatedFill, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT
from simulators.web.exchange_gateway import Change, best_texts, iso_text, levels_of

_WHOLE_BOOK = 1_000
_BOTH_SIDES: tuple[Side, Side] = ("buy", "sell")
Message = dict[str, object]


class ProductFeed:
    """The sequence grows by one for each trade, each level that changes and each step of the account's orders.

    It starts at the time in microseconds, so that it goes on growing after a restart.
    """

    def __init__(self, exchange: SimulatedExchange, listing: Listing) -> None:
        self.listing = listing
        self.sequence = exchange.clock.now()
        self._exchange = exchange
        self._day = TradedDay()
        self._sequences: dict[int, int] = {}
        self._last_number = 0

    def figures(self) -> DayFigures | None:
        """None where nothing was traded for a day."""
        return self._day.figures(self._exchange.clock.now())

    def snapshot(self) -> Message:
        book = self._exchange.books[self.listing.market.symbol]
        levels = levels_of(self.listing, book, _WHOLE_BOOK)
        now = iso_text(self._exchange.clock.now())
        return {"type": "snapshot", "product_id": self.listing.market_id, **levels, "time": now}

    def update(self, changes: Iterable[Change]) -> Message:
        rows = [[side, self.listing.price_text(at), self.listing.amount_text(lots)] for side, at, lots in changes]
        now = iso_text(self._exchange.clock.now())
        return {"type": "l2update", "product_id": self.listing.market_id, "changes": rows, "time": now}

    def advance(self, steps: int) -> None:
        self._number_trades(self._newest())
        self.sequence += steps

    def match(self, trade: PublicTrade, kind: str = "match") -> Message:
        """`side` is the maker's, as everywhere on this stream but in the ticker."""
        maker, taker = self._parties(trade)
        price = fixed_text(trade.price, self.listing.price_decimals)
        orders = {"maker_order_id": maker, "taker_order_id": taker, "price": price}
        return {"type": kind, **trade_row(trade), **orders, **self._stamp(self._sequence_of(trade.number))}

    def last_match(self) -> Message | None:
        newest = self._exchange.tape.newest(self.listing.market.symbol, 1)
        return self.match(newest[0], "last_match") if newest else None

    def traded(self, trade: PublicTrade) -> None:
        """Count a trade in the day's figures."""
        self._day.add(trade)

    def ticker(self) -> Message | None:
        """None before the first trade."""
        figures = self.figures()
        if figures is None:
            return None
        last, book = figures.last, self._exchange.books[self.listing.market.symbol]
        (bid, ask), decimals = best_texts(self.listing, book), self.listing.price_decimals
        bid_lots, ask_lots = (book.lots_at(side, book.best(side) or 0) for side in _BOTH_SIDES)
        return {
            "type": "ticker",
            **self._stamp(self._sequence_of(last.number)),
            "price": fixed_text(last.price, decimals),
            "open_24h": fixed_text(figures.open, decimals),
            "volume_24h": fixed_text(figures.volume, 8),
            "low_24h": fixed_text(figures.low, decimals),
            "high_24h": fixed_text(figures.high, decimals),
            # the simulated market is never older than what it remembers
            "volume_30d": fixed_text(figures.volume, 8),
            "best_bid": bid,
            "best_bid_size": self.listing.amount_text(bid_lots),
            "best_ask": ask,
            "best_ask_size": self.listing.amount_text(ask_lots),
            "side": last.side,
            "time": iso_text(last.traded_at),
            "trade_id": last.number,
            "last_size": fixed_text(last.amount, 8),
        }

    def heartbeat(self) -> Message:
        self._number_trades(self._newest())
        now = iso_text(self._exchange.clock.now())
        return {"type": "heartbeat", "last_trade_id": self._last_number, **self._stamp(self.sequence), "time": now}

    def step_of(self, event: SimulatedAccountEvent) -> Message:
        """One step of an order of the account, as sent to its owner."""
        if event.fill is not None:
            return self._own_match(event.fill)
        if event.kind == "opened":
            return self._received(event.order)
        return self._done(event.order)

    def opened(self, order: SimulatedOrder) -> Message:
        message = self._of_order("open", order, order.placed_at, self._newest())
        return {**message, "price": fixed_text(order.price or order.amount, 8), "remaining_size": _size(order)}

    def _received(self, order: SimulatedOrder) -> Message:
        # orders and trades are numbered alike: what it met came after it
        message = self._of_order("received", order, order.placed_at, order.number)
        message["order_type"] = "market" if order.price is None else "limit"
        message["size"] = fixed_text(order.amount, 8)
        if order.price is not None:
            message["price"] = fixed_text(order.price, 8)
        if order.client_order_id:
            message["client_oid"] = order.client_order_id
        return message

    def _done(self, order: SimulatedOrder) -> Message:
        fills = self._exchange.customer.fills_of(order.order_id)
        last = fills[-1].number if order.state == "done" else self._newest()
        message = self._of_order("done", order, order.ended_at or order.placed_at, last)
        message["reason"] = "filled" if order.state == "done" else "canceled"
        if order.price is not None:
            # a market order was never in the book, so its remainder is not reported
            message |= {"price": fixed_text(order.price, 8), "remaining_size": _size(order)}
        return message

    def _own_match(self, fill: SimulatedFill) -> Message:
        trade = PublicTrade(fill.number, fill.symbol, _taker_side(fill), fill.price, fill.amount, fill.filled_at)
        rate = self.listing.taker_rate if fill.liquidity == "taker" else self.listing.maker_rate
        role = fill.liquidity
        mine = {f"{role}_user_id": USER_ID, f"{role}_profile_id": PROFILE_ID, f"{role}_fee_rate": format(rate, "f")}
        return {**self.match(trade), "user_id": USER_ID, "profile_id": PROFILE_ID, **mine}

    def _of_order(self, kind: str, order: SimulatedOrder, time: int, last_trade: int) -> Message:
        """`last_trade`: the number of the last trade before it."""
        self._number_trades(last_trade)
        self.sequence += 1
        return {
            "type": kind,
            "time": iso_text(time),
            **self._stamp(self.sequence),
            "order_id": order.order_id,
            "side": order.side,
            "user_id": USER_ID,
            "profile_id": PROFILE_ID,
        }

    def _stamp(self, sequence: int) -> Message:
        return {"product_id": self.listing.market_id, "sequence": sequence}

    def _sequence_of(self, number: int) -> int:
        self._number_trades(number)
        return self._sequences[number]

    def _newest(self) -> int:
        """The number of the newest trade."""
        newest = self._exchange.tape.newest(self.listing.market.symbol, 1)
        return newest[0].number if newest else 0

    def _number_trades(self, last: int) -> None:
        """Up to `last`, in the order in which they happened: the account gets a fill before the public does."""
        newest = self._exchange.tape.newest(self.listing.market.symbol, KEPT)
        fresh = list(takewhile(lambda trade: trade.number > self._last_number, newest))
        for trade in reversed([trade for trade in fresh if trade.number <= last]):
            self.sequence += 1
            self._sequences[trade.number] = self.sequence
            self._last_number = trade.number
        while len(self._sequences) > KEPT:
            del self._sequences[next(iter(self._sequences))]

    def _parties(self, trade: PublicTrade) -> tuple[str, str]:
        """Ids of the maker's and the taker's order; the house's are made up from the trade."""
        maker, taker = (str(uuid5(IDS, f"{trade.number}:{role}")) for role in ("maker", "taker"))
        for fill in self._exchange.customer.known_fills([str(trade.number)]):
            maker, taker = (fill.order_id, taker) if fill.liquidity == "maker" else (maker, fill.order_id)
        return maker, taker


def _taker_side(fill: SimulatedFill) -> Side:
    if fill.liquidity == "taker":
        return fill.side
    return "sell" if fill.side == "buy" else "buy"


def _size(order: SimulatedOrder) -> str:
    return fixed_text(order.remaining, 8)
