"""Stores and bots that lack one rule each, to show that the histories would notice."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bots.execute.due_actions import DueAction
from bots.execute.leg_executor import LegExecutor
from bots.execute.order_lookup import OrderLookup
from bots.execute.posted_orders import PostedOrders
from bots.loop import BotLoop
from bots.server_clock import ServerClock
from market.instruments.orders import Fill
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Leg
from market.trade.cycle_reservations import CycleRows
from market.trade.leases import Actor, Lease
from market.trade.lifecycle import Moment
from market.trade.order_results import OrderResult
from market.trade.reservation_state import ReservationState, fill_key
from runtime.clock import Clock
from store.memory.parts import MemoryLeases
from store.memory.store import MemoryTradeStore
from store.records.cycle_step import CycleStepRequest


class LetsAnybodyAct(MemoryTradeStore):
    """Without fencing: whoever has lost its lease goes on writing."""

    def moment(self, by: Actor) -> Moment:
        return Moment(self._clock.now(), by)


class _DecisionsForAll(MemoryLeases):
    """Whoever once decided may go on."""

    async def renew(self, lease: Lease, used: str | None = None) -> Lease | None:
        renewed = await super().renew(lease, used)
        return lease if renewed is None and _is_decision(lease.exchange) else renewed

    def check(self, by: Actor) -> None:
        if not _is_decision(by.exchange):
            super().check(by)


def _is_decision(exchange: str | None) -> bool:
    return exchange is not None and exchange.startswith("decision|")


class LetsTwoDecide(MemoryTradeStore):
    """Without fencing of those who decide."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.leases = _DecisionsForAll(clock)


class IgnoresVetoes(MemoryTradeStore):
    """Trades are reserved also if a bot is not ready for them."""

    def rows(self, opportunity: Opportunity, by: Actor, fill_keys: Iterable[str] = ()) -> ReservationState:
        rows = super().rows(opportunity, by, fill_keys)
        leases: Mapping[str, Lease] = rows.leases or {}
        return replace(rows, leases={name: replace(lease, veto=None) for name, lease in leases.items()})


class BooksTwice(MemoryTradeStore):
    """Without the merge by fill id: what is reported again is booked again."""

    async def report_order(self, result: OrderResult, by: Actor) -> None:
        if result.report is not None:
            seen = set(self._fills)
            fills: list[Fill] = []
            for fill in result.report.fills:
                new = fill
                while fill_key(new) in seen:
                    new = replace(new, fill_id=f"{new.fill_id}, again")
                seen.add(fill_key(new))
                fills.append(new)
            result = replace(result, report=replace(result.report, fills=tuple(fills)))
        await super().report_order(result, by)


class RestatesNothing(MemoryTradeStore):
    """Keeps what was reported first, whatever the exchange lists."""

    async def report_order(self, result: OrderResult, by: Actor) -> None:
        if result.instead_of is None:
            await super().report_order(result, by)


class ForgetsALeg(MemoryTradeStore):
    """A trade on a cycle begins without its last order."""

    def write_cycle(self, before: CycleRows, after: CycleRows, request: CycleStepRequest) -> None:
        trade = after.trade
        if before.trade is None and trade is not None:
            after = replace(after, trade=replace(trade, orders=trade.orders[:-1]))
        super().write_cycle(before, after, request)


class SendsBeforeProceeds(MemoryTradeStore):
    """A leg that waits for what the one before brings is granted with it."""

    def write_cycle(self, before: CycleRows, after: CycleRows, request: CycleStepRequest) -> None:
        if before.trade is None and after.trade is not None:
            for order in after.trade.orders:
                after = after.with_grant(order) if order.state == "waiting" else after
        super().write_cycle(before, after, request)


class PostsForAnyToken(BotLoop):
    """Posts what was granted to another process of its exchange, the one before it or the one after."""

    def _start_action(self, pending: DueAction) -> None:
        leg = pending.leg
        if pending.what == "resolve" and leg.client_order_id not in self._posted:
            pending = replace(pending, what="execute", leg=replace(leg, token=self._own.token))
        super()._start_action(pending)


class _Unhurried(LegExecutor):
    async def execute(self, arbitrage_id: str, leg: Leg) -> None:
        clock = ServerClock(lambda: 0)
        clock.observe(leg.times["granted"], 0)
        await LegExecutor.execute(replace(self, server_clock=clock), arbitrage_id, leg)


class PostsLate(BotLoop):
    """However long an order was held up on its way, it is posted."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        one = self.trader
        hooks = one.record_failure, one.send_block
        self.trader = _Unhurried(one.store, one.account, one.by, one.unknown_after, one.steady_clock, *hooks)


class _Forgets(PostedOrders):
    def begin(self, client_order_id: str) -> bool:
        return True

    def __contains__(self, client_order_id: object) -> bool:
        return False

    def is_reported(self, client_order_id: str) -> bool:
        return False


class PostsAgain(BotLoop):
    """Does not know what it has begun to post."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._posted = _Forgets()
        self._own = replace(self._own, posted=self._posted)


class _GivesUp(OrderLookup):
    async def resolve(self, arbitrage_id: str, leg: Leg) -> None:
        await self.report(arbitrage_id, leg, None)


class AssumesNotSent(BotLoop):
    """An order of which nothing is known was not sent."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        trader = self.trader
        trader.lookup = _GivesUp(trader.store, trader.account, trader.by, trader.record_failure)
