"""Binance's market streams: each market's book with update ids, trades and tickers, subscribed to by name."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import orjson

from market.instruments.orders import Side
from market.money import ZERO
from simulators.binance.endpoints import eight_decimals, rounded, shutdown_event, time_unit, timestamp
from simulators.binance.klines import INTERVALS, KlineStream
from simulators.market.traded_day import DAY, DayFigures, TradedDay
from simulators.matching.engine import MatchingBook
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Change, MarketStep, best_level
from simulators.web.subscribers import SubscriberConnection, Subscribers

Message = dict[str, object]
_IDS_MICROSECONDS = 100
"""Update ids start at ten thousand per second since 1970, so that they grow across restarts."""
_MINI_TICKER = ("c", "o", "h", "l", "v", "q")
_NO_PRICES = (
    "priceChange",
    "weightedAvgPrice",
    "prevClosePrice",
    "lastPrice",
    "lastQty",
    "openPrice",
    "highPrice",
    "lowPrice",
    "volume",
    "quoteVolume",
)
_NOTHING_TRADED: Message = {
    **dict.fromkeys(_NO_PRICES, eight_decimals(ZERO)),
    "priceChangePercent": "0.000",
    "firstId": -1,
    "lastId": -1,
    "count": 0,
}
_KINDS = ("depth", "depth@100ms", "trade", "aggTrade", "ticker", "miniTicker", "bookTicker")
_ALL_KINDS = frozenset((*_KINDS, *(f"kline_{name}" for name in INTERVALS)))
_STEPS_A_MESSAGE = 3
"""Steps per message of depth@100ms, at the pace at which simulated exchanges step."""
_WRAPPED = "combined:"
"""Channels of connections that asked for each message's stream beside it."""
UNITS = ("", "MICROSECOND:")
"""Channels of connections by the unit of their times: `timeUnit` in the address."""


class PendingDepth:
    """Levels that changed since a depth stream's last message, with their current amounts."""

    def __init__(self) -> None:
        self._levels: dict[tuple[Side, int], int] = {}
        self._first = 0

    def add(self, first: int, changes: Iterable[Change]) -> None:
        if not self._levels:
            self._first = first
        for side, ticks, lots in changes:
            self._levels[side, ticks] = lots

    def drain(self) -> tuple[int, list[Change]]:
        """Return the first update id among them, and the levels; none if nothing changed."""
        changes = [(side, ticks, lots) for (side, ticks), lots in self._levels.items()]
        self._levels.clear()
        return self._first, changes


class BinanceFeed:
    def __init__(self, exchange: SimulatedExchange, listing: Listing) -> None:
        self.listing = listing
        self._exchange = exchange
        self._day = TradedDay()
        self._last_id = exchange.clock.now() // _IDS_MICROSECONDS
        self.klines = {f"kline_{name}": KlineStream(exchange, listing, name) for name in INTERVALS}
        self.pending = {"100ms": PendingDepth(), "1000ms": PendingDepth()}

    @property
    def book(self) -> MatchingBook:
        return self._exchange.books[self.listing.market.symbol]

    def take(self, step: MarketStep) -> None:
        """Take a step's changes: each level that changed is one update."""
        for trade in step.trades:
            self._day.add(trade)
        first = self._last_id + 1
        self._last_id += len(step.changes)
        for pending in self.pending.values():
            pending.add(first, step.changes)

    def depth(self, limit: int) -> Message:
        """Return the book by REST. It includes changes since the last step, which get the next update ids."""
        book = self.book
        return {
            "lastUpdateId": self._last_id,
            "bids": self._levels(("buy", *level) for level in book.levels("buy", limit)),
            "asks": self._levels(("sell", *level) for level in book.levels("sell", limit)),
        }

    def depth_update(self, first: int, changes: list[Change]) -> Message:
        """Return what has changed since `first`."""
        return {
            **self._head("depthUpdate"),
            "U": first,
            "u": self._last_id,
            "b": self._levels(change for change in changes if change[0] == "buy"),
            "a": self._levels(change for change in changes if change[0] == "sell"),
        }

    def book_ticker(self) -> Message:
        bid, bid_amount, ask, ask_amount = self._best()
        return {
            "u": self._last_id,
            "s": self.listing.market_id,
            "b": bid,
            "B": bid_amount,
            "a": ask,
            "A": ask_amount,
        }

    def trade(self, trade: PublicTrade) -> Message:
        return {**self._head("trade"), "t": trade.number, **_traded(trade), "M": True}

    def aggregate_trade(self, trade: PublicTrade) -> Message:
        """Return the aggregate of one trade: each fill of a taker has its own microsecond, so nothing is aggregated."""
        numbers = {"a": trade.number, "f": trade.number, "l": trade.number}
        return {**self._head("aggTrade"), **numbers, **_traded(trade), "M": True}

    def ticker(self) -> Message:
        """Return the stream's 24-hour ticker."""
        row = self.day_row()
        return {**self._head("24hrTicker"), **{short: row[name] for short, name in _TICKER.items()}}

    def mini_ticker(self) -> Message:
        row = self.day_row()
        return {**self._head("24hrMiniTicker"), **{short: row[_TICKER[short]] for short in _MINI_TICKER}}

    def best_row(self) -> Message:
        bid, bid_amount, ask, ask_amount = self._best()
        return {
            "symbol": self.listing.market_id,
            "bidPrice": bid,
            "bidQty": bid_amount,
            "askPrice": ask,
            "askQty": ask_amount,
        }

    def day_row(self) -> Message:
        """Return REST's 24-hour ticker; zeros if nothing was traded."""
        now = self._exchange.clock.now()
        row = {**self.best_row(), "openTime": timestamp(now - DAY), "closeTime": timestamp(now)}
        figures = self._day.figures(now)
        return {**row, **(_NOTHING_TRADED if figures is None else _figures_row(figures))}

    def last_price(self) -> str:
        return str(self.day_row()["lastPrice"])

    def _best(self) -> tuple[str, str, str, str]:
        sides: list[str] = []
        for side in ("buy", "sell"):
            ticks, lots = best_level(self.book, side)
            sides += [eight_decimals(self.listing.price(ticks)), eight_decimals(self.listing.amount(lots))]
        bid, bid_amount, ask, ask_amount = sides
        return bid, bid_amount, ask, ask_amount

    def _levels(self, changes: Iterable[Change]) -> list[list[str]]:
        return [
            [eight_decimals(self.listing.price(ticks)), eight_decimals(self.listing.amount(lots))]
            for _, ticks, lots in changes
        ]

    def _head(self, event: str) -> Message:
        return {"e": event, "E": timestamp(self._exchange.clock.now()), "s": self.listing.market_id}


_TICKER = {
    "p": "priceChange",
    "P": "priceChangePercent",
    "w": "weightedAvgPrice",
    "x": "prevClosePrice",
    "c": "lastPrice",
    "Q": "lastQty",
    "b": "bidPrice",
    "B": "bidQty",
    "a": "askPrice",
    "A": "askQty",
    "o": "openPrice",
    "h": "highPrice",
    "l": "lowPrice",
    "v": "volume",
    "q": "quoteVolume",
    "O": "openTime",
    "C": "closeTime",
    "F": "firstId",
    "L": "lastId",
    "n": "count",
}


def _traded(trade: PublicTrade) -> Message:
    return {
        "p": eight_decimals(trade.price),
        "q": eight_decimals(trade.amount),
        "T": timestamp(trade.traded_at),
        # the buyer is the maker if the taker sells
        "m": trade.side == "sell",
    }


def _figures_row(figures: DayFigures) -> Message:
    change = figures.last.price - figures.open
    return {
        "priceChange": eight_decimals(change),
        "priceChangePercent": rounded(change * 100 / figures.open, 3),
        "weightedAvgPrice": rounded(figures.average, 8),
        "prevClosePrice": eight_decimals(figures.open),
        "lastPrice": eight_decimals(figures.last.price),
        "lastQty": eight_decimals(figures.last.amount),
        "openPrice": eight_decimals(figures.open),
        "highPrice": eight_decimals(figures.high),
        "lowPrice": eight_decimals(figures.low),
        "volume": eight_decimals(figures.volume),
        "quoteVolume": rounded(figures.average * figures.volume, 8),
        "firstId": figures.last.number - figures.count + 1,
        "lastId": figures.last.number,
        "count": figures.count,
    }


class _InvalidError(Exception):
    """An error sent to the client as `code` and `msg`."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class BinanceStream:
    """`feeds` by the exchange's own name of the market."""

    def __init__(self, subscribers: Subscribers, feeds: Mapping[str, BinanceFeed]) -> None:
        self._subscribers = subscribers
        self._feeds = feeds
        self._steps = dict.fromkeys(feeds, 0)
        self._best = {name: feed.book_ticker() for name, feed in feeds.items()}
        self._beats = 0
        self._put_off_at: dict[str, int] = {}
        """The beat at which a step of a market was last put off."""

    def publish(self, name: str, step: MarketStep) -> None:
        feed = self._feeds[name]
        for trade in step.trades:
            self._publish_event(f"{name.lower()}@trade", partial(feed.trade, trade))
            self._publish_event(f"{name.lower()}@aggTrade", partial(feed.aggregate_trade, trade))
        if step.trades:
            self._publish_klines(feed)
        stream = f"{name.lower()}@bookTicker"
        best = self._best_if_new(name) if self._is_heard(stream) else None
        if best is not None:
            self._publish_event(stream, partial(dict, best))
        self._steps[name] += 1
        # a crossed book, caused only by a fault, is published at once: the next step would correct it
        bid, ask = feed.book.best("buy"), feed.book.best("sell")
        is_crossed = bid is not None and ask is not None and bid >= ask
        if is_crossed or self._steps[name] % _STEPS_A_MESSAGE == 0:
            self._publish_depth(feed, "depth@100ms", "100ms")

    def put_off(self, name: str) -> None:
        self._put_off_at[name] = self._beats

    def make_up(self, name: str, step: MarketStep) -> None:
        """Count what was put off. Each beat after it drained its changes: only those of the last one may still wait."""
        feed = self._feeds[name]
        for pending in feed.pending.values():
            pending.drain()
        feed.take(step)
        self._steps[name] += 1
        is_due = self._steps[name] % _STEPS_A_MESSAGE == 0
        for speed, pending in feed.pending.items():
            if self._beats > self._put_off_at[name] or (is_due and speed == "100ms"):
                pending.drain()

    def beat(self) -> None:
        self._beats += 1
        for name, feed in self._feeds.items():
            self._publish_event(f"{name.lower()}@ticker", feed.ticker)
            self._publish_event(f"{name.lower()}@miniTicker", feed.mini_ticker)
            self._publish_depth(feed, "depth", "1000ms")
            # the last change of a market that has become quiet does not wait for the next one
            self._publish_depth(feed, "depth@100ms", "100ms")
            self._publish_klines(feed)

    def join(self, connection: SubscriberConnection, path: str, streams: str, prefix: str) -> None:
        """Subscribe to the streams in the address: /ws/<stream>, or /stream?streams=<stream>/<stream>."""
        names = streams.split("/") if path == "/stream" else [path.removeprefix("/ws").strip("/")]
        connection.channels |= {prefix + name for name in names if _is_stream(name)}

    def on_message(self, connection: SubscriberConnection, text: str, prefix: str) -> None:
        """Answer a message; `prefix` of the connection's channels."""
        request_id: object = None
        try:
            fields = _fields(text)
            request_id = fields.get("id")
            result = self._answer(connection, fields, prefix)
        except _InvalidError as error:
            connection.send({"error": {"code": error.code, "msg": str(error)}, "id": request_id})
            return
        connection.send({"result": result, "id": request_id})

    def _answer(self, connection: SubscriberConnection, fields: Mapping[str, Any], prefix: str) -> object:
        method, names = fields.get("method"), fields.get("params", [])
        if method == "LIST_SUBSCRIPTIONS":
            return sorted(channel.removeprefix(prefix) for channel in connection.channels)
        if method not in ("SUBSCRIBE", "UNSUBSCRIBE"):
            kinds = "`SUBSCRIBE`, `UNSUBSCRIBE`, `LIST_SUBSCRIPTIONS`"
            raise _InvalidError(2, f"Invalid request: unknown variant `{method}`, expected one of {kinds}")
        if not isinstance(names, list) or not all(isinstance(name, str) and _is_stream(name) for name in names):
            raise _InvalidError(2, "Invalid request: invalid stream")
        channels = {prefix + name for name in names}
        connection.channels = (
            connection.channels | channels if method == "SUBSCRIBE" else connection.channels - channels
        )
        return None

    def _best_if_new(self, name: str) -> Message | None:
        best, last = self._feeds[name].book_ticker(), self._best[name]
        if {**best, "u": 0} == {**last, "u": 0}:
            return None
        self._best[name] = best
        return best

    def _publish_klines(self, feed: BinanceFeed) -> None:
        for kind, klines in feed.klines.items():
            stream = f"{feed.listing.market_id.lower()}@{kind}"
            for make in klines.messages() if self._is_heard(stream) else ():
                self._publish_event(stream, make)

    def _publish_depth(self, feed: BinanceFeed, kind: str, speed: str) -> None:
        """Publish the changes; they are drained even without listeners, so that a new one gets no earlier changes."""
        first, changes = feed.pending[speed].drain()
        if changes:
            stream = f"{feed.listing.market_id.lower()}@{kind}"
            self._publish_event(stream, partial(feed.depth_update, first, changes))

    def _publish_event(self, stream: str, make: Callable[[], Message]) -> None:
        """Publish the message, which is built only if there are listeners, once for each unit of time."""
        for unit in UNITS:
            single, wrapped = unit + stream, unit + _WRAPPED + stream
            if not self._subscribers.has(single) and not self._subscribers.has(wrapped):
                continue
            with time_unit(unit.removesuffix(":")):
                message = make()
            self._subscribers.broadcast(single, message)
            self._subscribers.broadcast(wrapped, {"stream": stream, "data": message})

    def _is_heard(self, stream: str) -> bool:
        return any(self._subscribers.has(unit + kind + stream) for unit in UNITS for kind in ("", _WRAPPED))


def shutdown_notice(prefix: str, now: int) -> Message:
    """Return the notice that a connection gets before it ends; `prefix` of its channels."""
    with time_unit("MICROSECOND" if prefix.startswith(UNITS[1]) else ""):
        event = shutdown_event(now)
    return {"stream": "!serverShutdown", "data": event} if prefix.endswith(_WRAPPED) else event


def prefix_of(path: str, unit: str) -> str:
    """Return the prefix of the names of a connection's channels: the unit of its times, and whether each message's
    stream stands beside it."""
    micros = "MICROSECOND:" if unit.upper() == "MICROSECOND" else ""
    return micros + (_WRAPPED if path == "/stream" else "")


def _is_stream(name: str) -> bool:
    """Return whether the name has the form of a stream: an unknown market is accepted and never has messages, as on the
    real exchange."""
    market, _, kind = name.partition("@")
    return market.isalnum() and market.islower() and kind in _ALL_KINDS


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _InvalidError(3, f"Invalid JSON: {error}") from error
    if not isinstance(fields, dict):
        raise _InvalidError(2, "Invalid request: request is not an object")
    return fields
