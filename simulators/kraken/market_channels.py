"""Kraken's public channels: `book`, `ticker`, `trade` and `ohlc`, each for one market.

A book is limited in depth: a snapshot, then updates, each with a CRC32 of the top ten.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from zlib import crc32

from market.instruments.orders import Side
from simulators.kraken.public import CANDLE_MINUTES, KrakenDay
from simulators.kraken.rows import candle_average
from simulators.matching.candles import Candle, Interval
from simulators.matching.engine import MatchingBook
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import PublicTrade, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import MarketStep, iso_text, known
from simulators.web.json_digits import exact
from simulators.web.subscribers import SubscriberConnection, Subscribers

DEPTHS = (10, 25, 100, 500, 1000)
_SIDES: tuple[tuple[str, Side], ...] = (("asks", "sell"), ("bids", "buy"))

Levels = list[tuple[int, int]]
_KNOWN = {
    "book": known("channel", "symbol", "depth", "snapshot"),
    "ticker": known("channel", "symbol", "event_trigger", "snapshot"),
    "trade": known("channel", "symbol", "snapshot"),
    "ohlc": known("channel", "symbol", "interval", "snapshot"),
}
MARKET_CHANNELS = tuple(_KNOWN)
_TRIGGERS = ("trades", "bbo")
_TRADES_AT_START = 50
_CANDLES_AT_START = 10
_CHECKED_LEVELS = 10


@dataclass(slots=True)
class DepthView:
    """The best `depth` levels of a book as its readers know them."""

    listing: Listing
    depth: int
    known: dict[Side, Levels] = field(default_factory=dict)

    def snapshot(self, book: MatchingBook) -> dict[str, object]:
        """Return the whole view as it is published now; readers that know an older one get the difference by
        `update`."""
        row: dict[str, object] = {"symbol": self.listing.market.symbol}
        for name, side in _SIDES:
            levels = self.known.setdefault(side, book.levels(side, self.depth))
            row[name] = [self._level(ticks, lots) for ticks, lots in levels]
        row["checksum"] = self._checksum()
        return row

    def update(self, book: MatchingBook) -> dict[str, object] | None:
        """Return what changed since the last call, None if nothing did.

        A level pushed out of the depth is not mentioned, readers drop it; one that comes back in is sent again.
        """
        row: dict[str, object] = {"symbol": self.listing.market.symbol}
        changed = False
        for name, side in _SIDES:
            before, after = self.known.get(side, []), book.levels(side, self.depth)
            rows = self._difference(before, after, side)
            changed = changed or bool(rows)
            row[name], self.known[side] = rows, after
        if not changed:
            return None
        row["checksum"] = self._checksum()
        return row

    def _difference(self, before: Levels, after: Levels, side: Side) -> list[object]:
        old, new = dict(before), dict(after)
        sign = 1 if side == "sell" else -1
        is_full = len(after) == self.depth
        worst = after[-1][0] * sign if after else 0
        gone = [t for t in old if t not in new and not (is_full and t * sign > worst)]
        rows = [self._level(ticks, 0) for ticks in gone]
        return rows + [self._level(ticks, lots) for ticks, lots in after if old.get(ticks) != lots]

    def _checksum(self) -> int:
        """Return CRC32 as Kraken defines it: the digits of price and amount of ten asks, then of ten bids."""
        levels = (level for _, side in _SIDES for level in self.known[side][:_CHECKED_LEVELS])
        return crc32("".join(self._checked_digits(*level) for level in levels).encode())

    def _checked_digits(self, ticks: int, lots: int) -> str:
        # what `_texts` prints has these digits, and a point
        return f"{ticks}{lots}"

    def _level(self, ticks: int, lots: int) -> object:
        price, amount = self._texts(ticks, lots)
        return {"price": exact(price), "qty": exact(amount)}

    def _texts(self, ticks: int, lots: int) -> tuple[str, str]:
        return self.listing.price_text(ticks), self.listing.amount_text(lots)


@dataclass(frozen=True, slots=True)
class MarketTopic:
    """What one connection listens to: a channel of one market with its options."""

    channel: str
    symbol: str
    depth: int
    trigger: str
    interval: int
    """Minutes."""
    snapshot: bool

    @property
    def key(self) -> str:
        """Return a key that is the same for all that get the same messages."""
        options = {"book": str(self.depth), "ticker": self.trigger, "ohlc": str(self.interval)}
        option = options.get(self.channel, "")
        return f"{self.channel}:{self.symbol}:{option}"

    def result(self) -> dict[str, object]:
        """Return the subscription as acknowledged."""
        row: dict[str, object] = {"channel": self.channel, "symbol": self.symbol, "snapshot": self.snapshot}
        if self.channel == "book":
            row["depth"] = self.depth
        if self.channel == "ticker":
            row["event_trigger"] = self.trigger
        if self.channel == "ohlc":
            row["interval"] = self.interval
        return row


class KrakenMarkets:
    def __init__(self, exchange: SimulatedExchange, subscribers: Subscribers, days: Mapping[str, KrakenDay]) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._days = days
        self._views: dict[tuple[str, int], DepthView] = {}
        self._best: dict[str, object] = {}

    def topic(self, parameters: Mapping[str, object], symbol: object) -> MarketTopic:
        """Return the topic. Raises RequestRejectedError whose detail is what Kraken says."""
        channel, depth = str(parameters["channel"]), parameters.get("depth", 10)
        trigger = parameters.get("event_trigger", "trades")
        if not set(parameters) <= _KNOWN[channel] or trigger not in _TRIGGERS:
            raise RequestRejectedError("invalid_request", "Subscription object unsupported field")
        if not isinstance(depth, int) or depth not in DEPTHS:
            raise RequestRejectedError("invalid_request", "Subscription depth not supported")
        interval = parameters.get("interval", 1)
        if not isinstance(interval, int) or interval not in CANDLE_MINUTES:
            raise RequestRejectedError("invalid_request", "Subscription ohlc interval not supported")
        if not isinstance(symbol, str) or symbol not in self._exchange.listings:
            raise RequestRejectedError("unknown_market", f"Currency pair not supported {symbol}")
        snapshot = parameters.get("snapshot", channel != "trade") is True
        return MarketTopic(channel, symbol, depth, str(trigger), int(interval), snapshot)

    def start(self, connection: SubscriberConnection, topic: MarketTopic) -> None:
        """Send the snapshot; updates continue from it."""
        symbol = topic.symbol
        if topic.channel == "book":
            view = self._views.get((symbol, topic.depth))
            if view is None:
                view = self._views[(symbol, topic.depth)] = DepthView(self._exchange.listings[symbol], topic.depth)
            row = view.snapshot(self._exchange.books[symbol])
            rows: list[dict[str, object]] = [row]
        elif topic.channel == "ticker":
            rows = [self._days[symbol].stream_row()]
        elif topic.channel == "ohlc":
            rows = self._newest_candles(symbol, topic.interval)
        else:
            newest = self._exchange.tape.newest(symbol, _TRADES_AT_START)
            rows = [self._trade_row(trade) for trade in reversed(newest)]
        if topic.snapshot:
            connection.send({"channel": topic.channel, "type": "snapshot", "data": rows})
        connection.channels.add(topic.key)

    def publish(self, step: MarketStep) -> None:
        """Publish a step, at most one message a channel and its options."""
        if step.changes:
            self._publish_book(step.symbol)
        self._publish_ticker(step)
        if step.trades:
            self._send(f"trade:{step.symbol}:", "trade", [self._trade_row(trade) for trade in step.trades])
            self._publish_candles(step)

    def _publish_book(self, symbol: str) -> None:
        """Publish one update per depth that has subscribers."""
        for (view_symbol, depth), view in list(self._views.items()):
            if view_symbol != symbol:
                continue
            key = f"book:{symbol}:{depth}"
            if not self._subscribers.has(key):
                del self._views[(symbol, depth)]
                continue
            row = view.update(self._exchange.books[symbol])
            if row is not None:
                self._send(key, "book", [{**row, "timestamp": iso_text(self._exchange.clock.now())}])

    def _publish_ticker(self, step: MarketStep) -> None:
        day, symbol = self._days[step.symbol], step.symbol
        if step.trades and self._subscribers.has(f"ticker:{symbol}:trades"):
            self._send(f"ticker:{symbol}:trades", "ticker", [day.stream_row()])
        if self._subscribers.has(f"ticker:{symbol}:bbo"):
            best = day.best()
            if best != self._best.get(symbol):
                self._best[symbol] = best
                self._send(f"ticker:{symbol}:bbo", "ticker", [day.stream_row()])

    def _publish_candles(self, step: MarketStep) -> None:
        """Publish the candles of the step's trades, as they stand now."""
        candles = self._exchange.tape.candles[step.symbol]
        for minutes in CANDLE_MINUTES:
            key, interval = f"ohlc:{step.symbol}:{minutes}", Interval(minutes * 60)
            if self._subscribers.has(key):
                begun = dict.fromkeys(interval.start(trade.traded_at) for trade in step.trades)
                found = (candles.at(interval, began) for began in begun)
                self._send(key, "ohlc", [self._candle_row(step.symbol, minutes, row) for row in found if row])

    def _newest_candles(self, symbol: str, minutes: int) -> list[dict[str, object]]:
        candles = self._exchange.tape.candles[symbol].traded(Interval(minutes * 60))
        return [self._candle_row(symbol, minutes, candle) for candle in candles[-_CANDLES_AT_START:]]

    def _send(self, key: str, channel: str, rows: list[dict[str, object]]) -> None:
        self._subscribers.broadcast(key, {"channel": channel, "type": "update", "data": rows})

    def _candle_row(self, symbol: str, minutes: int, candle: Candle) -> dict[str, object]:
        listing = self._exchange.listings[symbol]
        prices = {"open": candle.open, "high": candle.high, "low": candle.low, "close": candle.close}
        prices["vwap"] = candle_average(candle, listing)
        return {
            "symbol": symbol,
            **{name: exact(fixed_text(price, listing.price_decimals)) for name, price in prices.items()},
            "trades": candle.count,
            "volume": exact(fixed_text(candle.volume, 8)),
            "interval_begin": iso_text(candle.began),
            "interval": minutes,
            "timestamp": iso_text(Interval(minutes * 60).after(candle.began)),
        }

    def _trade_row(self, trade: PublicTrade) -> dict[str, object]:
        listing: Listing = self._exchange.listings[trade.symbol]
        return {
            "symbol": trade.symbol,
            "side": trade.side,
            "price": exact(fixed_text(trade.price, listing.price_decimals)),
            "qty": exact(fixed_text(trade.amount, 8)),
            "ord_type": "market",
            "trade_id": trade.number,
            "timestamp": iso_text(trade.traded_at),
        }
