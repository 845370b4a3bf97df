"""Closing what is left of an arbitrage, by an operator: what would be ordered, and the order."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from market.decide.settings import MOST_CLOSE_ORDERS, CloseOrder, Settings
from market.instruments.order_rules import limit_price
from market.instruments.orders import Side
from market.money import BoundedDecimal, Price, text_of
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.closing import CLOSE_WITHIN, why_not_closed
from market.trade.unwinding import flattening, outcome_of
from streams.message_format import WireError
from ui.auth.callers import Caller
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard
from ui.services.settings import SettingsMissingError, known_settings

log = logging.getLogger("ui")


class NotClosedError(Exception):
    """It cannot be closed now; why, in one sentence."""


@dataclass(frozen=True, slots=True)
class Closing:
    """What closing would order: `amount` (base) at `price`, the best now, and not worse than `limit_price`."""

    side: Side
    exchange: str
    symbol: str
    base: str
    amount: Decimal
    price: Decimal
    limit_price: Decimal


class ConfirmedClosing(BaseModel):
    """What somebody was shown and confirmed; what is ordered is no more, and at no worse price."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    side: Side
    amount: Annotated[BoundedDecimal, Field(gt=0)]
    price: Annotated[BoundedDecimal, Field(gt=0)]


async def closing_of(dashboard: Dashboard, arbitrage: Arbitrage, confirmed: ConfirmedClosing | None = None) -> Closing:
    """Return what closing would order now. Raises NotClosedError, StoreError."""
    settings = await known_settings(dashboard)
    if settings is None:
        raise NotClosedError("There are no settings yet.")
    reason = why_not_closed(arbitrage, settings)
    if reason is not None:
        raise NotClosedError(reason)
    side, seen = flattening(arbitrage)
    session = dashboard.session
    market = next((one for one in session.markets if (one.exchange, one.symbol) == (seen.exchange, seen.symbol)), None)
    if market is None:
        raise NotClosedError(f"This session does not have {seen.symbol} on {seen.exchange}.")
    price = _price(dashboard, settings, side, seen.exchange, seen.symbol)
    left = abs(outcome_of(arbitrage).left)
    if confirmed is not None:
        if confirmed.side != side or left > confirmed.amount:
            raise NotClosedError("What is left of it has changed since it was confirmed: look at it again.")
        price = (max if side == "sell" else min)(price, confirmed.price)
    limit = limit_price(market, side, Price(price), settings.flatten_limit_bps)
    return Closing(side, seen.exchange, seen.symbol, arbitrage.base, left, price, limit)


async def close_now(
    dashboard: Dashboard, arbitrage: Arbitrage, caller: Caller, confirmed: ConfirmedClosing | None = None
) -> tuple[Closing, Settings]:
    """Order that it be closed; the bots carry it out. Return the order, and the settings that it is a part of.

    Raises NotClosedError, SettingsMissingError, StoreError.
    """
    async with auditing(dashboard, caller, "arbitrage.close", arbitrage.arbitrage_id) as note:
        note.before = {"state": arbitrage.state, "reason": arbitrage.reason}
        closing = await closing_of(dashboard, arbitrage, confirmed)
        now = await dashboard.reader.server_now()
        order = CloseOrder(price=closing.price, asked_at=now, side=closing.side, amount=closing.amount)

        def ordered(settings: Settings) -> Settings:
            return settings.model_copy(update={"close_now": _with(settings.close_now, arbitrage.arbitrage_id, order)})

        saved = await dashboard.reader.settings.amend(ordered, caller.name)
        if saved is None:
            raise SettingsMissingError
        dashboard.hub.apply_settings(saved)
        figures = {name: text_of(getattr(closing, name)) for name in ("amount", "price", "limit_price")}
        note.after = {"version": saved.version, "side": closing.side, **figures}
        note.settings_version = saved.version
    fields = {"opportunity_id": arbitrage.arbitrage_id, "who": caller.name, "version": saved.version}
    log.warning("arbitrage closed by an operator", extra=fields)
    return closing, saved


def _with(orders: Mapping[str, CloseOrder], arbitrage_id: str, order: CloseOrder) -> dict[str, CloseOrder]:
    """Return the orders that are not over, and this one. Raises NotClosedError if they are too many."""
    alive = {name: one for name, one in orders.items() if one.asked_at + CLOSE_WITHIN > order.asked_at}
    together = {**alive, arbitrage_id: order}
    if len(together) > MOST_CLOSE_ORDERS:
        seconds = CLOSE_WITHIN // MICROSECONDS
        raise NotClosedError(f"{MOST_CLOSE_ORDERS} are being closed already: ask again in {seconds} seconds.")
    return together


def _price(dashboard: Dashboard, settings: Settings, side: Side, exchange: str, symbol: str) -> Decimal:
    """Return the best price that the order would take. Raises NotClosedError without a quote that may be traded on."""
    latest = dashboard.hub.live_state.latest(exchange, symbol)
    missing = NotClosedError(f"There is no fresh quote of {symbol} on {exchange}: its price is not known.")
    if latest is None:
        raise missing
    try:
        top = latest.top()
    except WireError:
        raise missing from None
    if top.status(dashboard.session.clock().now(), settings.max_quote_age_ms * 1_000) != "fresh":
        raise missing
    return top.bid if side == "sell" else top.ask
