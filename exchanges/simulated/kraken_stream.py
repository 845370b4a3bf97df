"""Kraken's WebSocket v2 conversation: subscribe, ping, and the `book` channel."""

from typing import Any

from exchanges.simulated.exchange import SimulatedExchange
from exchanges.simulated.gateway import iso_text, json_fields
from exchanges.simulated.kraken_book import DEPTHS, DepthView
from exchanges.simulated.records import RequestRefusedError
from exchanges.simulated.subscribers import Connection, Subscribers


class KrakenStream:
    def __init__(self, exchange: SimulatedExchange, subscribers: Subscribers) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._views: dict[tuple[str, int], DepthView] = {}

    def greet(self, connection: Connection) -> None:
        status = {"api_version": "v2", "connection_id": id(connection), "system": "online", "version": "2.0.0"}
        connection.send({"channel": "status", "type": "update", "data": [status]})

    def publish(self, symbol: str) -> None:
        """One update per depth that somebody reads."""
        for (view_symbol, depth), view in list(self._views.items()):
            if view_symbol != symbol:
                continue
            channel = _channel(symbol, depth)
            if not self._subscribers.has(channel):
                del self._views[(symbol, depth)]
                continue
            row = view.update(self._exchange.books[symbol])
            if row is not None:
                row["timestamp"] = iso_text(self._exchange.clock.now())
                self._subscribers.broadcast(channel, {"channel": "book", "type": "update", "data": [row]})

    def hear(self, connection: Connection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRefusedError:
            connection.send({"error": "Malformed request", "success": False})
            return
        method = fields.get("method", fields.get("event"))
        if method == "ping":
            connection.send({"method": "pong", "req_id": fields.get("req_id"), **self._times()})
        elif method in ("subscribe", "unsubscribe"):
            self._subscribe(connection, fields, method)
        else:
            self._refuse(connection, fields, "Unsupported method")

    def _subscribe(self, connection: Connection, fields: dict[str, Any], method: str) -> None:
        parameters = fields.get("params") or {}
        depth, symbols = parameters.get("depth", 10), parameters.get("symbol")
        if parameters.get("channel") != "book" or not isinstance(symbols, list):
            self._refuse(connection, fields, "Subscription name invalid")
        elif depth not in DEPTHS:
            self._refuse(connection, fields, "Subscription depth not supported")
        else:
            for symbol in symbols:
                if symbol not in self._exchange.listings:
                    self._refuse(connection, fields, f"Currency pair not supported {symbol}")
                elif method == "unsubscribe":
                    connection.channels.discard(_channel(symbol, depth))
                    self._acknowledge(connection, fields, method, symbol, depth)
                elif _channel(symbol, depth) in connection.channels:
                    self._refuse(connection, fields, "Already subscribed")
                else:
                    self._acknowledge(connection, fields, method, symbol, depth)
                    self._start(connection, symbol, depth)

    def _start(self, connection: Connection, symbol: str, depth: int) -> None:
        view = self._views.get((symbol, depth))
        if view is None:
            view = self._views[(symbol, depth)] = DepthView(self._exchange.listings[symbol], depth)
        snapshot = view.snapshot(self._exchange.books[symbol])
        connection.send({"channel": "book", "type": "snapshot", "data": [snapshot]})
        connection.channels.add(_channel(symbol, depth))

    def _acknowledge(
        self, connection: Connection, fields: dict[str, Any], method: str, symbol: str, depth: int
    ) -> None:
        result = {"channel": "book", "symbol": symbol, "depth": depth, "snapshot": True}
        answer = {"method": method, "result": result, "success": True, "req_id": fields.get("req_id")}
        connection.send({**answer, **self._times()})

    def _refuse(self, connection: Connection, fields: dict[str, Any], text: str) -> None:
        answer = {"error": text, "method": fields.get("method"), "success": False, "req_id": fields.get("req_id")}
        connection.send({**answer, **self._times()})

    def _times(self) -> dict[str, str]:
        now = iso_text(self._exchange.clock.now())
        return {"time_in": now, "time_out": now}


def _channel(symbol: str, depth: int) -> str:
    return f"book:{symbol}:{depth}"
