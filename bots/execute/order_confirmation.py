"""Cross-checks an order that an exchange without client order ids does not find, before it counts as not sent."""

from exchanges.ports.account import TradingAccount
from exchanges.requests.rate_budget import requests_for
from market.money import ZERO
from market.trade.arbitrages import Leg
from market.trade.confirmation import ExchangeView, doubt_about
from market.trade.inflight_orders import LOOK_BACK
from market.trade.reservation_state import BalanceRow
from store.ports.parts import StoreParts


async def known_orders(store: StoreParts, leg: Leg) -> frozenset[str]:
    """Exchange order ids that belong to other legs, also of ended arbitrages. Raises StoreUnavailableError."""
    orders = await store.differences.orders_since(leg.exchange, leg.times["granted"] - LOOK_BACK)
    return frozenset(known for client_id, known in orders.items() if client_id != leg.client_order_id)


async def doubt_not_sent(store: StoreParts, account: TradingAccount, leg: Leg) -> str | None:
    """Why the order may exist although the exchange does not find it; None if it certainly does not.

    Raises StoreUnavailableError, ExchangeUnavailableError.
    """
    with requests_for("follow"):
        return await _doubt_not_sent(store, account, leg)


async def _doubt_not_sent(store: StoreParts, account: TradingAccount, leg: Leg) -> str | None:
    sent_at = leg.times["granted"]
    # the exchange first, balances before fills, and the store last: a change in between shows as a doubt
    before = await _rows(store, leg)
    balances = await account.balances()
    orders = tuple(await account.open_orders())
    fills = tuple(await account.fills_since(sent_at))
    arbitrages = tuple(await store.differences.trades_since(leg.exchange, sent_at - LOOK_BACK))
    return doubt_about(leg, ExchangeView(before, balances, orders, fills, arbitrages, await _rows(store, leg)))


async def _rows(store: StoreParts, leg: Leg) -> tuple[BalanceRow, ...]:
    """Return the total of both currencies as free; the held part changes with every reservation."""
    return tuple(
        BalanceRow(row.exchange, row.currency, row.free + row.held, ZERO)
        for row in await store.balances.rows()
        if row.exchange == leg.exchange and row.currency in (leg.base, leg.quote_currency)
    )
