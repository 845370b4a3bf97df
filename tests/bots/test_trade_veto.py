"""A bot tells the store whether trades may have a leg at its exchange, once for each change."""

from dataclasses import dataclass, field

import pytest

from bots.decide.state_cache import MAX_SETTINGS_SILENCE, StateCache
from bots.trade_veto import TradeVeto
from market.trade.leases import LEASE_SECONDS, NO_BOT, Actor, Veto
from runtime.clock import Clock
from store.errors import FencedOutError, StoreUnavailableError
from store.memory.parts import MemoryLeases
from store.memory.store import MemoryTradeStore
from tests.market.samples import settings_of
from tests.store.conftest import SteppedClock


class CountedLeases(MemoryLeases):
    """Every veto that was to be written, in vain while it is not reached."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.written: list[Veto | None] = []
        self.is_away = False

    async def set_veto(self, by: Actor, veto: Veto | None) -> None:
        self.written.append(veto)
        if self.is_away:
            raise StoreUnavailableError("away")
        await super().set_veto(by, veto)


@dataclass
class Bench:
    clock: SteppedClock = field(default_factory=SteppedClock)
    cache: StateCache = field(default_factory=lambda: StateCache(settings_of(), "alpha"))

    async def start(self) -> TradeVeto:
        self.store = MemoryTradeStore(self.clock)
        self.store.leases = self.leases = CountedLeases(self.clock)
        lease = await self.leases.acquire("alpha", "one")
        assert lease is not None
        return TradeVeto(self.store.leases, self.cache, lease.actor)

    async def in_force(self) -> Veto | None:
        (lease,) = await self.leases.all()
        return lease.veto


async def test_a_new_bot_has_a_veto_until_it_is_ready() -> None:
    bench = Bench()
    veto = await bench.start()
    await veto.write()
    assert await bench.in_force() == NO_BOT
    assert bench.leases.written == [], "its lease began with it"
    veto.is_ready = True
    await veto.write()
    assert await bench.in_force() is None


async def test_one_that_does_not_hear_of_the_settings_has_one() -> None:
    """From its start until the first answer, and whenever a halt might not come through."""
    bench = Bench()
    silence = [MAX_SETTINGS_SILENCE + 1]
    bench.cache.settings_silence = lambda: silence[0]
    veto = await bench.start()
    veto.is_ready = True
    await veto.write()
    assert await bench.in_force() == NO_BOT
    silence[0] = MAX_SETTINGS_SILENCE
    await veto.write()
    assert await bench.in_force() is None
    silence[0] += 1
    await veto.write()
    assert await bench.in_force() == NO_BOT


@pytest.mark.parametrize(
    ("is_draining", "is_locked_out", "expected"),
    [
        (False, False, None),
        (True, False, "bot_draining"),
        (False, True, "account_rejected"),
        (True, True, "bot_draining"),
    ],
)
async def test_it_has_one_while_it_could_not_send(
    is_draining: bool, is_locked_out: bool, expected: Veto | None
) -> None:
    bench = Bench()
    veto = await bench.start()
    veto.is_ready = True
    await veto.write()
    bench.cache.is_draining, bench.cache.is_locked_out = is_draining, is_locked_out
    await veto.write()
    assert await bench.in_force() == expected
    bench.cache.is_draining = bench.cache.is_locked_out = False
    await veto.write()
    assert await bench.in_force() is None


async def test_what_is_written_is_not_written_again() -> None:
    bench = Bench()
    veto = await bench.start()
    veto.is_ready = True
    for is_locked_out in (False, False, True, True, False):
        bench.cache.is_locked_out = is_locked_out
        await veto.write()
    assert bench.leases.written == [None, "account_rejected", None]


async def test_what_could_not_be_written_is_written_later() -> None:
    bench = Bench()
    veto = await bench.start()
    veto.is_ready = True
    await veto.write()
    bench.cache.is_draining = bench.leases.is_away = True
    with pytest.raises(StoreUnavailableError):
        await veto.write()
    bench.leases.is_away = False
    await veto.write()
    assert await bench.in_force() == "bot_draining"


async def test_whoever_was_replaced_says_nothing_for_the_next() -> None:
    bench = Bench()
    veto = await bench.start()
    await bench.clock.sleep(LEASE_SECONDS)
    assert await bench.leases.acquire("alpha", "two") is not None
    veto.is_ready = True
    with pytest.raises(FencedOutError):
        await veto.write()
    assert await bench.in_force() == NO_BOT
