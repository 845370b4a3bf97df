"""Binance's events of the account: execution reports, and the balances that they leave."""

from collections.abc import Callable, Mapping

from market.money import ZERO
from simulators.binance.endpoints import eight_decimals, timestamp
from simulators.binance.rows import mode_of, status_of, stop_text, terms_of
from simulators.matching.funded_account import executed_cost
from simulators.matching.order_records import PreventedTrade, SimulatedAccountEvent, SimulatedFill
from simulators.matching.simulated_exchange import SimulatedExchange

BalanceRows = Callable[[], dict[str, tuple[str, str]]]


class BinanceReports:
    """`balances` of the account; `cancel_ids`: order → the client id of its cancellation."""

    def __init__(self, exchange: SimulatedExchange, balances: BalanceRows, cancel_ids: Mapping[str, str]) -> None:
        self._exchange = exchange
        self._balances = balances
        self._cancel_ids = cancel_ids

    def events_of(self, event: SimulatedAccountEvent) -> list[dict[str, object]]:
        """Return the events; none for an end that the last fill, or what was prevented, has already reported."""
        if event.kind == "ended" and (event.order.state == "done" or event.order.is_prevented):
            return []
        return [self._report(event), self._position(event)]

    def _report(self, event: SimulatedAccountEvent) -> dict[str, object]:
        order, fill, now = event.order, event.fill, timestamp(self._exchange.clock.now())
        status, terms = status_of(order), terms_of(order)
        kind = {"filled": "TRADE", "prevented": "TRADE_PREVENTION", "ended": status}.get(event.kind, "NEW")
        is_cancelled = event.kind == "ended" and status == "CANCELED"
        # of a cancellation, `c` is its own id and `C` the order's: User data streams, Order update
        cancel_id = self._cancel_ids.get(order.order_id, order.client_order_id) if is_cancelled else None
        event_time = fill.filled_at if fill is not None else order.ended_at or order.placed_at
        row = {
            "e": "executionReport",
            "E": now,
            "s": self._exchange.listings[order.symbol].market_id,
            "c": cancel_id or order.client_order_id,
            "S": terms["side"],
            "o": terms["type"],
            "f": terms["timeInForce"],
            "q": terms["origQty"],
            "p": terms["price"],
            "P": stop_text(order),
            "F": eight_decimals(ZERO),
            "g": -1,
            "C": order.client_order_id if is_cancelled else "",
            "x": kind,
            "X": status,
            "r": "NONE",
            "i": int(order.order_id),
            **_fill_fields(fill),
            "z": eight_decimals(order.filled),
            "T": timestamp(event_time),
            "I": order.number,
            "w": order.state == "open" and not order.immediate and not order.is_waiting,
            "M": False,
            "O": timestamp(order.placed_at),
            "Z": eight_decimals(executed_cost(self._fills_until(event))),
            "Q": eight_decimals(ZERO),
            "W": timestamp(order.placed_at),
            "V": mode_of(order.self_trade),
        }
        return row if event.prevented is None else {**row, **self._prevented_fields(event, event.prevented)}

    def _prevented_fields(self, event: SimulatedAccountEvent, trade: PreventedTrade) -> dict[str, object]:
        is_taker = event.order.order_id == trade.taker_id
        last = trade.taker_amount if is_taker else trade.maker_amount
        return {
            "v": trade.number,
            "U": int(trade.maker_id if is_taker else trade.taker_id),
            "Cs": self._exchange.listings[trade.symbol].market_id,
            "A": eight_decimals(event.order.prevented),
            "B": eight_decimals(last),
            "pL": eight_decimals(trade.price),
        }

    def _fills_until(self, event: SimulatedAccountEvent) -> list[SimulatedFill]:
        """Return the order's fills that `event` counts: events are published after all fills were booked."""
        fills, left = [], event.order.filled
        for fill in self._exchange.customer.fills_of(event.order.order_id):
            if left <= 0:
                break
            fills.append(fill)
            left -= fill.amount
        return fills

    def _position(self, event: SimulatedAccountEvent) -> dict[str, object]:
        now = timestamp(self._exchange.clock.now())
        listing = self._exchange.listings[event.order.symbol]
        names = (listing.market.base, listing.market.quote_currency)
        balances = self._balances()
        rows = [{"a": name, "f": balances[name][0], "l": balances[name][1]} for name in names]
        return {"e": "outboundAccountPosition", "E": now, "u": now, "B": rows}


def _fill_fields(fill: SimulatedFill | None) -> dict[str, object]:
    if fill is None:
        nothing = eight_decimals(ZERO)
        return {"l": nothing, "L": nothing, "n": "0", "N": None, "t": -1, "m": False, "Y": nothing}
    return {
        "l": eight_decimals(fill.amount),
        "L": eight_decimals(fill.price),
        "n": eight_decimals(fill.fee),
        "N": fill.fee_currency,
        "t": fill.number,
        "m": fill.liquidity == "maker",
        "Y": eight_decimals(fill.cost),
    }
