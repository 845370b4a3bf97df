"""A ban pauses an exchange: its bot stays, sends nothing meanwhile, and goes on once the exchange takes the account."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bots.account_lockout import MAX_SECONDS, AccountLockout
from bots.decide.state_cache import StateCache
from bots.exchange_health import ExchangeHealthWatch
from exchanges.errors import AccountRejectedError
from market.decide.circuit_breaker import REJECTED_PAUSE_MS
from market.money import ZERO
from market.time_units import MICROSECONDS
from market.trade.arbitrages import FINAL_STATES
from tests.bots.exchange_floor import Floor, until
from tests.bots.ledger import balances_by_fills
from tests.market.samples import settings_of

EASY = settings_of(max_notional=2_000, cool_down_ms=0, max_open_arbitrages=20, max_quote_age_ms=86_400_000)


@pytest.fixture
async def floor(tmp_path: Path) -> AsyncIterator[Floor]:
    one = Floor(tmp_path, EASY)
    yield one
    for exchange in one.desks:
        await one.kill(exchange)


async def closed_one(floor: Floor) -> None:
    # at other prices: what was traded at those of before is used up
    identity = floor.offer((("6001", "0.5"),), (("5620", "0.5"),)).opportunity_id
    found = await until(
        lambda: floor.store.arbitrage(identity), lambda one: one is not None and one.state in FINAL_STATES
    )
    assert found is not None
    assert found.state == "closed"


async def paused_at(floor: Floor, exchange: str) -> None:
    await until(
        floor.store.health.all, lambda ones: any(one.exchange == exchange and one.paused_until > 0 for one in ones)
    )


async def resumed(floor: Floor, exchange: str, log: pytest.LogCaptureFixture) -> None:
    """End the ban, let some time pass, and check that the account has resumed."""
    floor.accounts[exchange].is_banned = False
    await asyncio.sleep(60)
    assert "resumed" in log.text


def test_a_rejected_account_is_asked_again_before_its_pause_ends() -> None:
    """Else arbitrages would begin there whose orders are rejected."""
    assert MAX_SECONDS * 1.1 * 1_000 < REJECTED_PAUSE_MS


@pytest.mark.parametrize("exchange", ["alpha", "beta"])
async def test_a_banned_exchange_is_paused_and_resumed(
    floor: Floor, exchange: str, caplog: pytest.LogCaptureFixture
) -> None:
    await floor.open()
    account = floor.accounts[exchange]
    account.is_banned = True
    identity = floor.offer().opportunity_id
    await paused_at(floor, exchange)
    assert not any(bot_loop.done() for bot_loop in floor.desks.values())
    stopped = await until(
        lambda: floor.store.arbitrage(identity), lambda one: one is not None and one.state in FINAL_STATES
    )
    assert stopped is not None
    assert all(leg.filled == 0 for leg in stopped.legs if leg.exchange == exchange)
    await resumed(floor, exchange, caplog)
    await closed_one(floor)
    await floor.close()
    before, after = await floor.store.balances.of_session()
    assert balances_by_fills(before, await floor.store.fills()) == after
    assert all(row.held == ZERO for row in await floor.store.balances.rows())


async def test_a_bot_that_starts_during_a_ban_waits_for_its_end(floor: Floor, caplog: pytest.LogCaptureFixture) -> None:
    floor.accounts["alpha"].is_banned = True
    opening = asyncio.create_task(floor.open())
    await paused_at(floor, "alpha")
    assert not opening.done()
    await resumed(floor, "alpha", caplog)
    await opening
    await closed_one(floor)


async def test_a_key_that_may_not_trade_is_given_longer_each_time_though_it_reads(floor: Floor) -> None:
    """It answers every question; each arbitrage that begins then leaves a single leg to be unwound at a loss."""
    now = 1
    cache = StateCache(EASY)
    account = floor.accounts["alpha"]
    lockout = AccountLockout(account, ExchangeHealthWatch("alpha", floor.store, cache), cache, lambda: now)

    def seconds_until_asked() -> int:
        nonlocal now
        lockout.lock(AccountRejectedError("may not trade"), of_an_order=True)
        began = now
        while not lockout.may_check:
            now += MICROSECONDS
        return (now - began) // MICROSECONDS

    waited = []
    for _ in range(4):
        waited.append(seconds_until_asked())
        await lockout.check()
        assert not lockout.is_on
    assert waited == [15, 30, 60, 120]
    now += 3_600 * MICROSECONDS
    assert seconds_until_asked() == 15
