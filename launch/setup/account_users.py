"""Finds out who else uses the accounts of a session: resting orders are listed, and another session ends the start."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TypeVar

from exchanges.accounts.exchange_account import open_session_account
from exchanges.accounts.recent_orders import recent_session_orders
from exchanges.ccxt.client import session_config
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError
from launch.errors import CannotStartError
from market.decide.kill_switch import permits_new
from market.instruments.orders import OpenOrder
from market.money import text_of
from market.time_units import MICROSECONDS
from market.trade.unwinding import is_session_order
from runtime.backoff import backoff
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.mongo.store import open_store
from store.ports.trading import OrderStore

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

LOOK_BACK = 600 * MICROSECONDS
"""How far back orders count: whoever trades sends one within ten minutes, or is seen by reconciliation later."""
BOOKED_BEFORE = 900 * MICROSECONDS
"""How long before that their arbitrages may have ended in our books, whatever the clocks say."""
FIRST_SECONDS, MOST_TRIES = 1.0, 9
"""Pauses between the tries: 1, 2, 4, 8 and then 10 s, a minute in all."""
CANCELLED_BY_SWITCH = "; the dead man's switch that protects our own orders cancels it within a minute of our end"


async def check_accounts_alone(session: Session, environment: Mapping[str, str], echo: Callable[[str], None]) -> None:
    """List what rests on the accounts. Raises CannotStartError if another session of this program trades on one, or
    an account cannot be asked."""
    pause = SystemClock().sleep
    async with await open_store(session) as store:
        settings = await store.settings.current()
        if settings is not None and permits_new(settings.trading_state):
            echo("trading_state is running, as this database was left: orders are sent as soon as all is ready")
        for exchange in dict.fromkeys(market.exchange for market in session.traded):
            resting = await answer_with_retries(partial(_resting, session, exchange, environment), pause)
            recent = await answer_with_retries(partial(_recent, session, exchange, environment), pause)
            for order, is_switched in resting:
                echo(resting_line(order, CANCELLED_BY_SWITCH if is_switched else ""))
            ids = recent | {str(one.client_order_id) for one, _ in resting if is_session_order(one.client_order_id)}
            await check_orders_ours(store, exchange, ids)


async def answer_with_retries(
    ask: Callable[[], Awaitable[Answer]], sleep: Callable[[float], Awaitable[None]]
) -> Answer:
    """Return the answer; ask again for about a minute while the exchange cannot give one, for example because another
    process used a later nonce. Raises CannotStartError."""
    for delay in islice(backoff(FIRST_SECONDS), MOST_TRIES - 1):
        try:
            return await ask()
        except AccountRejectedError as error:
            raise CannotStartError(f"{error}.") from None
        except ExchangeUnavailableError as error:
            log.warning("account not asked yet: %s", error)
        await sleep(delay)
    try:
        return await ask()
    except (AccountRejectedError, ExchangeUnavailableError) as error:
        raise CannotStartError(f"{error}.") from None


async def check_orders_ours(store: OrderStore, exchange: str, client_order_ids: frozenset[str] | set[str]) -> None:
    """Raise CannotStartError if one of these orders of a session of this program is in no leg of our books."""
    if not client_order_ids:
        return
    since = await store.server_now() - LOOK_BACK - BOOKED_BEFORE
    arbitrages = await store.differences.trades_since(exchange, since)
    strange = sorted(client_order_ids - {leg.client_order_id for one in arbitrages for leg in one.legs})
    if strange:
        raise CannotStartError(
            f"another session of this program trades on the account at {exchange}: its order {strange[0]} is not in "
            "this database. Stop that session and start again ten minutes after its last order, or use an account of "
            "its own for each session."
        )


def resting_line(order: OpenOrder, note: str = "") -> str:
    """Return a line for an order that is not ours, because ours never rest."""
    price = "at the market" if order.price is None else f"at {text_of(order.price)}"
    placed = f"{datetime.fromtimestamp(order.placed_at // MICROSECONDS, UTC):%Y-%m-%d %H:%M:%S} UTC"
    what = f"{order.side} {text_of(order.amount)} {order.symbol} {price}"
    return (
        f"{order.exchange}: an order of somebody else rests: {what}, {order.exchange_order_id}, placed {placed}{note}"
    )


async def _resting(session: Session, exchange: str, environment: Mapping[str, str]) -> list[tuple[OpenOrder, bool]]:
    """Return the resting orders, each with whether a dead man's switch will cancel it."""
    account = open_session_account(session, exchange, environment)
    try:
        return [(order, account.has_dead_mans_switch) for order in await account.open_orders()]
    finally:
        await account.close()


async def _recent(session: Session, exchange: str, environment: Mapping[str, str]) -> frozenset[str]:
    traded = [market for market in session.traded if market.exchange == exchange]
    config = session_config(session, exchange, environment)
    return await recent_session_orders(config, traded, wall_now() - LOOK_BACK, environment)
