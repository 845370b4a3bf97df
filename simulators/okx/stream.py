"""OKX's public stream: books by depth, trades and tickers, subscribed to by channel and instrument."""

from collections.abc import Mapping
from typing import Any

from market.time_units import MICROSECONDS
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.okx.rows import book_rows, ticker_row, trade_row
from simulators.web.book_views import BookView, BookViews
from simulators.web.exchange_gateway import MarketStep, json_fields
from simulators.web.request_fields import Row, milliseconds
from simulators.web.streamed_steps import StreamedSteps
from simulators.web.subscribers import SubscriberConnection, Subscribers

BOOKS, WHOLE_BOOKS = "books", {"books5": 5, "bbo-tbt": 1}
_CHANNELS = (BOOKS, *WHOLE_BOOKS, "tickers", "trades")
_DEPTH = 400
_STILL = 60 * MICROSECONDS
"""After that a channel `books` says that nothing has changed."""
Argument = Mapping[str, str]


class OkxStream:
    def __init__(self, exchange: SimulatedExchange, subscribers: Subscribers) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self.steps = StreamedSteps(exchange)
        self._views: BookViews[str] = BookViews()
        self._sent_at: dict[str, int] = {}
        """Symbol → when its last message of `books` left."""

    def whole_book(self, listing: Listing, depth: int) -> Row:
        """Return the best levels as they stand, with the number of the market's last step."""
        symbol = listing.market.symbol
        view = BookView(listing, depth, self.steps.number(symbol))
        rows = book_rows(view.snapshot(self._exchange.books[symbol]))
        return {**rows, "ts": milliseconds(self._exchange.clock.now()), "seqId": view.last_id}

    def ticker(self, listing: Listing) -> Row:
        symbol, now = listing.market.symbol, self._exchange.clock.now()
        figures = self.steps.figures(symbol)
        return ticker_row(listing, self._exchange.books[symbol], figures, now)

    def publish(self, step: MarketStep) -> None:
        self.steps.take(step)
        if step.is_late:
            return
        listing = self._exchange.listings[step.symbol]
        self._publish_changes(listing)
        for channel, depth in WHOLE_BOOKS.items():
            if self._subscribers.has(_key(channel, listing.market_id)):
                self._send(channel, listing.market_id, {"data": [self._whole_book(listing, depth)]})
        if step.trades:
            for trade in step.trades:
                row = {**trade_row(trade, listing.market_id), "count": "1"}
                self._send("trades", listing.market_id, {"data": [row]})
            if self._subscribers.has(_key("tickers", listing.market_id)):
                self._send("tickers", listing.market_id, {"data": [self.ticker(listing)]})

    def beat(self) -> None:
        """Say of books that have not changed for a minute that they have not."""
        now = self._exchange.clock.now()
        for symbol, view in self._views.by_key.items():
            if now - self._sent_at.get(symbol, now) >= _STILL:
                self._send_book(view, {"bids": [], "asks": []}, view.last_id)

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        fields = request_in(connection, text)
        if fields is None:
            return
        operation = fields.get("op")
        if operation not in ("subscribe", "unsubscribe"):
            connection.send(error("60012", f"Invalid request: {text[:200]}", connection))
            return
        for argument in arguments_in(fields):
            key = self._known_key(argument)
            if key is None:
                connection.send(error("60018", _no_channel(argument), connection))
            else:
                connection.send(reply(str(operation), argument, connection))
                self._turn(connection, key, argument, is_start=operation == "subscribe")

    def _turn(self, connection: SubscriberConnection, key: str, argument: Argument, *, is_start: bool) -> None:
        """Begin or end a subscription; one that begins again sends its book again."""
        if not is_start:
            connection.channels.discard(key)
            return
        connection.channels.add(key)
        channel, listing = argument["channel"], self._exchange.listings_by_id[argument["instId"]]
        if channel == BOOKS:
            view = self._view(listing)
            rows = book_rows(view.snapshot(self._exchange.books[listing.market.symbol]))
            connection.publish(key, self._book_message(view, "snapshot", rows, -1))
        elif channel in WHOLE_BOOKS:
            book = self._whole_book(listing, WHOLE_BOOKS[channel])
            connection.publish(key, _message(channel, listing.market_id, {"data": [book]}))
        elif channel == "tickers":
            connection.publish(key, _message(channel, listing.market_id, {"data": [self.ticker(listing)]}))

    def _known_key(self, argument: Argument) -> str | None:
        """Return the name of the channel of an instrument; None if there is none."""
        channel, instrument = argument.get("channel", ""), argument.get("instId", "")
        is_known = channel in _CHANNELS and instrument in self._exchange.listings_by_id
        return _key(channel, instrument) if is_known else None

    def _view(self, listing: Listing) -> BookView:
        symbol, views = listing.market.symbol, self._views.by_key
        number = self.steps.number(symbol)
        if symbol not in views:
            views[symbol] = BookView(listing, _DEPTH, number)
            self._sent_at[symbol] = self._exchange.clock.now()
        return views[symbol]

    def _publish_changes(self, listing: Listing) -> None:
        symbol = listing.market.symbol
        is_read = self._subscribers.has(_key(BOOKS, listing.market_id))
        changed = self._views.changes(symbol, self._exchange.books[symbol], is_read=is_read)
        if changed is not None:
            view, changes = changed
            before, view.last_id = view.last_id, self.steps.number(symbol)
            self._send_book(view, book_rows(changes), before)

    def _send_book(self, view: BookView, rows: Row, before: int) -> None:
        self._sent_at[view.listing.market.symbol] = self._exchange.clock.now()
        message = self._book_message(view, "update", rows, before)
        self._subscribers.broadcast(_key(BOOKS, view.listing.market_id), message)

    def _book_message(self, view: BookView, action: str, rows: Row, before: int) -> Row:
        numbers: Row = {"checksum": 0, "seqId": view.last_id, "prevSeqId": before}
        row = {**rows, "ts": milliseconds(self._exchange.clock.now()), **numbers}
        return _message(BOOKS, view.listing.market_id, {"action": action, "data": [row]})

    def _whole_book(self, listing: Listing, depth: int) -> Row:
        return {**self.whole_book(listing, depth), "instId": listing.market_id}

    def _send(self, channel: str, instrument: str, message: Row) -> None:
        self._subscribers.broadcast(_key(channel, instrument), _message(channel, instrument, message))


def _key(channel: str, instrument: str) -> str:
    return f"{channel}.{instrument}"


def _message(channel: str, instrument: str, fields: Row) -> Row:
    return {"arg": {"channel": channel, "instId": instrument}, **fields}


def _no_channel(argument: Argument) -> str:
    named = ",".join(f"{name}:{value}" for name, value in argument.items())[:200]
    return f"Wrong URL or {named} doesn't exist. Please use the correct URL, channel and parameters."


def request_in(connection: SubscriberConnection, text: str) -> Mapping[str, Any] | None:
    """Return the fields of a request; None if it needs no more than the answer that it has got: a ping, or nonsense."""
    if text == "ping":
        connection.send_text("pong")
        return None
    try:
        return json_fields(text)
    except RequestRejectedError:
        connection.send(error("60012", f"Invalid request: {text[:200]}", connection))
        return None


def arguments_in(fields: Mapping[str, Any]) -> list[Argument]:
    """Return the channels that a request names; what is no such thing is one without a name."""
    rows = fields.get("args")
    if not isinstance(rows, list) or not rows:
        return [{}]
    return [{str(name): str(value) for name, value in row.items()} if isinstance(row, dict) else {} for row in rows]


def reply(event: str, argument: Argument, connection: SubscriberConnection) -> Row:
    return {"event": event, "arg": dict(argument), "connId": f"{id(connection):x}"}


def error(code: str, text: str, connection: SubscriberConnection) -> Row:
    return {"event": "error", "code": code, "msg": text, "connId": f"{id(connection):x}"}
