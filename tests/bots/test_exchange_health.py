"""Failures reach the store once, pauses and openings reach the bot."""

from collections.abc import Collection
from decimal import Decimal

import pytest

from bots.decide.state_cache import StateCache
from bots.exchange_health import ExchangeHealthWatch
from bots.execute.leg_executor import LegExecutor
from exchanges.errors import ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.decide.circuit_breaker import Failure, Health
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.money import Amount
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow
from market.trade.unwinding import client_order_id
from runtime.clock import SystemClock, steady_now
from store.errors import StoreUnavailableError
from store.memory.parts import MemoryHealth
from store.memory.store import MemoryTradeStore
from tests.market.samples import settings_of
from tests.store.reservation_requests import granted, open_books, reserved


class UnreachableHealth(MemoryHealth):
    """Failures cannot be recorded while it is unreachable."""

    is_unreachable = True

    async def record(self, exchange: str, failure: Failure) -> Health:
        if self.is_unreachable:
            raise StoreUnavailableError("gone")
        return await super().record(exchange, failure)


async def watch_on(store: MemoryTradeStore) -> tuple[ExchangeHealthWatch, StateCache]:
    settings = settings_of(breaker_failures=2, breaker_pause_ms=30_000)
    await store.settings.create(settings)
    cache = StateCache(settings)
    return ExchangeHealthWatch("alpha", store, cache), cache


async def round_of(watch: ExchangeHealthWatch, store: MemoryTradeStore) -> None:
    await watch.write()
    watch.observe(await store.overview())


async def test_failures_are_reported_once_and_the_pause_is_known_at_once() -> None:
    store = MemoryTradeStore()
    watch, cache = await watch_on(store)
    for _ in range(3):
        watch.record_failure("order_rejected", "order-1")
    await round_of(watch, store)
    (health,) = await store.health.all()
    assert [one.kind for one in health.failures] == ["order_rejected"]
    assert cache.paused_until == {"alpha": 0}
    watch.record_failure("outcome_unknown", "order-1")
    await round_of(watch, store)
    (paused,) = await store.health.all()
    assert paused.is_paused(await store.server_now())
    assert cache.paused_until == {"alpha": paused.paused_until}


async def test_what_others_found_is_known_too() -> None:
    store = MemoryTradeStore()
    watch, cache = await watch_on(store)
    for identity in ("1", "2"):
        await store.health.record("beta", Failure(identity, "outcome_unknown"))
    await store.balances.replace("beta", {"BTC": Decimal(3)}, "before", UNFENCED)
    cache.update_balances([BalanceRow("beta", "BTC", Decimal(1), Decimal(1))])
    await round_of(watch, store)
    assert cache.paused_until["beta"] > await store.server_now()
    assert cache.drift == {"BTC": Decimal(-1)}


async def test_one_order_looked_up_in_vain_counts_once_a_second() -> None:
    store = MemoryTradeStore()
    watch, _ = await watch_on(store)
    for _ in range(50):
        watch.record_failure("look_up_unanswered", "order-1")
    await round_of(watch, store)
    (health,) = await store.health.all()
    assert 1 <= len(health.failures) <= 2


async def test_an_outage_loses_no_failure() -> None:
    store = MemoryTradeStore()
    store.health = unreachable = UnreachableHealth(SystemClock(), store.settings)
    watch, _ = await watch_on(store)
    watch.record_failure("order_rejected", "order-1")
    with pytest.raises(StoreUnavailableError):
        await watch.run()
    watch.record_failure("order_rejected", "order-2")
    unreachable.is_unreachable = False
    await round_of(watch, store)
    (health,) = await store.health.all()
    assert [one.failure_id for one in health.failures] == ["order-1:order_rejected", "order-2:order_rejected"]


class TroubledAccount:
    """Fails in one way at each call."""

    exchange = "alpha"

    def __init__(self, placing: Exception, looking: Exception | None = None) -> None:
        self._placing = placing
        self._looking = [] if looking is None else [looking]

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        raise self._placing

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        if self._looking:
            raise self._looking.pop()
        return OrderReport("exchange-1", is_final=True, filled=Amount(Decimal(0)), fills=())

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        raise AssertionError("every report is final")

    async def balances(self) -> dict[str, Decimal]:
        raise self._placing

    async def open_orders(self) -> list[OpenOrder]:
        return []

    async def fills_since(self, since: int) -> list[AccountFill]:
        return []

    async def close(self) -> None:
        """Nothing is held open."""


@pytest.mark.parametrize(
    ("account", "kinds"),
    [
        (TroubledAccount(OrderRejectedError("no")), ["order_rejected"]),
        (TroubledAccount(OutcomeUnknownError("timed out")), ["outcome_unknown"]),
        (
            TroubledAccount(OutcomeUnknownError("timed out"), ExchangeUnavailableError("away")),
            ["outcome_unknown", "look_up_unanswered"],
        ),
    ],
)
async def test_a_trader_reports_what_went_wrong(account: TroubledAccount, kinds: list[str]) -> None:
    store = MemoryTradeStore()
    await open_books(store)
    await reserved(store)
    heard: list[tuple[str, str]] = []
    trader = LegExecutor(store, account, record_failure=lambda kind, order: heard.append((kind, order)), by=UNFENCED)
    trader.server_clock.observe(await store.server_now(), steady_now())
    await trader.execute("opportunity-1", await granted(store, "opportunity-1", "buy"))
    order_id = client_order_id("opportunity-1", "buy")
    assert heard == [(kind, order_id) for kind in kinds]
