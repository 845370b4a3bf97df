"""Stores that lack one rule each, to show that the histories would notice."""

from dataclasses import replace

from market.arbitrages import Arbitrage, Leg, LegRole
from market.leases import UNFENCED, Actor
from market.lifecycle import Moment
from market.opportunities import Opportunity
from market.rows import Rows
from store.memory import MemoryTradeStore


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

    def _read(self, opportunity: Opportunity, by: Actor) -> Rows:
        return replace(super()._read(opportunity, by), known_fills=frozenset())
