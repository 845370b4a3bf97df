"""Kraken's WebSocket v2 conversation: subscribe and unsubscribe, orders, ping, status and heartbeats."""

from collections.abc import Mapping
from typing import Any

from simulators.kraken.account_channels import KrakenBalances, KrakenExecutions, PrivateChannel
from simulators.kraken.market_channels import MARKET_CHANNELS, KrakenMarkets
from simulators.kraken.public import KrakenDay
from simulators.kraken.rejections import error_text
from simulators.kraken.trading import KrakenTrading
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import MarketStep, iso_text, json_fields
from simulators.web.stream_tokens import StreamTokens
from simulators.web.subscribers import SubscriberConnection, Subscribers

_HEARTBEAT = "heartbeat"


class KrakenStream:
    """One address for public and private channels, although the real exchange has two."""

    def __init__(
        self,
        exchange: SimulatedExchange,
        subscribers: Subscribers,
        days: Mapping[str, KrakenDay],
        tokens: StreamTokens,
        trading: KrakenTrading,
    ) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._tokens = tokens
        self._trading = trading
        self._markets = KrakenMarkets(exchange, subscribers, days)
        self._private: dict[str, PrivateChannel] = {
            "executions": KrakenExecutions(exchange),
            "balances": KrakenBalances(exchange),
        }

    def greet(self, connection: SubscriberConnection) -> None:
        status = {"api_version": "v2", "connection_id": id(connection), "system": "online", "version": "2.0.10"}
        connection.send({"channel": "status", "type": "update", "data": [status]})

    def publish(self, step: MarketStep) -> None:
        self._markets.publish(step)

    def beat(self) -> None:
        """Send a heartbeat about once a second to all who have subscribed to anything."""
        self._subscribers.broadcast(_HEARTBEAT, {"channel": _HEARTBEAT})

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRejectedError:
            connection.send({"error": "Malformed request", "success": False, **self._times()})
            return
        method = fields.get("method")
        try:
            if method == "ping":
                self._answer(connection, fields, {"method": "pong"})
            elif method in ("subscribe", "unsubscribe"):
                self._subscribe(connection, fields, parameters_of(fields), is_start=method == "subscribe")
            elif isinstance(method, str) and self._trading.knows(method):
                self._trade(connection, fields, parameters_of(fields), method)
            else:
                raise RequestRejectedError("invalid_request", "Unsupported method")
        except RequestRejectedError as error:
            self._reject(connection, fields, error)
        if connection.channels - {_HEARTBEAT}:
            connection.channels.add(_HEARTBEAT)
        else:
            connection.channels.discard(_HEARTBEAT)

    def _subscribe(
        self, connection: SubscriberConnection, fields: dict[str, Any], parameters: dict[str, Any], *, is_start: bool
    ) -> None:
        channel = str(parameters.get("channel"))
        if channel in self._private:
            self._subscribe_private(connection, fields, parameters, is_start=is_start)
            return
        if channel not in MARKET_CHANNELS:
            raise RequestRejectedError("invalid_request", "Subscription name invalid")
        symbols = parameters.get("symbol")
        if not isinstance(symbols, list):
            raise RequestRejectedError("invalid_request", "Pair field must be an array")
        for symbol in symbols:
            try:
                topic = self._markets.topic(parameters, symbol)
                _check_joined(connection, topic.key, is_start=is_start)
            except RequestRejectedError as error:
                self._reject(connection, fields, error, symbol)
                continue
            self._acknowledge(connection, fields, topic.result())
            if is_start:
                self._markets.start(connection, topic)
            else:
                connection.channels.discard(topic.key)

    def _subscribe_private(
        self, connection: SubscriberConnection, fields: dict[str, Any], parameters: dict[str, Any], *, is_start: bool
    ) -> None:
        channel = self._private[parameters["channel"]]
        if not set(parameters) <= channel.known:
            raise RequestRejectedError("invalid_request", "Subscription object unsupported field")
        self._check_token(parameters)
        _check_joined(connection, channel.readers.channel, is_start=is_start)
        self._acknowledge(connection, fields, channel.result(parameters))
        if is_start:
            channel.start(connection, parameters)
        else:
            channel.readers.leave(connection)

    def _trade(
        self, connection: SubscriberConnection, fields: dict[str, Any], parameters: dict[str, Any], method: str
    ) -> None:
        self._check_token(parameters)
        try:
            results = self._trading.results(method, parameters)
        except RequestRejectedError as error:
            raise RequestRejectedError(error.reason, error_text(error)) from error
        for result in results:
            self._acknowledge(connection, fields, result)

    def _check_token(self, parameters: dict[str, Any]) -> None:
        if not self._tokens.is_valid(parameters.get("token")):
            raise RequestRejectedError("unknown_key", "ESession:Invalid session")

    def _acknowledge(self, connection: SubscriberConnection, fields: dict[str, Any], result: dict[str, object]) -> None:
        self._answer(connection, fields, {"method": fields["method"], "result": result, "success": True})

    def _reject(
        self,
        connection: SubscriberConnection,
        fields: dict[str, Any],
        error: RequestRejectedError,
        symbol: object = None,
    ) -> None:
        answer: dict[str, object] = {"error": error.detail, "method": fields.get("method"), "success": False}
        if symbol is not None:
            answer["symbol"] = symbol
        self._answer(connection, fields, answer)

    def _answer(self, connection: SubscriberConnection, fields: dict[str, Any], answer: dict[str, object]) -> None:
        """Send an answer with the request's `req_id`, if it has one."""
        number = {"req_id": fields["req_id"]} if isinstance(fields.get("req_id"), int) else {}
        connection.send({**answer, **number, **self._times()})

    def _times(self) -> dict[str, str]:
        now = iso_text(self._exchange.clock.now())
        return {"time_in": now, "time_out": now}


def parameters_of(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters. Raises RequestRejectedError."""
    parameters = fields.get("params")
    if not isinstance(parameters, dict):
        raise RequestRejectedError("invalid_request", "Subscription field must be an object")
    return parameters


def _check_joined(connection: SubscriberConnection, key: str, *, is_start: bool) -> None:
    if is_start and key in connection.channels:
        raise RequestRejectedError("invalid_request", "Already subscribed")
    if not is_start and key not in connection.channels:
        raise RequestRejectedError("invalid_request", "Subscription Not Found")
