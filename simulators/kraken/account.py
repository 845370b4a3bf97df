"""Kraken's private calls that read: balances, orders, fills, fees, and the token for private channels."""

from collections.abc import Iterable, Iterator
from decimal import ROUND_DOWN, Decimal
from itertools import islice
from typing import TypeVar

from exchanges.kraken.symbols import kraken_asset
from market.time_units import MICROSECONDS
from simulators.kraken.equity import equity
from simulators.kraken.order_terms import reference_field
from simulators.kraken.public import KrakenPairs, assets_in, moment_field
from simulators.kraken.rows import (
    fee_rows,
    ledger_kind,
    ledger_row,
    ledger_text,
    order_row,
    trade_row,
)
from simulators.matching.account_ledger import ledger_of
from simulators.matching.listings import fixed_text
from simulators.matching.order_records import RequestRejectedError, SimulatedFill, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Call, Fields, count_field, known, text_field
from simulators.web.stream_tokens import StreamTokens

_PAGE = 50
_MOST_ORDERS = 50
_MOST_TRADES = 20
_EQUITY_STEP = Decimal("0.0001")
# Fields that ccxt sends although the documentation has none of them: read, and without effect, as there.
_CCXT_START = "start"
_REBASED = "rebase_multiplier"
"""How amounts of tokenized shares are shown; there are none here: changelog, August 2025."""

Row = TypeVar("Row")


class KrakenAccount:
    def __init__(self, exchange: SimulatedExchange, pairs: KrakenPairs, tokens: StreamTokens) -> None:
        self._exchange = exchange
        self._customer = exchange.customer
        self._pairs = pairs
        self._tokens = tokens

    def calls(self) -> dict[str, Call]:
        paged = ("nonce", "start", "end", "ofs", "without_count", _REBASED)
        closed = known(*paged, "trades", "userref", "cl_ord_id", "closetime", "consolidate_taker")
        return {
            "Balance": Call(self._balance, known("nonce", _REBASED)),
            "BalanceEx": Call(self._balance_with_holds, known("nonce", _REBASED)),
            "TradeBalance": Call(self._trade_balance, known("nonce", "asset", "aclass", _REBASED)),
            "QueryOrders": Call(
                self._query_orders, known("nonce", "txid", "trades", "userref", _REBASED, "consolidate_taker")
            ),
            "OpenOrders": Call(
                self._open_orders, known("nonce", "trades", "userref", "cl_ord_id", _REBASED, _CCXT_START)
            ),
            "ClosedOrders": Call(self._closed_orders, closed),
            "QueryTrades": Call(self._query_trades, known("nonce", "txid", "trades", _REBASED)),
            "TradesHistory": Call(
                self._trades_history, known(*paged, "type", "trades", "ledgers", "consolidate_taker")
            ),
            "Ledgers": Call(self._ledgers, known(*paged, "asset", "aclass", "type")),
            "QueryLedgers": Call(self._query_ledgers, known("nonce", "id", "trades", _REBASED)),
            "TradeVolume": Call(self._trade_volume, known("nonce", "pair", "fee-info")),
            "GetWebSocketsToken": Call(self._token, known("nonce")),
            "GetApiKeyInfo": Call(self._key_info, known("nonce")),
        }

    def _token(self, _fields: Fields) -> object:
        return {"token": self._tokens.issue(), "expires": self._tokens.seconds}

    def _key_info(self, fields: Fields) -> object:
        """Return information on the key: https://docs.kraken.com/api-reference/account-data/get-api-key-info, read
        2026-11-29."""
        trading = ["query-funds", "query-open-trades", "query-closed-trades", "modify-trades", "close-trades"]
        seconds = str(self._customer.opened_at // 1_000_000)
        return {
            "apiKeyName": "simulated",
            "nonce": str(fields.get("nonce", "")),
            "nonceWindow": 0,
            "permissions": [*trading, *(["withdraw-funds"] if self._exchange.funding.may_withdraw else [])],
            "validUntil": "0",
            "queryFrom": "0",
            "queryTo": "0",
            "createdTime": seconds,
            "modifiedTime": seconds,
            "ipAllowlist": [],
            "lastUsed": seconds,
        }

    def _balance(self, _fields: Fields) -> object:
        return {kraken_asset(name): ledger_text(name, amount) for name, amount in self._customer.balances.items()}

    def _balance_with_holds(self, _fields: Fields) -> object:
        held = self._customer.held()
        return {
            kraken_asset(name): {"balance": ledger_text(name, amount), "hold_trade": ledger_text(name, held[name])}
            for name, amount in self._customer.balances.items()
        }

    def _trade_balance(self, fields: Fields) -> object:
        """Return all that the account owns, in one asset; nothing is borrowed."""
        assets = assets_in(fields) or ["ZUSD"]
        if len(assets) > 1:
            raise RequestRejectedError("invalid_request", "asset")
        worth = equity(self._exchange, assets[0])
        nothing = dict.fromkeys(("m", "n", "c", "v"), "0.0000")
        whole = fixed_text(worth.quantize(_EQUITY_STEP, ROUND_DOWN), 4)
        return {"eb": whole, "tb": whole, **nothing, "e": whole, "mf": whole}

    def _query_orders(self, fields: Fields) -> object:
        names = _names(fields, _MOST_ORDERS)
        return self._order_rows((self._customer.order(name) for name in names), fields)

    def _open_orders(self, fields: Fields) -> object:
        wanted, reference = fields.get("cl_ord_id"), reference_field(fields)
        orders = [
            order
            for order in self._customer.open_orders()
            if wanted in (None, order.client_order_id) and reference in (None, order.user_reference)
        ]
        return {"open": self._order_rows(reversed(orders), fields)}

    def _closed_orders(self, fields: Fields) -> object:
        wanted, closetime = fields.get("cl_ord_id"), fields.get("closetime", "both")
        if closetime not in ("open", "close", "both"):
            raise RequestRejectedError("invalid_request", "closetime")
        (start, end), reference = self._bounds(fields), reference_field(fields)
        # what was placed after `start` ended after it, too
        orders: Iterable[SimulatedOrder] = self._customer.newest_orders(ended_after=int(start))
        if wanted is not None:
            orders = reversed(self._customer.orders_by_client_id(str(wanted)))
        closed = [
            order
            for order in orders
            if order.ended_at is not None
            and reference in (None, order.user_reference)
            and start < (order.placed_at if closetime == "open" else order.ended_at) <= end
        ]
        return {"closed": self._order_rows(_page(closed, fields), fields), **_count(closed, fields)}

    def _query_trades(self, fields: Fields) -> object:
        return self._trade_rows(self._customer.known_fills(_names(fields, _MOST_TRADES)))

    def _trades_history(self, fields: Fields) -> object:
        start, end = self._bounds(fields)
        fills = [fill for fill in self._customer.newest_fills(int(start)) if start < fill.filled_at <= end]
        return {"trades": self._trade_rows(_page(fills, fields)), **_count(fills, fields)}

    def _ledgers(self, fields: Fields) -> object:
        start, end = self._bounds(fields)
        assets, kind = assets_in(fields), str(fields.get("type") or "all")
        rows = [
            row
            for row in reversed(ledger_of(self._customer, self._exchange.listings))
            if start < row.at <= end
            and (not assets or kraken_asset(row.currency) in assets)
            and kind in ("all", ledger_kind(row))
        ]
        return {"ledger": dict(map(ledger_row, _page(rows, fields))), **_count(rows, fields)}

    def _query_ledgers(self, fields: Fields) -> object:
        rows = dict(map(ledger_row, ledger_of(self._customer, self._exchange.listings)))
        return {name: rows[name] for name in text_field(fields, "id").split(",") if name in rows}

    def _trade_volume(self, fields: Fields) -> object:
        answer: dict[str, object] = {"currency": "ZUSD", "volume": fixed_text(self._exchange.volume_30d, 4)}
        if not fields.get("pair"):
            return answer
        names = [listing.market_id for listing in self._pairs.all_in(fields)]
        rows = fee_rows(self._exchange.name, self._exchange.volume_30d)
        return {**answer, **{side: dict.fromkeys(names, row) for side, row in rows.items()}}

    def _bounds(self, fields: Fields) -> tuple[float, float]:
        """Return microseconds: after the first, up to the second."""
        start = self._moment(fields, "start") if fields.get("start") else 0.0
        end = self._moment(fields, "end") if fields.get("end") else float("inf")
        return start, end

    def _moment(self, fields: Fields, name: str) -> float:
        """Return the moment of Unix seconds, or of an order's or a fill's own name."""
        text = str(fields[name])
        order = self._customer.orders.get(text)
        if order is not None:
            return order.placed_at
        fills = self._customer.known_fills([text])
        return fills[0].filled_at if fills else float(moment_field(fields, name) * MICROSECONDS)

    def _order_rows(self, orders: Iterable[SimulatedOrder], fields: Fields) -> dict[str, object]:
        with_trades = str(fields.get("trades", "")).lower() == "true"
        return {
            order.order_id: order_row(
                order,
                self._customer.fills_of(order.order_id),
                self._exchange.listings[order.symbol],
                with_trades=with_trades,
            )
            for order in orders
        }

    def _trade_rows(self, fills: Iterable[SimulatedFill]) -> dict[str, object]:
        orders, listings = self._customer.orders, self._exchange.listings
        return {fill.fill_id: trade_row(fill, orders[fill.order_id], listings[fill.symbol]) for fill in fills}


def _names(fields: Fields, most: int) -> list[str]:
    names = text_field(fields, "txid").split(",")
    if len(names) > most:
        raise RequestRejectedError("invalid_request", "txid")
    return names


def _page(rows: list[Row], fields: Fields) -> Iterator[Row]:
    offset = count_field(fields, "ofs", 0)
    return islice(rows, offset, offset + _PAGE)


def _count(rows: list[Row], fields: Fields) -> dict[str, object]:
    return {} if str(fields.get("without_count", "")).lower() == "true" else {"count": len(rows)}
