"""Decides on cycles: reserves all legs of those that pass the checks, one at a time with the decisions on pairs."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from bots.decide.reserver import ENDED, valid_until
from bots.decide.state_cache import StateCache
from bots.decide.write_turns import WriteTurns
from market.decide.check_figures import Compared
from market.decide.cycle_checks import cycle_rejection
from market.decide.cycle_figures import cycle_figure
from market.decide.kill_switch import HALTED
from market.instruments.cycles import Cycle
from market.prices.cycle_opportunities import CycleOpportunity
from market.trade.cycle_reservations import CycleRequest, CycleRows, cycle_context, cycle_reserved
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import Actor
from runtime.clock import Clock, wall_now
from store.errors import FencedOutError, StoreUnavailableError
from store.ports.trading import CycleStore

log = logging.getLogger(__name__)

ONE = Decimal(1)


Reject = Callable[[CycleOpportunity, Cycle, str, int, Callable[[], Compared]], None]
"""Records what was not traded: what was found, its cycle, why, when by this machine's clock, microseconds, and what
returns what the check compared."""
LASTING: tuple[str, ...] = (
    *(HALTED, "reduce_only", "exchange_disabled", "asset_disabled", "market_closed", "below_threshold"),
    *("too_many_open", "cycle_busy", "total_limit", "asset_limit", "exchange_limit"),
)
"""What holds until settings change or something is booked: a sighting is not asked about again before."""
COOLING_DOWN = "cooling_down"


@dataclass(frozen=True, slots=True)
class _Refused:
    """Holds for sightings of a cycle that pay no more, until then or until something else is traded."""

    reason: str
    net_bps: float
    until: int


@dataclass(slots=True)
class CycleReserver:
    """Takes sightings of cycles, the newest of each, refuses most by what this process knows, and reserves the rest,
    the one that pays most first."""

    store: CycleStore
    cycles: Mapping[str, Cycle]
    """Those that are watched, by their ids."""
    currency: str
    """The settlement currency."""
    clock: Clock
    cache: StateCache
    execute: Callable[[CycleTrade], None]
    """Starts executing this bot's legs, without waiting for them."""
    actor: Callable[[], Actor | None]
    """As whom this process decides on cycles; None if it does not."""
    reject: Reject
    turns: WriteTurns
    """Shared with the decisions on pairs."""
    wall_clock: Callable[[], int] = wall_now
    is_reserving: bool = False
    _waiting: dict[str, CycleOpportunity] = field(default_factory=dict)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _refused: dict[str, _Refused] = field(default_factory=dict)

    def consider(self, found: CycleOpportunity) -> None:
        """Take a sighting from the stream, in place of an older one of its cycle; expired ones are ignored."""
        known = self._waiting.get(found.cycle_id)
        is_older = known is not None and known.event_time > found.event_time
        if found.cycle_id not in self.cycles or is_older or self.clock.now() >= found.expires_at:
            return
        if self._is_refused_again(found):
            # its prices are gone, too
            self._waiting.pop(found.cycle_id, None)
            return
        context = cycle_context(self._rows_for(found), self._request(found))
        # without sizing, which costs most of all
        reason = cycle_rejection(context)
        if reason is None:
            self._waiting[found.cycle_id] = found
            self._arrived.set()
        else:
            # its prices are gone, too
            self._waiting.pop(found.cycle_id, None)
            self._refuse_early(found, reason, context.risk.pair_reserved_at)

    def forget_refusals(self) -> None:
        """Something was traded, or settings changed: what was refused may be possible now."""
        self._refused.clear()

    async def work(self) -> None:
        """Decide on what waits, one by one, until cancelled."""
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            async with self.turns.to_decide():
                found = max(self._waiting.values(), key=lambda one: one.net_bps, default=None)
                if found is not None:
                    del self._waiting[found.cycle_id]
                    await self._take(found)

    async def _take(self, found: CycleOpportunity) -> None:
        try:
            await self._decide(found)
        except (StoreUnavailableError, FencedOutError) as error:
            # whether it was reserved shows in the next round
            log.warning("reservation abandoned: %s", error, extra={"opportunity_id": found.opportunity_id})

    async def _decide(self, found: CycleOpportunity) -> None:
        by = self.actor()
        if by is None or self.clock.now() >= found.expires_at or found.opportunity_id in self.cache.open_cycles:
            return
        request = self._request(found)
        # as the store will decide, as far as this process knows its rows: a transaction costs more than to size
        _, reason = cycle_reserved(self._rows_for(found), request)
        if reason is not None:
            self._refuse(found, reason)
            return
        self.is_reserving = True
        try:
            trade, reason = await self.store.reserve_cycle(request, by)
        finally:
            self.is_reserving = False
        if trade is None:
            self._refuse(found, reason or ENDED)
            return
        self.forget_refusals()
        self.cache.update_cycle(trade)
        self.execute(trade)

    def _refuse_early(self, found: CycleOpportunity, reason: str, reserved_at: int) -> None:
        """Refuse what the checks refuse, and remember it if that lasts. `reserved_at`: by the store's clock."""
        if reason == COOLING_DOWN:
            ends = reserved_at + self.cache.settings.cool_down_ms * 1_000
            self._refuse(found, reason, ends - self.wall_clock() - self.cache.server_ahead)
        elif reason in LASTING:
            self._refuse(found, reason)
        else:
            self._count(found, reason)

    def _refuse(self, found: CycleOpportunity, reason: str, longest: int | None = None) -> None:
        """Remember it for as long as a sighting lasts, or for `longest`, microseconds, if that is less."""
        self._count(found, reason)
        lasts = self.cache.settings.opportunity_lifetime_ms * 1_000
        until = self.clock.now() + (lasts if longest is None else min(lasts, longest))
        self._refused[found.cycle_id] = _Refused(reason, found.net_bps, until)

    def _is_refused_again(self, found: CycleOpportunity) -> bool:
        known = self._refused.get(found.cycle_id)
        is_again = known is not None and found.net_bps <= known.net_bps and self.clock.now() < known.until
        if known is not None and is_again:
            self._count(found, known.reason)
        return is_again

    def _count(self, found: CycleOpportunity, reason: str) -> None:
        self.reject(found, self.cycles[found.cycle_id], reason, self.wall_clock(), lambda: self._figure(found, reason))

    def _figure(self, found: CycleOpportunity, reason: str) -> Compared:
        return cycle_figure(reason, cycle_context(self._rows_for(found), self._request(found)))

    def _rows_for(self, found: CycleOpportunity) -> CycleRows:
        return self.cache.cycle_rows(self.cycles[found.cycle_id], self.wall_clock())

    def _request(self, found: CycleOpportunity) -> CycleRequest:
        cycle = self.cycles[found.cycle_id]
        return CycleRequest(
            trade_id=found.opportunity_id,
            cycle=cycle,
            net_bps=found.net_bps,
            event_time=found.event_time,
            levels=tuple(leg.quote.levels for leg in found.legs),
            quotes=tuple(leg.quote.quote_id for leg in found.legs),
            currency=self.currency,
            worth=worth_of(cycle, found, self.currency),
            drift=self.cache.drift,
            legs_left={name: self.cache.left_at(name) for name in cycle.exchanges},
            valid_until=valid_until(found.expires_at, self.clock, self.wall_clock() + self.cache.server_ahead),
        )


def worth_of(cycle: Cycle, found: CycleOpportunity, currency: str) -> dict[str, Decimal]:
    """Return what one of each currency and asset on the path counts in the settlement currency, by what it cost to come
    to it at the best prices; nothing of a cycle that does not begin with that currency: no message prices it."""
    if cycle.currency != currency:
        return {}
    worth, at = {currency: ONE}, ONE
    for leg, seen in zip(cycle.legs, found.legs, strict=True):
        price = seen.quote.price
        # 28 digits: what it counts is approximate, and exact it would grow with each leg beyond what a record may hold
        at = at * price if leg.side == "buy" else at / price
        worth.setdefault(leg.brings, at)
    return worth
