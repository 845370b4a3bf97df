"""Stores that lack one rule each, to show that the histories would notice."""

from dataclasses import replace

from market.arbitrages import Arbitrage, Leg, LegRole
from market.leases import UNFENCED, Actor
from market.lifecycle import Moment
from market.orders import Fill, OrderReport
from market.rows import fill_key
from store.memory import MemoryTradeStore
from store.port import Advance


class SendsAgain(MemoryTradeStore):
    """Without the at-most-once rule: a leg that is being sent looks as if it were not, and may be posted again."""

    async def open_arbitrages(self) -> list[Arbitrage]:
        return [
            replace(
                one, legs=tuple(replace(leg, state="reserved") if leg.state == "sending" else leg for leg in one.legs)
            )
            for one in await super().open_arbitrages()
        ]

    async def start_sending(self, arbitrage_id: str, role: LegRole, by: Actor = UNFENCED) -> Leg | None:
        leg = await super().start_sending(arbitrage_id, role, by)
        known = self._known(arbitrage_id).leg(role)
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
        by: Actor = UNFENCED,
    ) -> Arbitrage:
        seen = set(self._fills)
        fills: list[Fill] = []
        for fill in () if report is None else report.fills:
            new = fill
            while fill_key(new) in seen:
                new = replace(new, fill_id=f"{new.fill_id}, again")
            seen.add(fill_key(new))
            fills.append(new)
        told = None if report is None else replace(report, fills=tuple(fills))
        return await super().finish_leg(arbitrage_id, role, told, advance, by)
