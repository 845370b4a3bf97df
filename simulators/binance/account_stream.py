"""Binance's WebSocket API: calls of REST under other names, sessions, and the account's events."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from simulators.binance.endpoints import Fields, shutdown_event, time_unit, timestamp
from simulators.binance.keys import BinanceKeys, check_time
from simulators.binance.rejections import MisusedError, ReplacementError, error_fields
from simulators.binance.reports import BinanceReports
from simulators.matching.order_records import RequestRejectedError, SimulatedAccountEvent
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.call_faults import CalledPath, CallFaults
from simulators.web.exchange_gateway import json_fields
from simulators.web.http_faults import InjectedError
from simulators.web.subscribers import SubscriberConnection, Subscribers

_CHANNELS = {"user:": "", "user:MICROSECOND": "MICROSECOND"}
"""Channel of the account's events, with the unit of their times."""
_SUBSCRIPTION = 0
"""One account, so one subscription a connection."""
_SESSION_KIND = "Ed25519"
"""Only such keys may open sessions: WebSocket API, Session authentication."""

_METHODS = {
    "ping": ("GET", "/api/v3/ping"),
    "time": ("GET", "/api/v3/time"),
    "exchangeInfo": ("GET", "/api/v3/exchangeInfo"),
    "depth": ("GET", "/api/v3/depth"),
    "trades.recent": ("GET", "/api/v3/trades"),
    "trades.aggregate": ("GET", "/api/v3/aggTrades"),
    "klines": ("GET", "/api/v3/klines"),
    "avgPrice": ("GET", "/api/v3/avgPrice"),
    "ticker": ("GET", "/api/v3/ticker"),
    "ticker.24hr": ("GET", "/api/v3/ticker/24hr"),
    "ticker.price": ("GET", "/api/v3/ticker/price"),
    "ticker.book": ("GET", "/api/v3/ticker/bookTicker"),
    "order.place": ("POST", "/api/v3/order"),
    "order.test": ("POST", "/api/v3/order/test"),
    "order.status": ("GET", "/api/v3/order"),
    "order.cancel": ("DELETE", "/api/v3/order"),
    "order.cancelReplace": ("POST", "/api/v3/order/cancelReplace"),
    "openOrders.status": ("GET", "/api/v3/openOrders"),
    "openOrders.cancelAll": ("DELETE", "/api/v3/openOrders"),
    "allOrders": ("GET", "/api/v3/allOrders"),
    "myTrades": ("GET", "/api/v3/myTrades"),
    "myPreventedMatches": ("GET", "/api/v3/myPreventedMatches"),
    "account.status": ("GET", "/api/v3/account"),
    "account.commission": ("GET", "/api/v3/account/commission"),
    "account.rateLimits.orders": ("GET", "/api/v3/rateLimit/order"),
}
"""Method and path of each call over REST."""
_SESSION_METHODS = ("session.logon", "session.status", "session.logout", "session.subscriptions")
_TOO_MANY = (418, 429)
# Said beside a call's own parameters.
_ASIDE = frozenset(("apiKey", "returnRateLimits"))


class Calls(Protocol):
    """The endpoints of REST."""

    def is_signed(self, method: str, path: str) -> bool: ...

    def answer(self, method: str, path: str, fields: Fields) -> object:
        """Return the endpoint's answer. Raises RequestRejectedError."""
        ...

    def counts(self, method: str = "", path: str = "") -> list[dict[str, object]]:
        """Return what is used by now of the limits that this endpoint counts in."""
        ...

    def waits(self, error: RequestRejectedError) -> dict[str, object]:
        """Return until when a client of too many requests is to wait."""
        ...


@dataclass(slots=True)
class _Session:
    """What a connection has reported of itself; times in microseconds."""

    unit: str
    connected_at: int
    shows_limits: bool
    api_key: str | None = None
    authorized_at: int | None = None


class BinanceAccountStream:
    def __init__(
        self,
        exchange: SimulatedExchange,
        keys: BinanceKeys,
        subscribers: Subscribers,
        reports: BinanceReports,
        calls: Calls,
    ) -> None:
        self._calls = calls
        self._faults = CallFaults(subscribers, exchange.clock)
        self._exchange = exchange
        self._keys = keys
        self._subscribers = subscribers
        self._reports = reports
        self._sessions: WeakKeyDictionary[SubscriberConnection, _Session] = WeakKeyDictionary()
        exchange.listen(self._publish_event)

    def on_message(self, connection: SubscriberConnection, text: str, query: Mapping[str, str]) -> None:
        """Answer a message; `query` of the address that the connection was opened at."""
        session = self._session(connection, query)
        try:
            fields, error = json_fields(text), None
        except RequestRejectedError as unread:
            fields, error = {}, unread
        method = str(fields.get("method"))
        called = CalledPath(*_METHODS[method]) if method in _METHODS else None
        self._faults.deliver(connection, called, lambda: self._message(connection, session, fields, error))

    def _message(
        self,
        connection: SubscriberConnection,
        session: _Session,
        fields: Mapping[str, Any],
        error: RequestRejectedError | None,
    ) -> dict[str, object]:
        """Return the answer. `error`: why the message cannot be read."""
        answer: dict[str, object] = {"id": fields.get("id")}
        method, shows_limits = str(fields.get("method")), session.shows_limits
        try:
            if error is not None:
                raise error
            parameters = _parameters(fields)
            shows_limits = parameters.get("returnRateLimits", shows_limits) is not False
            with time_unit(session.unit):
                answer |= {"status": 200, "result": self._answer(connection, session, method, parameters)}
        except RequestRejectedError as rejected:
            answer |= self._rejection(rejected)
        if shows_limits:
            answer["rateLimits"] = self._calls.counts(*_METHODS.get(method, ()))
        return answer

    def _rejection(self, error: RequestRejectedError) -> dict[str, object]:
        status, code, words = error_fields(error)
        if isinstance(error, InjectedError):
            status = error.status_for(status)
        data: Mapping[str, object] | None = error.data if isinstance(error, ReplacementError) else None
        if status in _TOO_MANY:
            data = self._calls.waits(error)
        said = {"code": code, "msg": words} | ({} if data is None else {"data": data})
        return {"status": status, "error": said}

    def shutdown_notice(self, query: Mapping[str, str]) -> object:
        """Return the notice that a connection gets before it ends; `query` of its address."""
        with time_unit(_unit_of(query)):
            return {"event": shutdown_event(self._exchange.clock.now())}

    def _session(self, connection: SubscriberConnection, query: Mapping[str, str]) -> _Session:
        if connection not in self._sessions:
            shows_limits = query.get("returnRateLimits", "true") != "false"
            self._sessions[connection] = _Session(_unit_of(query), self._exchange.clock.now(), shows_limits)
        return self._sessions[connection]

    def _answer(
        self, connection: SubscriberConnection, session: _Session, method: str, parameters: Mapping[str, Any]
    ) -> object:
        if method in _METHODS:
            return self._called(session, *_METHODS[method], parameters)
        if method in _SESSION_METHODS:
            return self._session_answer(connection, session, method, parameters)
        if method.startswith("userDataStream.subscribe"):
            if method.endswith(".signature"):
                self._check(parameters)
            elif session.api_key is None:
                raise RequestRejectedError("unknown_key", "missing")
            return self._subscribed(connection, session)
        if method == "userDataStream.unsubscribe":
            connection.channels -= _CHANNELS.keys()
            return {}
        raise MisusedError(-32601, f"Method '{method}' is not supported.")

    def _session_answer(
        self, connection: SubscriberConnection, session: _Session, method: str, parameters: Mapping[str, Any]
    ) -> object:
        is_subscribed = bool(connection.channels & _CHANNELS.keys())
        if method == "session.subscriptions":
            return [{"subscriptionId": _SUBSCRIPTION}] if is_subscribed else []
        if method == "session.logon":
            self._check(parameters)
            api_key = str(parameters.get("apiKey"))
            kind = self._keys.kind_of(api_key)
            if kind != _SESSION_KIND:
                raise MisusedError(-4056, f"{kind} API key is not supported.")
            session.api_key, session.authorized_at = api_key, self._exchange.clock.now()
        elif method == "session.logout":
            session.api_key = session.authorized_at = None
        return {
            "apiKey": session.api_key,
            "authorizedSince": None if session.authorized_at is None else timestamp(session.authorized_at),
            "connectedSince": timestamp(session.connected_at),
            "returnRateLimits": session.shows_limits,
            "serverTime": timestamp(self._exchange.clock.now()),
            "userDataStream": is_subscribed,
        }

    def _subscribed(self, connection: SubscriberConnection, session: _Session) -> object:
        if connection.channels & _CHANNELS.keys():
            raise MisusedError(-2035, "User Data Stream subscription already active.")
        connection.channels.add(f"user:{session.unit}")
        return {"subscriptionId": _SUBSCRIPTION}

    def _called(self, session: _Session, method: str, path: str, parameters: Mapping[str, Any]) -> object:
        self._faults.check(CalledPath(method, path))
        if self._calls.is_signed(method, path):
            if session.api_key is not None and "apiKey" not in parameters:
                # the session's key stands for a signature
                check_time(_texts(parameters), self._exchange.clock.now())
            else:
                self._check(parameters)
        fields = {name: value for name, value in _texts(parameters).items() if name not in _ASIDE}
        return self._calls.answer(method, path, fields)

    def _check(self, parameters: Mapping[str, Any]) -> None:
        """Check the signature, which covers all parameters but itself, sorted by name. Raises RequestRejectedError."""
        fields = _texts(parameters)
        signed = "&".join(f"{name}={fields[name]}" for name in sorted(fields) if name != "signature")
        self._keys.check(fields.get("apiKey", ""), fields, signed, self._exchange.clock.now())

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        for channel, unit in _CHANNELS.items():
            if self._subscribers.has(channel):
                with time_unit(unit):
                    messages = self._reports.events_of(event)
                for message in messages:
                    self._subscribers.broadcast(channel, {"subscriptionId": _SUBSCRIPTION, "event": message})


def _unit_of(query: Mapping[str, str]) -> str:
    return "MICROSECOND" if query.get("timeUnit", "").upper() == "MICROSECOND" else ""


def _parameters(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters. Raises RequestRejectedError."""
    parameters = fields.get("params") or {}
    if not isinstance(parameters, dict):
        raise RequestRejectedError("invalid_request", "params")
    return parameters


def _texts(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters as they stand in a query."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in parameters.items()}
