"""Tells the store whether new trades may have a leg at this bot's exchange: whoever reserves reads it there."""

from dataclasses import dataclass

from bots.decide.state_cache import StateCache
from market.trade.leases import NO_BOT, Actor, Veto
from runtime.clock import SystemClock
from store.ports.parts import LeaseStore

ROUND_SECONDS = 0.25


@dataclass(slots=True)
class TradeVeto:
    """Starts as a veto: a bot that has its lease may still have to finish what the last one left open. One that does
    not hear of the settings would post nothing."""

    leases: LeaseStore
    cache: StateCache
    by: Actor
    is_ready: bool = False
    _written: Veto | None = NO_BOT
    """What the lease has; a new one has this."""

    async def run(self) -> None:
        """Run until cancelled. Raises StoreUnavailableError, FencedOutError."""
        while True:
            await self.write()
            await SystemClock().sleep(ROUND_SECONDS)

    async def write(self) -> None:
        """Write a change; no reservation that follows misses it. Raises StoreUnavailableError, FencedOutError."""
        wanted = self._wanted()
        if wanted != self._written:
            await self.leases.set_veto(self.by, wanted)
            self._written = wanted

    def _wanted(self) -> Veto | None:
        if self.cache.is_draining:
            return "bot_draining"
        if self.cache.is_locked_out:
            return "account_rejected"
        return None if self.is_ready and self.cache.hears_settings() else NO_BOT
