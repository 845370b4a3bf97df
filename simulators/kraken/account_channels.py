"""Kraken's private channels `executions` and `balances`.

As on the real channels, only the first message of an order has all fields; later ones have its id and the changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Protocol
from weakref import WeakKeyDictionary

from market.instruments.orders import changes_of
from market.money import ZERO, total
from simulators.kraken.limits import MOST
from simulators.kraken.rows import cancel_reason, kind_of, price_step, transaction_name
from simulators.matching.funded_account import average_price, charged_fee, executed_cost
from simulators.matching.listings import Listing
from simulators.matching.order_records import SimulatedAccountEvent, SimulatedFill, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import iso_text, known
from simulators.web.json_digits import plain
from simulators.web.subscribers import SubscriberConnection

Row = dict[str, object]
_NEWEST_FILLS = 50
_BRIEF = "brief"
_CENT_PARTS = Decimal("0.0001")


@dataclass(slots=True)
class KrakenReader:
    """What one connection has asked of a channel, and how many of its messages it has had."""

    options: frozenset[str]
    sequence: int = 0


class KrakenReaders:
    def __init__(self, channel: str) -> None:
        self.channel = channel
        self._readers: WeakKeyDictionary[SubscriberConnection, KrakenReader] = WeakKeyDictionary()

    def join(self, connection: SubscriberConnection, options: frozenset[str] = frozenset()) -> None:
        connection.channels.add(self.channel)
        self._readers[connection] = KrakenReader(options)

    def leave(self, connection: SubscriberConnection) -> None:
        connection.channels.discard(self.channel)
        self._readers.pop(connection, None)

    def send_snapshot(self, connection: SubscriberConnection, rows: Sequence[Row]) -> None:
        """Send a snapshot to one that has just joined."""
        connection.send(self._message(self._readers[connection], "snapshot", rows))

    def publish(self, rows: Sequence[Row], *, unless: str = "") -> None:
        """Send one update to all readers except those with the option `unless`."""
        for connection, reader in list(self._readers.items()):
            if self.channel in connection.channels and unless not in reader.options:
                connection.publish(self.channel, self._message(reader, "update", rows))

    def _message(self, reader: KrakenReader, kind: str, rows: Sequence[Row]) -> object:
        reader.sequence += 1
        return {"channel": self.channel, "type": kind, "data": rows, "sequence": reader.sequence}


class PrivateChannel(Protocol):
    """One of the account's own channels."""

    known: frozenset[str]
    """The parameters that a subscription may have."""
    readers: KrakenReaders

    def result(self, parameters: Mapping[str, object]) -> Row:
        """Return the subscription as acknowledged."""
        ...

    def start(self, connection: SubscriberConnection, parameters: Mapping[str, object]) -> None:
        """Join, with a snapshot if one is wanted."""
        ...


class KrakenExecutions:
    """`order_status` false leaves out what neither opens nor ends an order."""

    known = known("channel", "token", "snap_orders", "snap_trades", "order_status")

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self.readers = KrakenReaders("executions")
        exchange.listen(self._publish_event)

    def result(self, parameters: Mapping[str, object]) -> Row:
        return {
            "channel": "executions",
            "maxratecount": MOST,
            "snap_orders": parameters.get("snap_orders", True) is not False,
            "snap_trades": parameters.get("snap_trades", False) is True,
        }

    def start(self, connection: SubscriberConnection, parameters: Mapping[str, object]) -> None:
        """Send open orders, then the newest fills, each in a snapshot of its own."""
        is_brief = parameters.get("order_status", True) is False
        self.readers.join(connection, frozenset([_BRIEF] if is_brief else []))
        wanted = self.result(parameters)
        customer = self._exchange.customer
        if wanted["snap_orders"]:
            self.readers.send_snapshot(connection, [self._standing(order) for order in customer.open_orders()])
        if wanted["snap_trades"]:
            newest = list(islice(customer.newest_fills(), _NEWEST_FILLS))
            self.readers.send_snapshot(connection, [self._fill(fill) for fill in reversed(newest)])

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        order = event.order
        if event.kind == "opened":
            self.readers.publish([{**self._whole(order), **_state("pending_new", "pending_new")}], unless=_BRIEF)
            self.readers.publish([{**_named(order, order.placed_at), **_state("new", "new")}])
        elif event.kind == "triggered":
            row = {**_named(order, order.triggered_at or order.placed_at), "triggers": _triggers(order)}
            self.readers.publish([{**row, **_state("status", "new")}], unless=_BRIEF)
        elif event.kind == "amended":
            self.readers.publish([{**self._standing(order), "exec_type": "amended"}], unless=_BRIEF)
        elif event.fill is not None:
            self.readers.publish([self._fill(event.fill)], unless=_BRIEF)
        elif event.kind == "ended":
            self.readers.publish([self._ended(order)])

    def _whole(self, order: SimulatedOrder) -> Row:
        row = {
            **_named(order, order.placed_at),
            "symbol": order.symbol,
            "side": order.side,
            "order_type": kind_of(order),
            "order_qty": plain(order.amount),
            "time_in_force": _lifetime(order),
            "cum_cost": plain(ZERO),
            "fee_usd_equiv": plain(ZERO),
            "fee_ccy_pref": "fciq",
        }
        if order.price is not None:
            row |= {"limit_price": plain(order.price), "limit_price_type": "static"}
        if order.user_reference is not None:
            row["order_userref"] = order.user_reference
        if order.trigger is not None:
            row |= {"stop_price": plain(order.trigger.price), "triggers": _triggers(order)}
        return row

    def _standing(self, order: SimulatedOrder) -> Row:
        status = "partially_filled" if order.filled else "new"
        return {**self._whole(order), **self._sums(order), **_state("new", status)}

    def _ended(self, order: SimulatedOrder) -> Row:
        name = "expired" if order.is_expired else "filled" if order.state == "done" else "canceled"
        row = {**_named(order, order.ended_at or order.placed_at), **self._sums(order), **_state(name, name)}
        reason = cancel_reason(order)
        return row if reason is None else {**row, "reason": reason, "cancel_reason": reason}

    def _fill(self, fill: SimulatedFill) -> Row:
        """Return the fill; the order is partly filled even after its last fill: that it is filled is a message of its
        own."""
        order, listing = self._exchange.customer.order(fill.order_id), self._exchange.listings[fill.symbol]
        row = {
            **_named(order, fill.filled_at),
            "symbol": fill.symbol,
            "side": fill.side,
            "order_type": kind_of(order),
            "exec_id": fill.fill_id,
            "trade_id": fill.number,
            "last_qty": plain(fill.amount),
            "last_price": plain(fill.price),
            "liquidity_ind": "t" if fill.liquidity == "taker" else "m",
            "cost": plain(fill.cost),
            "fees": [{"asset": fill.fee_currency, "qty": plain(fill.fee)}],
            "fee_usd_equiv": plain(_in_dollars(fill.fee, fill.price, listing)),
            **_state("trade", "partially_filled"),
        }
        sums = self._sums(order, fill.number)
        return {**row, **{name: sums[name] for name in ("cum_qty", "cum_cost", "avg_price")}}

    def _sums(self, order: SimulatedOrder, newest: int | None = None) -> Row:
        """Return the sum of all fills, or of those up to the fill number `newest`."""
        fills = self._exchange.customer.fills_of(order.order_id)
        fills = [fill for fill in fills if newest is None or fill.number <= newest]
        listing = self._exchange.listings[order.symbol]
        average = average_price(fills).quantize(price_step(listing))
        return {
            "cum_qty": plain(total(fill.amount for fill in fills)),
            "cum_cost": plain(executed_cost(fills)),
            "avg_price": plain(average),
            "fee_usd_equiv": plain(_in_dollars(charged_fee(fills), average, listing)),
        }


def _lifetime(order: SimulatedOrder) -> str:
    if order.price is None:
        return "GTC"
    if order.expires_at is not None:
        return "GTD"
    return "FOK" if order.whole else "IOC" if order.immediate else "GTC"


def _triggers(order: SimulatedOrder) -> Row:
    price = ZERO if order.trigger is None else order.trigger.price
    status = "triggered" if order.triggered_at else "untriggered"
    return {"reference": "last", "price": plain(price), "price_type": "static", "status": status}


def _named(order: SimulatedOrder, micros: int) -> Row:
    row: Row = {"order_id": order.order_id, "order_userref": 0, "timestamp": iso_text(micros)}
    return {**row, "cl_ord_id": order.client_order_id} if order.client_order_id else row


def _state(event: str, status: str) -> Row:
    return {"exec_type": event, "order_status": status}


def _in_dollars(fee: Decimal, price: Decimal, listing: Listing) -> Decimal:
    """Return a fee in dollars from quote currency; if that is not the dollar, the base currency is."""
    if listing.market.base == "USD" and price:
        return (fee / price).quantize(_CENT_PARTS)
    return fee


class KrakenBalances:
    known = known("channel", "token", "snapshot")

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self.readers = KrakenReaders("balances")
        # The account may book the next fill before this one is published, so balances after each are kept here.
        self._balances = dict(exchange.customer.balances)
        self._newest: tuple[int, list[Row]] = (0, [])
        exchange.listen(self._publish_event)

    def result(self, parameters: Mapping[str, object]) -> Row:
        return {"channel": "balances", "snapshot": parameters.get("snapshot", True) is not False}

    def start(self, connection: SubscriberConnection, parameters: Mapping[str, object]) -> None:
        self.readers.join(connection)
        if self.result(parameters)["snapshot"]:
            self.readers.send_snapshot(connection, [_whole(name, owned) for name, owned in self._balances.items()])

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        if event.fill is None:
            return
        # A fill that is reported twice is booked once.
        if event.fill.number != self._newest[0]:
            self._newest = (event.fill.number, self._booked(event.fill))
        self.readers.publish(self._newest[1])

    def _booked(self, fill: SimulatedFill) -> list[Row]:
        """Return two entries, as a ledger has them: the fee is in the one of its own currency."""
        rows: list[Row] = []
        market = self._exchange.listings[fill.symbol].market
        for place, (currency, amount) in enumerate(changes_of(fill, market.base, market.quote_currency)[:2]):
            fee = fill.fee if currency == fill.fee_currency else ZERO
            self._balances[currency] = self._balances.get(currency, ZERO) + amount - fee
            rows.append(
                {
                    "asset": currency,
                    "asset_class": "currency",
                    "amount": plain(amount),
                    "fee": plain(fee),
                    "balance": plain(self._balances[currency]),
                    "ledger_id": transaction_name("L", 2 * fill.number + place, fill.filled_at),
                    "ref_id": fill.fill_id,
                    "timestamp": iso_text(fill.filled_at),
                    "type": "trade",
                    "subtype": "",
                    "category": "trade",
                    "wallet_type": "spot",
                    "wallet_id": "main",
                }
            )
        return rows


def _whole(currency: str, owned: Decimal) -> Row:
    wallet = {"type": "spot", "id": "main", "balance": plain(owned)}
    return {"asset": currency, "asset_class": "currency", "balance": plain(owned), "wallets": [wallet]}
