"""Asks an exchange without client ids for all else that it knows, before an order that it denies counts as not sent."""

from exchanges.account_port import TradingAccount
from exchanges.requests.rate_budget import requests_for
from market.money import ZERO
from market.trade.arbitrages import Leg
from market.trade.confirmation import ExchangeView, doubt_about
from market.trade.inflight_orders import LOOKS_BACK
from market.trade.reservation_state import BalanceRow
from store.store_port import TradeStore


async def known_orders(store: TradeStore, leg: Leg) -> frozenset[str]:
    """The exchange's ids of orders that are other legs', of ended arbitrages too. Raises StoreUnavailableError."""
    orders = await store.differences.orders_since(leg.exchange, leg.times["sending"] - LOOKS_BACK)
    return frozenset(known for client_id, known in orders.items() if client_id != leg.client_order_id)


async def doubt(store: TradeStore, account: TradingAccount, leg: Leg) -> str | None:
    """Why the order may be there although the exchange does not find it; None where it cannot.

    Raises StoreUnavailableError, ExchangeUnavailableError.
    """
    with requests_for("follow"):
        return await _doubt(store, account, leg)


async def _doubt(store: TradeStore, account: TradingAccount, leg: Leg) -> str | None:
    sent_at = leg.times["sending"]
    # the exchange first, balances before fills, and the store last: whatever moved in between shows as a doubt
    before = await _rows(store, leg)
    balances = await account.balances()
    orders = tuple(await account.open_orders())
    fills = tuple(await account.fills_since(sent_at))
    arbitrages = tuple(await store.differences.arbitrages_since(leg.exchange, sent_at - LOOKS_BACK))
    return doubt_about(leg, ExchangeView(before, balances, orders, fills, arbitrages, await _rows(store, leg)))


async def _rows(store: TradeStore, leg: Leg) -> tuple[BalanceRow, ...]:
    """What there is in all of both currencies; what is held of it moves with every reservation."""
    return tuple(
        BalanceRow(row.exchange, row.currency, row.free + row.held, ZERO)
        for row in await store.balance_rows()
        if row.exchange == leg.exchange and row.currency in (leg.base, leg.quote_currency)
    )
