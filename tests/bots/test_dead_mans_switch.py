"""The dead man's switch is pushed back while a bot lives, and taken back only if it ends cleanly."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bots.execute.dead_mans_switch import REFRESH_SECONDS, TIMEOUT_SECONDS, DeadMansSwitch
from exchanges.accounts.exchange_account import open_account
from exchanges.errors import ExchangeUnavailableError
from runtime.clock import SystemClock
from simulators.matching.order_records import OrderRequest
from store.errors import FencedOutError
from tests.exchanges.served import TRADED, served
from tests.exchanges.stepped_clock import SteppedClock

BEATS = 30
"""Steps of an exchange between two of its heartbeats, at least."""


@dataclass
class Noted:
    """An account's switch: how it was set."""

    fault: Exception | None = None
    exchange: str = "kraken"
    set_to: list[int] = field(default_factory=list)

    async def cancel_all_after(self, seconds: int) -> None:
        self.set_to.append(seconds)
        if self.fault is not None:
            raise self.fault


@pytest.mark.parametrize(
    ("end", "set_to"),
    [
        (None, [0]),
        (asyncio.CancelledError(), [0]),
        (FencedOutError("another process"), []),
        (OSError("crashed"), []),
    ],
)
async def test_only_a_clean_end_disarms(end: BaseException | None, set_to: list[int]) -> None:
    account = Noted()
    await DeadMansSwitch(account).disarm(None if end is None else type(end), end, None)
    assert account.set_to == set_to


async def test_an_exchange_that_does_not_answer_keeps_no_process_from_ending() -> None:
    account = Noted(ExchangeUnavailableError("away"))
    await DeadMansSwitch(account).disarm(None, None, None)
    assert account.set_to == [0]


async def test_it_is_armed_at_once() -> None:
    account = Noted()
    running = asyncio.create_task(DeadMansSwitch(account).run())
    async with asyncio.timeout(20):
        while not account.set_to:
            await SystemClock().sleep(0.001)
    running.cancel()
    assert account.set_to == [TIMEOUT_SECONDS]
    assert REFRESH_SECONDS * 2 <= TIMEOUT_SECONDS


@pytest.mark.parametrize(("again", "is_open"), [(None, False), (TIMEOUT_SECONDS, True), (0, True)])
async def test_kraken_cancels_what_rests_unless_it_hears_from_us(
    again: int | None, is_open: bool, tmp_path: Path
) -> None:
    market = next(one for one in TRADED if one.exchange == "kraken")
    clock = SteppedClock()
    async with served(tmp_path, clock=clock, only=("kraken",)) as outside:
        account = open_account(outside.config("kraken"), [market])
        try:
            assert account.has_dead_mans_switch
            exchange = outside.world.gateways["kraken"].exchange
            price, _ = outside.best(market, "buy")
            exchange.place(OrderRequest(market.symbol, "buy", market.minimum_amount * 10, price / 2, immediate=False))
            assert len(await account.open_orders()) == 1
            await account.cancel_all_after(TIMEOUT_SECONDS)
            clock.advance(TIMEOUT_SECONDS - 1)
            if again is not None:
                await account.cancel_all_after(again)
            clock.advance(2)
            for _ in range(BEATS):
                outside.round()
            assert bool(await account.open_orders()) == is_open
        finally:
            await account.close()
