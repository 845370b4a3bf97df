"""A fee tier, a tick and a minimum that an exchange changes during a session, over HTTP."""

from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.accounts.exchange_account import open_account
from exchanges.accounts.exchange_rules import account_rules
from exchanges.errors import AccountRejectedError, OrderRejectedError
from exchanges.simulated_markets import simulated_taker_fees
from launch.supervisor.rules_watch import LONGEST_SECONDS, RULES_SECONDS, RulesWatch, keep_asking
from market.decide.market_rules import market_in_force
from runtime.clock import SystemClock
from simulators.catalogue import terms_of
from store.errors import StoreUnavailableError
from store.memory.store import MemoryTradeStore
from tests.exchanges.accounts.test_account_rules import BTC, COARSE, KRAKEN, relist
from tests.exchanges.served import TRADED, order_on, served
from tests.market.samples import settings_of

KRAKEN_FEE = simulated_taker_fees()["kraken"]


async def test_a_change_is_a_version_of_the_settings_and_in_force_at_once(tmp_path: Path) -> None:
    store = MemoryTradeStore(SystemClock())
    await store.settings.create(settings_of(taker_fees={"kraken": Decimal("0.05"), "alpha": 0, "beta": 0, "gamma": 0}))
    async with served(tmp_path, only=("kraken",)) as world:
        config = world.config("kraken")
        watch = RulesWatch("kraken", lambda: account_rules(config, KRAKEN))
        first = await watch.refresh(store.settings)
        assert first is not None
        assert (first.version, first.taker_fees["kraken"]) == (2, KRAKEN_FEE)
        assert market_in_force(BTC, first) == BTC
        again = await watch.refresh(store.settings)
        assert again == first
        account = open_account(config, TRADED)
        account.in_force = lambda market: market_in_force(market, store.settings.in_force())
        world.world.gateways["kraken"].exchange.volume_30d = Decimal(0)
        relist(world, market=COARSE)
        changed = await watch.refresh(store.settings)
        assert changed is not None
        assert (changed.version, changed.taker_fees["kraken"]) == (3, terms_of("kraken").tiers[0].taker)
        assert market_in_force(BTC, changed) == COARSE
        with pytest.raises(OrderRejectedError, match=r"not a positive number of ticks of 1"):
            await account.place(order_on(BTC, "buy", Decimal("0.05"), Decimal("100.1")))
        report = await account.place(order_on(BTC, "buy", Decimal("0.05"), Decimal("100")))
        assert report.is_posted
        await account.close()


class EndedError(Exception):
    """The test has seen enough."""


async def test_a_bad_answer_is_asked_for_again_ever_later() -> None:
    """Before, an invalid number ended the watch of every exchange, and nobody noticed."""
    answers: list[Exception | None] = [
        ValueError("'n/a' is not a number"),
        AccountRejectedError("invalid key"),
        *[StoreUnavailableError("down")] * 8,
        None,
        KeyError("fees"),
    ]
    pauses: list[float] = []

    async def refresh() -> None:
        if not answers:
            raise EndedError
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    with pytest.raises(EndedError):
        await keep_asking("kraken", refresh, sleep)
    assert [round(one, -1) for one in pauses[:2]] == [10, 20]
    assert pauses[8] == pytest.approx(LONGEST_SECONDS, rel=0.1)
    assert pauses[10] == RULES_SECONDS
    assert pauses[11] == pytest.approx(10, rel=0.1)
