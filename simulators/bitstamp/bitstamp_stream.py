"""Bitstamp's WebSocket: book diffs without a snapshot of their own, top-100 books, trades, and the account's events."""

import secrets
from collections.abc import Mapping

from market.instruments.orders import Side
from market.time_units import MICROSECONDS
from simulators.bitstamp.bitstamp_events import my_trade, order_event, public_trade
from simulators.bitstamp.bitstamp_rows import trade_id
from simulators.market.traded_day import TradedDay
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError, SimulatedAccountEvent
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Change, MarketStep, json_fields, levels_of
from simulators.web.subscribers import SubscriberConnection, Subscribers

_PUBLIC = ("diff_order_book", "order_book", "live_trades")
_PRIVATE = ("private-my_orders", "private-my_trades")
_TOP = 100
_TOKEN_SECONDS = 60
_NO_ACCESS = 4009


class BitstampStream:
    """A REST book has the stamp of the last published step: diffs after it are what it lacks."""

    def __init__(self, exchange: SimulatedExchange, user_id: str) -> None:
        self.subscribers = Subscribers()
        self._exchange = exchange
        self._user_id = user_id
        self._days = {symbol: TradedDay() for symbol in exchange.listings}
        self._tokens: dict[str, int] = {}
        self._micro = exchange.clock.now()
        exchange.listen(self._publish_event)

    def day(self, symbol: str) -> TradedDay:
        return self._days[symbol]

    def stamps(self) -> dict[str, str]:
        return {"timestamp": str(self._micro // MICROSECONDS), "microtimestamp": str(self._micro)}

    def token(self) -> Mapping[str, object]:
        """Good for one minute's subscribing."""
        token, now = secrets.token_urlsafe(24), self._exchange.clock.now()
        self._tokens = {known: until for known, until in self._tokens.items() if until > now}
        self._tokens[token] = now + _TOKEN_SECONDS * MICROSECONDS
        return {"valid_sec": _TOKEN_SECONDS, "token": token, "user_id": int(self._user_id)}

    def publish(self, step: MarketStep) -> None:
        listing = self._exchange.listings[step.symbol]
        for trade in step.trades:
            self._days[step.symbol].add(trade)
            channel = f"live_trades_{listing.market_id}"
            if self.subscribers.has(channel):
                fills = self._exchange.customer.known_fills([str(trade_id(trade.number))])
                self._send("trade", channel, public_trade(trade, fills))
        if step.changes:
            # no two steps have one stamp, however fast they come
            self._micro = max(self._micro + 1, self._exchange.clock.now())
            self._send_books(listing, step.changes)

    def _diff(self, listing: Listing, changes: list[Change]) -> dict[str, object]:
        sides: dict[Side, list[list[str]]] = {"buy": [], "sell": []}
        for side, ticks, lots in changes:
            sides[side].append([listing.price_text(ticks), listing.amount_text(lots)])
        return {**self.stamps(), "bids": sides["buy"], "asks": sides["sell"]}

    def _send_books(self, listing: Listing, changes: list[Change]) -> None:
        channel = f"diff_order_book_{listing.market_id}"
        if self.subscribers.has(channel):
            self._send("data", channel, self._diff(listing, changes))
        channel = f"order_book_{listing.market_id}"
        if self.subscribers.has(channel):
            levels = levels_of(listing, self._exchange.books[listing.market.symbol], _TOP)
            self._send("data", channel, {**self.stamps(), **levels})

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        """A step of the account's orders, to its owner."""
        name = f"{self._exchange.listings[event.order.symbol].market_id}-{self._user_id}"
        if event.fill is not None:
            self._send("trade", f"private-my_trades_{name}", my_trade(event.fill, event.order))
            if event.order.state == "done":
                return
        kind = {"opened": "order_created", "filled": "order_changed", "ended": "order_deleted"}[event.kind]
        self._send(kind, f"private-my_orders_{name}", order_event(event.order, self._exchange.clock.now()))

    def _send(self, event: str, channel: str, data: Mapping[str, object]) -> None:
        self.subscribers.broadcast(channel, {"data": data, "channel": channel, "event": event})

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRejectedError:
            connection.send(_error("Incorrect JSON format."))
            return
        event, data = fields.get("event"), fields.get("data")
        if event == "bts:heartbeat":
            connection.send({"event": "bts:heartbeat", "channel": "", "data": {"status": "success"}})
            return
        channel = data.get("channel") if isinstance(data, dict) else None
        if event not in ("bts:subscribe", "bts:unsubscribe") or not isinstance(data, dict) or not channel:
            connection.send(_error("Bad subscription string."))
        elif event == "bts:unsubscribe":
            connection.channels.discard(str(channel))
            connection.send({"event": "bts:unsubscription_succeeded", "channel": channel, "data": {}})
        else:
            self._subscribe(connection, str(channel), data.get("auth"))

    def _subscribe(self, connection: SubscriberConnection, channel: str, token: object) -> None:
        name, _, rest = channel.rpartition("_")
        if name in _PRIVATE:
            user_id = rest.partition("-")[2]
            if user_id != self._user_id or self._tokens.get(str(token), 0) < self._exchange.clock.now():
                connection.send(_error("Connection is unauthorized.", _NO_ACCESS))
                return
        elif name not in _PUBLIC or rest != rest.lower() or not rest.isalnum():
            connection.send(_error("Invalid channel provided."))
            return
        # a market that does not exist is subscribed to as well, and says nothing
        connection.channels.add(channel)
        connection.send({"event": "bts:subscription_succeeded", "channel": channel, "data": {}})


def _error(text: str, code: int | None = None) -> dict[str, object]:
    return {"event": "bts:error", "channel": "", "data": {"code": code, "message": text}}
