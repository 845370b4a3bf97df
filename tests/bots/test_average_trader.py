"""The strategy at work on one exchange: closes by period, killed at any moment, and its orders on the way of all."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import pytest

from bots.decide.newest_quotes import LatestQuote, MarketKey
from bots.decide.state_cache import StateCache
from bots.loop import BotLoop, Pace
from bots.strategies.average_trader import AverageTrader
from bots.subscriptions import Signal
from exchanges.paper.account import PaperAccount
from exchanges.paper.journal import PaperJournal
from market.decide.settings import Settings
from market.instruments.orders import OrderReport
from market.money import Price
from market.trade.leases import UNFENCED
from market.trade.moving_average import AverageOrder, AverageRule, AverageTrade, Close, MovingAverage
from market.trade.unwinding import advancing
from runtime.clock import Clock, ReplayClock, SystemClock
from session.session import Services, Session
from store.memory.store import MemoryTradeStore
from tests.bots.exchange_floor import until
from tests.bots.ledger import balances_by_fills
from tests.bots.test_single_order import seen
from tests.market.average_rules import app_rule, naive_rule
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, settings_of
from tests.store.booking import finish_leg
from tests.store.conftest import SteppedClock
from tests.store.reservation_requests import filled, granted

INTERVAL = 5_000_000
SIGNALS = settings_of(ma_trading="signals")
ORDERS = settings_of(ma_trading="orders", ma_notional=100)
PRICES = ("5", "4", "6", "4.5", "4.5", "7", "3", "9.25", "9.1", "2", "2.0001", "8", "8", "1", "12", "3")
KEY = (USD_MARKET.exchange, USD_MARKET.symbol)
OPENING = {"USD": Decimal(10_000), "BTC": Decimal(100)}
SESSION = Session("s", "paper", Path(), Services("", "", ""), MARKETS[:1], "USD")


@dataclass
class Shown:
    """What is to be seen of the log's end."""

    quotes: dict[MarketKey, LatestQuote] = field(default_factory=dict)
    looks: int = 0
    stuck_at: int = 0
    """The look that never ends."""
    is_stuck: asyncio.Event = field(default_factory=asyncio.Event)

    async def fetch(self, wanted: Collection[MarketKey]) -> dict[MarketKey, LatestQuote]:
        self.looks += 1
        await asyncio.sleep(0)
        if self.looks == self.stuck_at:
            self.is_stuck.set()
            await asyncio.Event().wait()
        return {key: self.quotes[key] for key in wanted if key in self.quotes}


@dataclass
class Bench:
    """One exchange's strategy, moved by hand."""

    settings: Settings = SIGNALS
    clock: SteppedClock = field(default_factory=SteppedClock)
    shown: Shown = field(default_factory=Shown)
    rule: AverageRule = field(default_factory=app_rule)

    def __post_init__(self) -> None:
        self.clock.time -= self.clock.time % INTERVAL
        self.store = MemoryTradeStore(self.clock)
        self.cache = StateCache(self.settings)
        self.trader = self.process()

    def process(self) -> AverageTrader:
        """Another one, that knows nothing but what its rule does."""
        return AverageTrader("alpha", SESSION, self.store, self.shown, self.rule, self.clock, self.cache, by=UNFENCED)

    async def open(self) -> None:
        await self.store.settings.create(self.settings)
        await self.store.balances.replace("alpha", OPENING, "before", UNFENCED)

    def show(self, mid: str) -> None:
        bid, ask = Decimal(mid) - Decimal("0.01"), Decimal(mid) + Decimal("0.01")
        now = self.clock.now()
        self.shown.quotes[KEY] = seen(USD_MARKET, str(bid), str(ask), "100", now, now)

    async def periods(self, prices: Sequence[str]) -> None:
        """Show a quote and run a turn in each of the next periods."""
        for price in prices:
            self.clock.time += INTERVAL
            self.show(price)
            await self.trader.run_once()

    async def order(self) -> AverageOrder | None:
        """Return the order of the last signal."""
        return (await self.store.averages.trades())[-1].order


def expected(prices: Sequence[str]) -> list[tuple[str, Decimal]]:
    average, reported = MovingAverage(), list[tuple[str, Decimal]]()
    for price in prices:
        close = Close("alpha", "us", "BTC/USD", Price(Decimal(price)), 0, 0, "us")
        average, crossing = naive_rule(average, close)
        if crossing is not None:
            reported.append((crossing.trade_type, close.price))
    return reported


def reported(trades: Sequence[AverageTrade]) -> list[tuple[str, Decimal]]:
    return [(trade.trade_type, trade.trade_price) for trade in trades]


async def test_a_cross_has_no_average_since_nothing_converts_its_price() -> None:
    cross = replace(USD_MARKET, symbol="ETH/BTC", base="ETH", quote_currency="BTC")
    bench, coin = Bench(), replace(USD_MARKET, symbol="ETH/USD", base="ETH")
    await bench.open()
    bench.trader.session = replace(SESSION, markets=(USD_MARKET, coin, cross))
    for price in PRICES:
        now = bench.clock.now() + INTERVAL
        bid, ask = (str(Decimal(price) + side) for side in (Decimal("-0.01"), Decimal("0.01")))
        bench.shown.quotes[cross.exchange, cross.symbol] = seen(cross, bid, ask, "100", now, now)
        await bench.periods([price])
    assert {trade.symbol for trade in await bench.store.averages.trades()} == {"BTC/USD"}


async def test_each_crossing_is_written_once() -> None:
    bench = Bench()
    await bench.periods(PRICES)
    trades = await bench.store.averages.trades()
    assert reported(trades) == expected(PRICES)
    first = trades[0]
    assert (first.quote_region, first.trade_location, first.order) == ("us", "us", None)
    assert first.timestamp == first.at == bench.clock.now() - (len(PRICES) - 3) * INTERVAL
    assert await bench.store.open_arbitrages() == []


async def test_a_period_has_one_close_however_often_somebody_looks() -> None:
    bench = Bench()
    for price in PRICES:
        await bench.periods([price])
        for later in ("1", "100"):
            bench.clock.time += 1
            bench.show(later)
            await bench.trader.run_once()
            await bench.process().run_once()
        bench.clock.time -= 2
    assert reported(await bench.store.averages.trades()) == expected(PRICES)


async def test_switched_off_it_looks_at_nothing() -> None:
    bench = Bench(settings_of(ma_trading="off"))
    await bench.periods(PRICES)
    assert bench.shown.looks == 0
    bench.cache.settings = SIGNALS
    await bench.periods(PRICES)
    assert reported(await bench.store.averages.trades()) == expected(PRICES)


async def test_without_a_quote_that_holds_there_is_no_close() -> None:
    bench = Bench()
    await bench.periods(PRICES[:2])
    bench.clock.time += INTERVAL
    await bench.trader.run_once()  # its quote is five seconds old: stale
    bench.shown.quotes.clear()
    bench.clock.time += INTERVAL
    await bench.trader.run_once()  # withdrawn
    await bench.periods(PRICES[2:])
    assert reported(await bench.store.averages.trades()) == expected(PRICES)


@pytest.mark.parametrize("turns", range(1, 16))
async def test_killed_after_any_step_the_next_process_goes_on(turns: int) -> None:
    bench = Bench()
    for price in PRICES:
        bench.clock.time += INTERVAL
        bench.show(price)
        dying = asyncio.create_task(bench.process().run_once())
        for _ in range(turns):
            await asyncio.sleep(0)
        dying.cancel()
        with suppress(asyncio.CancelledError):
            await dying
        await bench.process().run_once()
    assert reported(await bench.store.averages.trades()) == expected(PRICES)


async def test_an_interval_that_is_changed_holds_from_the_next_period_on() -> None:
    bench = Bench()
    await bench.periods(PRICES[:8])
    for interval in (1_000, 20_000, 5_000):
        bench.cache.settings = SIGNALS.model_copy(update={"ma_interval_ms": interval})
        bench.clock.time += 20_000_000
        bench.show("50")
        await bench.trader.run_once()
    assert len(await bench.store.averages.trades()) == len(expected([*PRICES[:8], "50", "50", "50"]))


async def test_in_a_replay_periods_are_of_recorded_time() -> None:
    """Turns at recorded times of different periods, though no wall time passed."""
    bench = Bench()
    begun = SystemClock().now()
    times = [ReplayClock(INTERVAL * n + 5, begun, 0.0) for n in range(1, 4)]
    for clock, price in zip(times, PRICES, strict=False):
        recorded: Clock = clock
        bench.shown.quotes[KEY] = seen(USD_MARKET, price, price, "1", clock.now(), clock.now())
        await AverageTrader(
            "alpha", SESSION, bench.store, bench.shown, bench.rule, recorded, bench.cache, by=UNFENCED
        ).run_once()
    (trade,) = await bench.store.averages.trades()
    assert trade.trade_id == f"alpha|BTC/USD|{3 * INTERVAL}"


async def bench_with_a_requested(**changes: object) -> Bench:
    """Its third close crossed upwards."""
    bench = Bench(ORDERS.model_copy(update=changes))
    await bench.open()
    await bench.periods(PRICES[:3])
    return bench


async def test_an_order_is_reserved_like_any_leg_and_its_row_gets_the_outcome() -> None:
    bench = await bench_with_a_requested()
    (trade,) = await bench.store.averages.trades()
    assert trade.order == AverageOrder("open")
    (arbitrage,) = await bench.store.open_arbitrages()
    assert (arbitrage.arbitrage_id, arbitrage.state, arbitrage.strategy) == (trade.trade_id, "reserved", "ma")
    assert len(arbitrage.legs) == 1
    leg = await granted(bench.store, trade.trade_id, "buy")
    assert await bench.store.grant(trade.trade_id, "buy", UNFENCED) is None
    await bench.trader.run_once()
    assert await bench.order() == AverageOrder("open")
    report = filled(leg, Decimal(10))
    assert (
        await finish_leg(bench.store, trade.trade_id, "buy", report, advancing(MARKETS), UNFENCED)
    ).state == "closed"
    await bench.trader.run_once()
    assert await bench.order() == AverageOrder("partly_filled", None, Decimal(10), 10 * leg.limit_price)
    assert await bench.store.averages.unsettled("alpha") == []
    assert [row.held for row in await bench.store.balances.rows()] == [Decimal(0)] * 2


@pytest.mark.parametrize(("share", "state"), [(1, "filled"), (0, "unfilled")])
async def test_all_or_nothing_of_it_is_filled(share: int, state: str) -> None:
    bench = await bench_with_a_requested()
    (trade,) = await bench.store.averages.trades()
    leg = await granted(bench.store, trade.trade_id, "buy")
    report: OrderReport = filled(leg, leg.amount * share)
    await finish_leg(bench.store, trade.trade_id, "buy", report, advancing(MARKETS), UNFENCED)
    await bench.trader.run_once()
    order = await bench.order()
    assert order is not None
    assert (order.state, order.filled) == (state, leg.amount * share)


@pytest.mark.parametrize(
    ("changes", "expected_order"),
    [
        ({"trading_state": "halted"}, AverageOrder("rejected", "halted")),
        ({"trading_state": "reduce_only"}, AverageOrder("rejected", "reduce_only")),
        ({"enabled_exchanges": ("beta",)}, AverageOrder("rejected", "exchange_disabled")),
        ({"ma_notional": Decimal("0.0001")}, AverageOrder("rejected", "too_small")),
        ({"max_total_notional": Decimal("0.0001")}, AverageOrder("rejected", "total_limit")),
    ],
)
async def test_what_the_risk_checks_reject(changes: dict[str, object], expected_order: AverageOrder) -> None:
    bench = await bench_with_a_requested(**changes)
    assert await bench.order() == expected_order
    assert await bench.store.session_arbitrages() == []


async def bench_with_a_lost_requested() -> Bench:
    """Its process died between the signal and the reservation, as it looked at the quotes once more."""
    bench = Bench(ORDERS, shown=Shown(stuck_at=4))
    await bench.open()
    await bench.periods(PRICES[:2])
    bench.clock.time += INTERVAL
    bench.show(PRICES[2])
    dying = asyncio.create_task(bench.trader.run_once())
    await bench.shown.is_stuck.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    assert await bench.order() == AverageOrder("wanted")
    return bench


async def test_the_next_process_reserves_what_was_wanted() -> None:
    bench = await bench_with_a_lost_requested()
    bench.clock.time += 1_000_000
    await bench.process().run_once()
    assert await bench.order() == AverageOrder("open")
    assert len(await bench.store.open_arbitrages()) == 1


@dataclass
class LastLook(Shown):
    """The process is asked to go while it looks."""

    cache: StateCache | None = None

    async def fetch(self, wanted: Collection[MarketKey]) -> dict[MarketKey, LatestQuote]:
        if self.cache is not None:
            self.cache.is_draining = True
        return await super().fetch(wanted)


async def test_a_process_that_is_asked_to_go_leaves_the_order_to_the_next() -> None:
    shown = LastLook()
    bench = Bench(ORDERS, shown=shown)
    await bench.open()
    await bench.periods(PRICES[:2])
    shown.cache = bench.cache
    await bench.periods(PRICES[2:3])
    assert await bench.order() == AverageOrder("wanted")
    assert await bench.store.open_arbitrages() == []
    shown.cache, bench.cache.is_draining = None, False
    await bench.process().run_once()
    assert await bench.order() == AverageOrder("open")


async def test_an_order_that_nobody_came_to_in_time_is_missed() -> None:
    bench = await bench_with_a_lost_requested()
    bench.clock.time += INTERVAL
    await bench.process().run_once()
    assert await bench.order() == AverageOrder("missed", "expired")
    assert await bench.store.session_arbitrages() == []


async def test_orders_switched_off_in_between_are_rejected() -> None:
    bench = await bench_with_a_lost_requested()
    bench.cache.settings = SIGNALS
    await bench.process().run_once()
    assert await bench.order() == AverageOrder("rejected", "ma_orders_off")


async def test_two_processes_that_see_one_signal_reserve_it_once() -> None:
    bench = Bench(ORDERS)
    await bench.open()
    await bench.periods(PRICES[:2])
    bench.clock.time += INTERVAL
    bench.show("6")
    await asyncio.gather(*(bench.process().run_once() for _ in range(4)))
    assert len(await bench.store.session_arbitrages()) == 1
    assert await bench.order() == AverageOrder("open")


async def test_a_market_that_this_session_has_not() -> None:
    bench = await bench_with_a_lost_requested()
    elsewhere = replace(SESSION, markets=(EUR_MARKET,))
    await AverageTrader(
        "alpha", elsewhere, bench.store, bench.shown, bench.rule, bench.clock, bench.cache, by=UNFENCED
    ).run_once()
    assert await bench.order() == AverageOrder("rejected", "market_missing")


@pytest.fixture
async def desk_at_work(tmp_path: Path) -> AsyncIterator[tuple[Bench, PaperAccount]]:
    """Return a whole desk on a local paper account, with the strategy as its errand."""
    bench = Bench(ORDERS)
    await bench.open()
    clock = SystemClock()
    store = MemoryTradeStore(clock)
    await store.settings.create(ORDERS.model_copy(update={"ma_interval_ms": 100, "cool_down_ms": 0}))
    bench.store = store
    settings = await store.settings.current()
    assert settings is not None
    cache = StateCache(settings)
    account = PaperAccount(
        exchange="alpha",
        markets=(USD_MARKET,),
        opening=OPENING,
        journal=PaperJournal(tmp_path / "alpha.jsonl"),
        clock=clock,
        fee_rate=lambda: Decimal("0.001"),
        latency_ms=0,
    )
    strategy = AverageTrader("alpha", SESSION, store, bench.shown, bench.rule, clock, cache, by=UNFENCED)
    bot_loop = BotLoop(
        store,
        account,
        (USD_MARKET,),
        clock,
        cache,
        UNFENCED,
        Pace(round_seconds=0.02),
        background_tasks=(strategy.run,),
    )
    working = asyncio.create_task(bot_loop.run(_no_signals(), lambda: None))
    yield bench, account
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def _no_signals() -> AsyncIterator[Signal]:
    await asyncio.Event().wait()
    yield  # type: ignore[misc]  # never reached; it makes this a generator


async def test_signals_are_traded_from_close_to_ledger(desk_at_work: tuple[Bench, PaperAccount]) -> None:
    bench, account = desk_at_work
    mids = ("100", "90")

    async def enough() -> bool:
        now = SystemClock().now()
        mid = Decimal(mids[(now // 200_000) % 2])
        shown = seen(USD_MARKET, str(mid - 1), str(mid), "5", now, now)
        account.update_quote(replace(shown.quote, sequence=now))
        bench.shown.quotes[KEY] = replace(shown, quote=replace(shown.quote, sequence=now))
        trades = await bench.store.averages.trades()
        orders = [trade.order for trade in trades if trade.order is not None and trade.order.state == "filled"]
        return len(orders) >= 4

    await until(enough, bool)
    await bench.store.stop_reservations()
    _, after = await until(bench.store.balances.of_session, lambda both: "alpha" in both[1])
    before, _ = await bench.store.balances.of_session()
    fills = await bench.store.fills()
    assert balances_by_fills(before, fills) == after
    for one in await bench.store.session_arbitrages():
        assert (one.strategy, one.state, len(one.legs), one.profit) == ("ma", "closed", 1, None)
    for row in await bench.store.balances.rows():
        assert (row.held, row.free) == (Decimal(0), after["alpha"][row.currency])
    assert len({fill.fill_id for fill in fills}) == len(fills) >= 4
