"""What a bot and whoever decides do with one order, in one call."""

from market.instruments.orders import OrderReport
from market.money import ZERO, Amount
from market.trade.arbitrages import Arbitrage, LegRole
from market.trade.leases import UNFENCED, Actor
from market.trade.leg_lifecycle import Advance
from market.trade.order_results import result_of
from market.trade.unwinding import EndAsResidual
from store.ports.trading import DecisionStore
from tests.store.reservation_requests import leg_of


async def finish_leg(
    store: DecisionStore, arbitrage_id: str, role: LegRole, report: OrderReport | None, advance: Advance, by: Actor
) -> Arbitrage:
    """Report what became of its order, and book it."""
    unresolved = advance.reason if isinstance(advance, EndAsResidual) else None
    leg = leg_of(await store.arbitrage(arbitrage_id), role)
    await store.report_order(result_of(arbitrage_id, leg, report, unresolved), by)
    return await store.book(arbitrage_id, advance, by)


async def record_sent(
    store: DecisionStore, arbitrage_id: str, role: LegRole, exchange_order_id: str, by: Actor
) -> Arbitrage:
    """Report that the exchange knows its order, and book that."""
    known = OrderReport(exchange_order_id, is_final=False, filled=Amount(ZERO), fills=())
    leg = leg_of(await store.arbitrage(arbitrage_id), role)
    await store.report_order(result_of(arbitrage_id, leg, known), by)
    return await store.book(arbitrage_id, nothing_follows, by)


def nothing_follows(arbitrage: Arbitrage, _settings: object, _now: int) -> Arbitrage:
    """For a step after which a leg is still open."""
    return arbitrage


async def book_reported(store: DecisionStore, advance: Advance, by: Actor = UNFENCED) -> None:
    """All that was reported, as whoever decides does it."""
    for identity in dict.fromkeys([result.arbitrage_id for result in await store.order_results()]):
        await store.book(identity, advance, by)
