"""Kraken's public channels: `book`, `ticker` and `trade`, each for one market."""

from collections.abc import Mapping
from dataclasses import dataclass

from simulators.kraken.kraken_book import DEPTHS, DepthView
from simulators.kraken.kraken_day import KrakenDay
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import PublicTrade, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.api_calls import known
from simulators.web.exchange_gateway import MarketStep, iso_text
from simulators.web.json_digits import exact
from simulators.web.subscribers import SubscriberConnection, Subscribers

_KNOWN = {
    "book": known("channel", "symbol", "depth", "snapshot"),
    "ticker": known("channel", "symbol", "event_trigger", "snapshot"),
    "trade": known("channel", "symbol", "snapshot"),
}
MARKET_CHANNELS = tuple(_KNOWN)
_TRIGGERS = ("trades", "bbo")
_TRADES_AT_START = 50


@dataclass(frozen=True, slots=True)
class MarketTopic:
    """What one connection listens to: a channel of one market with its options."""

    channel: str
    symbol: str
    depth: int
    trigger: str
    snapshot: bool

    @property
    def key(self) -> str:
        """The same for all that get the same messages."""
        option = {"book": str(self.depth), "ticker": self.trigger}.get(self.channel, "")
        return f"{self.channel}:{self.symbol}:{option}"

    def result(self) -> dict[str, object]:
        """As the acknowledgement repeats it."""
        row: dict[str, object] = {"channel": self.channel, "symbol": self.symbol, "snapshot": self.snapshot}
        if self.channel == "book":
            row["depth"] = self.depth
        if self.channel == "ticker":
            row["event_trigger"] = self.trigger
        return row


class KrakenMarkets:
    def __init__(self, exchange: SimulatedExchange, subscribers: Subscribers, days: Mapping[str, KrakenDay]) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._days = days
        self._views: dict[tuple[str, int], DepthView] = {}
        self._best: dict[str, object] = {}

    def topic(self, parameters: Mapping[str, object], symbol: object) -> MarketTopic:
        """Raises RequestRejectedError whose detail is what Kraken says."""
        channel, depth = str(parameters["channel"]), parameters.get("depth", 10)
        trigger = parameters.get("event_trigger", "trades")
        if not set(parameters) <= _KNOWN[channel] or trigger not in _TRIGGERS:
            raise RequestRejectedError("invalid_request", "Subscription object unsupported field")
        if not isinstance(depth, int) or depth not in DEPTHS:
            raise RequestRejectedError("invalid_request", "Subscription depth not supported")
        if not isinstance(symbol, str) or symbol not in self._exchange.listings:
            raise RequestRejectedError("unknown_market", f"Currency pair not supported {symbol}")
        snapshot = parameters.get("snapshot", channel != "trade") is True
        return MarketTopic(channel, symbol, depth, str(trigger), snapshot)

    def start(self, connection: SubscriberConnection, topic: MarketTopic) -> None:
        """The snapshot, then updates go on from it."""
        symbol = topic.symbol
        if topic.channel == "book":
            view = self._views.get((symbol, topic.depth))
            if view is None:
                view = self._views[(symbol, topic.depth)] = DepthView(self._exchange.listings[symbol], topic.depth)
            row = view.snapshot(self._exchange.books[symbol])
            rows: list[dict[str, object]] = [row]
        elif topic.channel == "ticker":
            rows = [self._days[symbol].stream_row()]
        else:
            newest = self._exchange.tape.newest(symbol, _TRADES_AT_START)
            rows = [self._trade_row(trade) for trade in reversed(newest)]
        if topic.snapshot:
            connection.send({"channel": topic.channel, "type": "snapshot", "data": rows})
        connection.channels.add(topic.key)

    def publish(self, step: MarketStep) -> None:
        """At most one message a channel and its options."""
        if step.changes:
            self._publish_book(step.symbol)
        self._publish_ticker(step)
        if step.trades:
            self._send(f"trade:{step.symbol}:", "trade", [self._trade_row(trade) for trade in step.trades])

    def _publish_book(self, symbol: str) -> None:
        """One update per depth that somebody reads."""
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

    def _send(self, key: str, channel: str, rows: list[dict[str, object]]) -> None:
        self._subscribers.broadcast(key, {"channel": channel, "type": "update", "data": rows})

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
