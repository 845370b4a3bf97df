"""Stores that lack one rule each, to show that the histories would notice."""

from dataclasses import replace

from market.instruments.orders import Fill, OrderReport
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.leases import Actor
from market.trade.leg_lifecycle import Advance
from market.trade.lifecycle import Moment
from market.trade.reservation_state import fill_key
from store.memory.memory_store import MemoryTradeStore


class SendsAgain(MemoryTradeStore):
    """Without the at-most-once rule: a leg that is being sent looks as if it were not, and may be posted again."""

    async def open_arbitrages(self) -> list[Arbitrage]:
        return [
            replace(
                one, legs=tuple(replace(leg, state="reserved") if leg.state == "sending" else leg for leg in one.legs)
            )
            for one in await super().open_arbitrages()
        ]

    async def start_sending(self, arbitrage_id: str, role: LegRole, by: Actor) -> Leg | None:
        leg = await super().start_sending(arbitrage_id, role, by)
        known = self._arbitrages[arbitrage_id].leg(role)
        return known if leg is None and known is not None and known.state == "sending" else leg


class LetsAnybodyAct(MemoryTradeStore):
    """Without fencing: whoever has lost its lease goes on writing."""

    def moment(self, by: Actor) -> Moment:
        return Moment(self._clock.now(), by)


class BooksTwice(MemoryTradeStore):
    """Without the merge by fill id: what is reported again is booked again."""

    async def finish_leg(
        self,
        arbitrage_id: str,
        role: LegRole,
        report: OrderReport | None,
        advance: Advance,
        by: Actor,
    ) -> Arbitrage:
        seen = set(self._fills)
        fills: list[Fill] = []
        for fill in () if report is None else report.fills:
            new = fill
            while fill_key(new) in seen:
                new = replace(new, fill_id=f"{new.fill_id}, again")
            seen.add(fill_key(new))
            fills.append(new)
        reported = None if report is None else replace(report, fills=tuple(fills))
        return await super().finish_leg(arbitrage_id, role, reported, advance, by)
