"""Coinbase Exchange's WebSocket: level2, ticker, matches, heartbeat, and `user` for the account's own orders."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from uuid import uuid5

from market.instruments.orders import Side, opposite
from simulators.coinbaseexchange.rejections import KEY_REASONS, error_text
from simulators.coinbaseexchange.rows import IDS, PROFILE_ID, USER_ID, order_row, trade_row
from simulators.market.traded_day import DayFigures, TradedDay
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import (
    PreventedTrade,
    PublicTrade,
    RequestRejectedError,
    SimulatedAccountEvent,
    SimulatedFill,
    SimulatedOrder,
)
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT
from simulators.web.exchange_gateway import Change, MarketStep, best_level, best_texts, iso_text, json_fields, levels_of
from simulators.web.subscribers import SubscriberConnection, Subscribers

_WHOLE_BOOK = 1_000
_BOTH_SIDES: tuple[Side, Side] = ("buy", "sell")
Message = dict[str, object]
_CHANNELS = ("level2", "level2_batch", "ticker", "matches", "heartbeat", "user")
_SIGNED = ("level2", "user")


class ProductFeed:
    """The sequence grows by one for each trade, each level that changes and each step of the account's orders.

    It starts at the time in microseconds, so that it keeps growing after a restart.
    """

    def __init__(self, exchange: SimulatedExchange, listing: Listing) -> None:
        self.listing = listing
        self.sequence = exchange.clock.now()
        self._exchange = exchange
        self._day = TradedDay()
        self._sequences: dict[int, int] = {}
        self._last_number = 0

    def figures(self) -> DayFigures | None:
        """Return the day's figures; None if nothing was traded for a day."""
        self._exchange.venue.steps.look(self.listing.market.symbol)
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
        """Return the message; `side` is the maker's, as everywhere on this stream but in the ticker."""
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

    def make_up(self, step: MarketStep) -> None:
        """Count what was put off."""
        for trade in step.trades:
            self.traded(trade)
        self.advance(len(step.changes))

    def ticker(self) -> Message | None:
        """Return the ticker; None before the first trade."""
        figures = self.figures()
        if figures is None:
            return None
        last, book = figures.last, self._exchange.books[self.listing.market.symbol]
        (bid, ask), decimals = best_texts(self.listing, book), self.listing.price_decimals
        bid_lots, ask_lots = (best_level(book, side)[1] for side in _BOTH_SIDES)
        return {
            "type": "ticker",
            **self._stamp(self._sequence_of(last.number)),
            "price": fixed_text(last.price, decimals),
            "open_24h": fixed_text(figures.open, decimals),
            "volume_24h": fixed_text(figures.volume, 8),
            "low_24h": fixed_text(figures.low, decimals),
            "high_24h": fixed_text(figures.high, decimals),
            # the simulated market is never older than its trades
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

    def step_of(self, event: SimulatedAccountEvent) -> Message | None:
        """Return one step of an order of the account, as sent to its owner; None if nothing is sent."""
        if event.fill is not None:
            return self._own_match(event.fill)
        if event.prevented is not None:
            return self._changed(event.order, event.prevented) if event.order.remaining else None
        if event.order.is_waiting:
            return self._activated(event.order)
        if event.kind in ("opened", "triggered"):
            return self._received(event.order)
        return self._done(event.order)

    def opened(self, order: SimulatedOrder) -> Message:
        message = self._of_order("open", order, order.placed_at, self._newest())
        return {**message, "price": fixed_text(order.price or order.amount, 8), "remaining_size": _size(order)}

    def _changed(self, order: SimulatedOrder, trade: PreventedTrade) -> Message:
        """Return the change of an order that became smaller because it would have traded with another of the
        account."""
        message = self._of_order("change", order, trade.at, self._newest())
        ended = trade.taker_amount if order.order_id == trade.taker_id else trade.maker_amount
        sizes = {"old_size": fixed_text(order.remaining + ended, 8), "new_size": _size(order)}
        return {**message, "reason": "STP", **sizes, "price": fixed_text(order.price or order.amount, 8)}

    def _received(self, order: SimulatedOrder) -> Message:
        # orders and trades share one numbering: the order's matches have greater numbers
        before = self._newest() if order.triggered_at else order.number
        message = self._of_order("received", order, order.triggered_at or order.placed_at, before)
        message["order_type"] = "market" if order.price is None else "limit"
        message["size"] = fixed_text(order.amount, 8)
        if order.price is not None:
            message["price"] = fixed_text(order.price, 8)
        if order.client_order_id:
            message["client_oid"] = order.client_order_id
        return message

    def _activated(self, order: SimulatedOrder) -> Message:
        """Return the messages of a stop order: it waits, and is received once it is triggered."""
        message = self._of_order("activate", order, order.placed_at, self._newest())
        row = order_row(order, (), self.listing.market_id)
        return {**message, "stop_type": row["stop"], "stop_price": row["stop_price"], "size": row["size"]}

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
        """Return the message; `last_trade`: the number of the last trade before it."""
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
        """Return the number of the newest trade."""
        newest = self._exchange.tape.newest(self.listing.market.symbol, 1)
        return newest[0].number if newest else 0

    def _number_trades(self, last: int) -> None:
        """Give numbers to the trades up to `last`, in the order in which they happened: the account gets a
        fill before the public does."""
        fresh = self._exchange.tape.after(self.listing.market.symbol, self._last_number)
        for trade in reversed([trade for trade in fresh if trade.number <= last]):
            self.sequence += 1
            self._sequences[trade.number] = self.sequence
            self._last_number = trade.number
        while len(self._sequences) > KEPT:
            del self._sequences[next(iter(self._sequences))]

    def _parties(self, trade: PublicTrade) -> tuple[str, str]:
        """Return ids of the maker's and the taker's order; the house's are derived from the trade."""
        maker, taker = (str(uuid5(IDS, f"{trade.number}:{role}")) for role in ("maker", "taker"))
        for fill in self._exchange.customer.known_fills([str(trade.number)]):
            maker, taker = (fill.order_id, taker) if fill.liquidity == "maker" else (maker, fill.order_id)
        return maker, taker


def _taker_side(fill: SimulatedFill) -> Side:
    return fill.side if fill.liquidity == "taker" else opposite(fill.side)


def _size(order: SimulatedOrder) -> str:
    return fixed_text(order.remaining, 8)


class _NotSubscribedError(Exception):
    """An error sent to the client as the reason of an `error` message."""


class CoinbaseExchangeStream:
    """`check` verifies the signature in the fields of a subscribe. Raises RequestRejectedError."""

    def __init__(self, exchange: SimulatedExchange, check: Callable[[Mapping[str, Any]], None]) -> None:
        self.subscribers = Subscribers()
        self.feeds = {listing.market_id: ProductFeed(exchange, listing) for listing in exchange.listings.values()}
        self._by_symbol = {feed.listing.market.symbol: feed for feed in self.feeds.values()}
        self._check = check
        exchange.listen(self._publish_event)

    def publish(self, step: MarketStep) -> None:
        feed = self._by_symbol[step.symbol]
        name = feed.listing.market_id
        if step.is_late:
            feed.make_up(step)
            return
        for trade in step.trades:
            feed.traded(trade)
            self._send(f"matches:{name}", partial(feed.match, trade))
            self._send(f"ticker:{name}", feed.ticker)
        if step.changes:
            feed.advance(len(step.changes))
            for channel in ("level2", "level2_batch"):
                self._send(f"{channel}:{name}", partial(feed.update, step.changes))

    def beat(self) -> None:
        for name, feed in self.feeds.items():
            self._send(f"heartbeat:{name}", feed.heartbeat)

    def rested(self, order: SimulatedOrder) -> None:
        """Publish that an order of the account is in the book."""
        feed = self._by_symbol[order.symbol]
        self.subscribers.broadcast(f"user:{feed.listing.market_id}", feed.opened(order))

    def _send(self, channel: str, message: Callable[[], Message | None]) -> None:
        """Send the message, which is built only if there are listeners."""
        if self.subscribers.has(channel):
            self.subscribers.broadcast(channel, message())

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        feed = self._by_symbol[event.order.symbol]
        message = feed.step_of(event)
        if message is not None:
            self.subscribers.broadcast(f"user:{feed.listing.market_id}", message)

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
            subscribes = _subscribes(fields)
            wanted = self._wanted(fields, connection, subscribes)
            if subscribes and any(channel in _SIGNED for channel, _ in wanted):
                self._check_signature(fields)
        except RequestRejectedError as error:
            title = "Authentication Failed" if error.reason in KEY_REASONS else "Malformed JSON"
            connection.send({"type": "error", "message": title, "reason": error_text(error)})
            return
        except _NotSubscribedError as error:
            connection.send({"type": "error", "message": "Failed to subscribe", "reason": str(error)})
            return
        names = {f"{channel}:{product}" for channel, product in wanted}
        if subscribes:
            connection.channels.update(names)
        else:
            connection.channels.difference_update(names)
        connection.send({"type": "subscriptions", "channels": _listed(connection)})
        for channel, product in wanted if subscribes else ():
            greeting = self._greeting(channel, self.feeds[product])
            if greeting is not None:
                connection.send(greeting)

    def _wanted(
        self, fields: Mapping[str, Any], connection: SubscriberConnection, subscribes: bool
    ) -> list[tuple[str, str]]:
        """Return channels and products; of an unsubscribe without products, all that the connection hears of the
        channel."""
        wanted = []
        for row in _list_of(fields, "channels"):
            own = row if isinstance(row, dict) else {}
            channel = str(own.get("name", "")) if own else str(row)
            if channel not in _CHANNELS:
                raise _NotSubscribedError(f"{channel} is not a valid channel")
            products = _list_of(own, "product_ids") or _list_of(fields, "product_ids")
            if not products and subscribes:
                raise _NotSubscribedError("No product_ids or channels provided")
            if not products:
                heard = (name.partition(":") for name in connection.channels)
                products = [product for name, _, product in heard if name == channel]
            wanted += [(channel, self._product(name)) for name in products]
        if not wanted and subscribes:
            raise _NotSubscribedError("No product_ids or channels provided")
        return wanted

    def _product(self, name: object) -> str:
        if not isinstance(name, str) or name not in self.feeds:
            raise _NotSubscribedError(f"{name} is not a valid product")
        return name

    def _check_signature(self, fields: Mapping[str, Any]) -> None:
        if not fields.get("signature"):
            raise _NotSubscribedError("level2, level3, and full channels now require authentication.")
        self._check(fields)

    def _greeting(self, channel: str, feed: ProductFeed) -> Message | None:
        """Return the first messages of a channel."""
        if channel in ("level2", "level2_batch"):
            return feed.snapshot()
        if channel == "ticker":
            return feed.ticker()
        return feed.last_match() if channel == "matches" else None


def _subscribes(fields: Mapping[str, Any]) -> bool:
    kind = fields.get("type")
    if kind not in ("subscribe", "unsubscribe"):
        raise _NotSubscribedError("Type has to be either subscribe or unsubscribe")
    return bool(kind == "subscribe")


def _list_of(fields: Mapping[str, Any], name: str) -> list[object]:
    rows = fields.get(name) or []
    if not isinstance(rows, list):
        raise _NotSubscribedError(f"{name} is not a list")
    return rows


def _listed(connection: SubscriberConnection) -> list[dict[str, object]]:
    products: dict[str, list[str]] = {}
    for name in sorted(connection.channels):
        channel, _, product = name.partition(":")
        products.setdefault(channel, []).append(product)
    return [{"name": channel, "product_ids": names} for channel, names in products.items()]
