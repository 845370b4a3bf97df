"""Bitstamp's WebSocket: book diffs without a snapshot of their own, top-100 books, trades, and the account's events."""

from collections.abc import Iterable, Mapping

from market.instruments.orders import Side
from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.bitstamp.rows import trade_id
from simulators.market.traded_day import TradedDay
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import (
    PublicTrade,
    RequestRejectedError,
    SimulatedAccountEvent,
    SimulatedFill,
    SimulatedOrder,
)
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Change, MarketStep, json_fields, levels_of
from simulators.web.json_digits import plain
from simulators.web.stream_tokens import StreamTokens
from simulators.web.subscribers import SubscriberConnection, Subscribers

_LIMIT, _MARKET, _IMMEDIATE, _WHOLE = 0, 2, 4, 6
"""The stream's names of order types."""
_HOUSE_ORDER = 1_000_000
_PUBLIC = ("diff_order_book", "order_book", "live_trades")
_PRIVATE = ("private-my_orders", "private-my_trades")
_TOP = 100
_TOKEN_SECONDS = 60
_NO_ACCESS = 4009


def public_trade(trade: PublicTrade, fills: Iterable[SimulatedFill]) -> dict[str, object]:
    """Return the trade with its figures as numbers and as text; `type` is the taker's side. `fills`: the account's part
    in it."""
    orders = {"buy": trade.number * _HOUSE_ORDER, "sell": trade.number * _HOUSE_ORDER + 1}
    orders |= {fill.side: int(fill.order_id) for fill in fills}
    number = trade_id(trade.number)
    return {
        "id": number,
        "id_str": str(number),
        "timestamp": str(trade.traded_at // MICROSECONDS),
        "amount": plain(trade.amount),
        "amount_str": fixed_text(trade.amount, 8),
        "price": plain(trade.price),
        "price_str": format(trade.price, "f"),
        "type": 0 if trade.side == "buy" else 1,
        "microtimestamp": str(trade.traded_at),
        "buy_order_id": orders["buy"],
        "sell_order_id": orders["sell"],
    }


def order_event(order: SimulatedOrder, now: int) -> dict[str, object]:
    """Return the current state of an order; `amount` is what remains of it. `now`: time of the event, microseconds."""
    price = order.price if order.price is not None else ZERO
    event: dict[str, object] = {
        "id": int(order.order_id),
        "id_str": order.order_id,
        "order_type": 0 if order.side == "buy" else 1,
        "order_subtype": _subtype(order),
        "datetime": str(now // MICROSECONDS),
        "microtimestamp": str(now),
        "amount": plain(order.remaining),
        "amount_str": fixed_text(order.remaining, 8),
        "amount_traded": fixed_text(order.filled, 8),
        "amount_at_create": fixed_text(order.amount, 8),
        "price": plain(price),
        "price_str": format(price, "f"),
        "is_liquidation": False,
        "trade_account_id": 0,
    }
    if order.client_order_id:
        event["client_order_id"] = order.client_order_id
    return event


def _subtype(order: SimulatedOrder) -> int:
    if order.price is None:
        return _MARKET
    return _WHOLE if order.whole else _IMMEDIATE if order.immediate else _LIMIT


def my_trade(fill: SimulatedFill, order: SimulatedOrder) -> dict[str, object]:
    event: dict[str, object] = {
        "id": int(fill.fill_id),
        "amount": fixed_text(fill.amount, 8),
        "price": format(fill.price, "f"),
        "microtimestamp": str(fill.filled_at),
        "fee": format(fill.fee, "f"),
        "order_id": fill.order_id,
        "trade_account_id": 0,
        "side": fill.side,
    }
    if order.client_order_id:
        event["client_order_id"] = order.client_order_id
    return event


class BitstampStream:
    """A REST book has the stamp of the last published step: it lacks only the diffs after it."""

    def __init__(self, exchange: SimulatedExchange, user_id: str) -> None:
        self.subscribers = Subscribers()
        self._exchange = exchange
        self._user_id = user_id
        self._days = {symbol: TradedDay() for symbol in exchange.listings}
        self._tokens = StreamTokens(exchange.clock, _TOKEN_SECONDS, 24)
        self._micro = exchange.clock.now()
        exchange.listen(self._publish_event)

    def day(self, symbol: str) -> TradedDay:
        self._exchange.venue.steps.look(symbol)
        return self._days[symbol]

    def stamp(self) -> None:
        """Stamp a step of any market: no two have one stamp, however fast they come."""
        self._micro = max(self._micro + 1, self._exchange.clock.now())

    def stamps(self) -> dict[str, str]:
        return {"timestamp": str(self._micro // MICROSECONDS), "microtimestamp": str(self._micro)}

    def token(self) -> Mapping[str, object]:
        """Return a token, good for one minute's subscribing."""
        return {"valid_sec": self._tokens.seconds, "token": self._tokens.issue(), "user_id": int(self._user_id)}

    def knows_token(self, word: str) -> bool:
        return self._tokens.is_valid(word)

    def publish(self, step: MarketStep) -> None:
        listing = self._exchange.listings[step.symbol]
        for trade in step.trades:
            self._days[step.symbol].add(trade)
            if step.is_late:
                continue
            channel = f"live_trades_{listing.market_id}"
            if self.subscribers.has(channel):
                fills = self._exchange.customer.known_fills([str(trade_id(trade.number))])
                self._send("trade", channel, public_trade(trade, fills))
        if step.changes and not step.is_late:
            self.stamp()
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
        """Publish a step of the account's orders to its owner."""
        name = f"{self._exchange.listings[event.order.symbol].market_id}-{self._user_id}"
        if event.fill is not None:
            self._send("trade", f"private-my_trades_{name}", my_trade(event.fill, event.order))
            if event.order.state == "done":
                return
        kind = {"opened": "order_created", "ended": "order_deleted"}.get(event.kind, "order_changed")
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
            if user_id != self._user_id or not self._tokens.is_valid(token):
                connection.send(_error("Connection is unauthorized.", _NO_ACCESS))
                return
        elif name not in _PUBLIC or rest != rest.lower() or not rest.isalnum():
            connection.send(_error("Invalid channel provided."))
            return
        # a market that does not exist is subscribed to as well, and says nothing
        connection.channels.add(channel)
        connection.send({"event": "bts:subscription_succeeded", "channel": channel, "data": {}})


def reconnect_notice() -> dict[str, object]:
    """Return the notice that a connection gets before it ends."""
    return {"event": "bts:request_reconnect", "channel": "", "data": ""}


def _error(text: str, code: int | None = None) -> dict[str, object]:
    return {"event": "bts:error", "channel": "", "data": {"code": code, "message": text}}
