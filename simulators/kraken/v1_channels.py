"""Channels of Kraken's WebSocket v1: arrays whose last words are the channel and the pair.

https://docs.kraken.com/exchange/api-reference/spot-websocket-v1, frozen, not switched off; read in November 2026
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.kraken.account_channels import KrakenReader, KrakenReaders
from simulators.kraken.market_channels import DepthView
from simulators.kraken.public import KrakenDay
from simulators.kraken.rows import order_row, public_trade_row, trade_row, wsname
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import PublicTrade, SimulatedAccountEvent, SimulatedFill, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange

_PRICE_DECIMALS = 5
_NEWEST_FILLS = 50
Row = dict[str, object]


def seconds_text(micros: int) -> str:
    return f"{micros // MICROSECONDS}.{micros % MICROSECONDS:06d}"


@dataclass(slots=True)
class V1DepthView(DepthView):
    """A book whose levels are [price, amount, seconds], with five decimals of a price at least."""

    clock: Clock | None = None

    def _level(self, ticks: int, lots: int) -> object:
        now = 0 if self.clock is None else self.clock.now()
        return [*self._texts(ticks, lots), seconds_text(now)]

    def _texts(self, ticks: int, lots: int) -> tuple[str, str]:
        decimals = max(_PRICE_DECIMALS, self.listing.price_decimals)
        return fixed_text(self.listing.price(ticks), decimals), fixed_text(self.listing.amount(lots), 8)

    def _checked_digits(self, ticks: int, lots: int) -> str:
        return "".join(text.replace(".", "").lstrip("0") for text in self._texts(ticks, lots))


def book_parts(row: Mapping[str, object]) -> list[Row]:
    """Return an update: each changed side by itself, the checksum in the last."""
    parts: list[Row] = [{name[0]: row[name]} for name in ("asks", "bids") if row[name]]
    parts[-1]["c"] = str(row["checksum"])
    return parts


def ticker_part(day: KrakenDay) -> Row:
    """Return REST's row; amounts of the best prices include a number, and both opening prices are there."""
    row = day.rest_row()
    pairs: dict[str, object] = {}
    for side in ("a", "b"):
        price, whole, lots = _listed(row[side])
        pairs[side] = [price, int(str(whole)), lots]
    return {**row, **pairs, "o": [row["o"], row["o"]]}


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []


def trade_parts(trades: Iterable[PublicTrade], listing: Listing) -> list[list[object]]:
    """Return [price, amount, seconds, b or s, m or l, misc]."""
    rows = []
    for trade in trades:
        price, amount, _, side, kind, misc, _ = public_trade_row(trade, listing)
        rows.append([price, amount, seconds_text(trade.traded_at), side, kind, misc])
    return rows


class V1Readers(KrakenReaders):
    def _message(self, reader: KrakenReader, kind: str, rows: Sequence[Row]) -> object:
        reader.sequence += 1
        return [rows, self.channel, {"sequence": reader.sequence}]


class V1Account:
    """The channels `openOrders` and `ownTrades`."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self.readers = {name: V1Readers(name) for name in ("openOrders", "ownTrades")}
        exchange.listen(self._publish_event)

    def snapshot(self, channel: str) -> list[Row]:
        customer = self._exchange.customer
        if channel == "openOrders":
            return [self._whole(order) for order in customer.open_orders()]
        return [self._fill(fill) for fill in islice(customer.newest_fills(), _NEWEST_FILLS)]

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        order, orders = event.order, self.readers["openOrders"]
        if event.kind == "opened":
            pending = self._whole(order)
            orders.publish([{order.order_id: {**_inner(pending), "status": "pending"}}])
            orders.publish([self._changed(order, {"status": "open"})])
        elif event.fill is not None:
            self.readers["ownTrades"].publish([self._fill(event.fill)])
            orders.publish([self._changed(order, self._sums(order))])
        elif event.kind == "amended":
            orders.publish([self._whole(order)])
        elif event.kind == "ended":
            status = self._row(order)["status"]
            orders.publish([self._changed(order, {"status": status, **self._sums(order)})])

    def _changed(self, order: SimulatedOrder, fields: Row) -> Row:
        """Return the order's own name, and what has changed."""
        named: Row = {**fields, "userref": order.user_reference or 0}
        if order.client_order_id:
            named["cl_ord_id"] = order.client_order_id
        return {order.order_id: {**named, "lastupdated": seconds_text(self._exchange.clock.now())}}

    def _sums(self, order: SimulatedOrder) -> Row:
        row = self._row(order)
        return {"vol_exec": row["vol_exec"], "cost": row["cost"], "fee": row["fee"], "avg_price": row["price"]}

    def _row(self, order: SimulatedOrder) -> Row:
        fills = self._exchange.customer.fills_of(order.order_id)
        return order_row(order, fills, self._exchange.listings[order.symbol], with_trades=False)

    def _whole(self, order: SimulatedOrder) -> Row:
        row = self._row(order)
        terms = row["descr"]
        pair = wsname(self._exchange.listings[order.symbol])
        described = {**terms, "pair": pair, "close": None, "leverage": "0:1"} if isinstance(terms, dict) else terms
        return {
            order.order_id: {
                **{name: row[name] for name in row if name != "price"},
                "descr": described,
                "avg_price": row["price"],
                "opentm": seconds_text(order.placed_at),
                "userref": order.user_reference or 0,
                "starttm": None,
                "expiretm": None if order.expires_at is None else seconds_text(order.expires_at),
            }
        }

    def _fill(self, fill: SimulatedFill) -> Row:
        order = self._exchange.customer.order(fill.order_id)
        listing = self._exchange.listings[fill.symbol]
        row = trade_row(fill, order, listing)
        named: Row = {"pair": wsname(listing), "time": seconds_text(fill.filled_at)}
        return {fill.fill_id: {**row, **named, "userref": order.user_reference or 0}}


def _inner(row: Row) -> Row:
    [inner] = row.values()
    return inner if isinstance(inner, dict) else {}
