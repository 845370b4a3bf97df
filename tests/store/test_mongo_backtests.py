"""The contract of the jobs of backtests, on both adapters."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.equity_curve import EquityPoint
from store.ports.trading import TradeStore
from store.records.backtest_requests import BacktestFigures, BacktestJob, BacktestRequest, BacktestTrade, TickSetSummary

REQUEST = BacktestRequest(
    "alpha-beta",
    {"min_net_bps": "7.5"},
    Decimal("12.5"),
    80.0,
    seed=7,
    fee_tiers={"alpha": "0:26,50000:24"},
    failed_percent=1.5,
)
FIGURES = BacktestFigures(
    1_000,
    20,
    3,
    17,
    Decimal("-1.25"),
    Decimal("0.00000012"),
    Decimal("2.5"),
    "USD",
    is_balanced=True,
    equity=(EquityPoint(5, 1, Decimal("1.00000001")), EquityPoint(7, 2, Decimal("-1.25"))),
    is_of_bars=True,
    missed=Decimal("3.5"),
    capital=Decimal("1000000.00000001"),
    return_on_capital=Decimal("-0.0000012500"),
    sharpe=-1.25,
    ratios="of 47 returns",
)
TICK_SET = TickSetSummary("alpha-beta", "a made-up one", ("alpha", "beta"), ("BTC",), 1_000, 1_000_000, 2_000_000)


async def taken(store: TradeStore, runner: str = "one") -> BacktestJob:
    job = await store.backtests.claim_next(runner)
    assert job is not None
    return job


async def test_a_job_is_queued_once_as_it_was_first_asked_for(store: TradeStore) -> None:
    job = await store.backtests.ask("1", REQUEST, "rest")
    assert (job.request, job.who, job.state, job.attempts) == (REQUEST, "rest", "queued", 0)
    assert job.asked_at > 0
    assert await store.backtests.ask("1", BacktestRequest("other"), "else") == job
    assert await store.backtests.jobs() == [job]
    assert await store.backtests.job("2") is None


def trades_to(count: int) -> list[BacktestTrade]:
    return [
        BacktestTrade(number, number, "BTC", "a BTC/USD", "b BTC/EUR", Decimal("0.1"), 7.5, "closed", None, None, None)
        for number in range(1, count + 1)
    ]


async def test_every_trade_is_reached_newest_first(store: TradeStore) -> None:
    await store.backtests.ask("1", REQUEST, "rest")
    await taken(store)
    made = trades_to(1_201)
    assert await store.backtests.finish("1", "one", FIGURES, "<p>fine</p>", made)
    found, before = [], None
    while page := await store.backtests.trades("1", before, 400):
        found += page
        before = page[-1].number
    assert found == made[::-1]
    assert [one.number for one in await store.backtests.trades("1", 501, 2)] == [500, 499]
    assert await store.backtests.trades("1", 1, 2) == []
    assert await store.backtests.trades("2", None, 2) == []
    assert await store.backtests.report("1") == "<p>fine</p>"
    assert await store.backtests.remove("1")
    assert await store.backtests.trades("1", None, 2) == []


async def test_the_oldest_is_run_first_and_the_newest_reported_first(store: TradeStore) -> None:
    for number in ("1", "2", "3"):
        await store.backtests.ask(number, REQUEST, "rest")
    assert [job.job_id for job in await store.backtests.jobs()] == ["3", "2", "1"]
    assert [(await taken(store)).job_id for _ in range(3)] == ["1", "2", "3"]
    assert await store.backtests.claim_next("one") is None


async def test_one_of_many_runners_gets_a_job(store: TradeStore) -> None:
    await store.backtests.ask("1", REQUEST, "rest")
    got = await asyncio.gather(*(store.backtests.claim_next(f"runner {number}") for number in range(4)))
    assert sorted(job is None for job in got) == [False, True, True, True]


async def test_a_job_runs_to_its_end(store: TradeStore) -> None:
    await store.backtests.ask("1", REQUEST, "rest")
    job = await taken(store)
    assert (job.state, job.attempts, job.runner) == ("running", 1, "one")
    reported = await store.backtests.record_progress("1", "one", "trading", 0.25)
    assert reported is not None
    assert (reported.stage, reported.share) == ("trading", 0.25)
    assert await store.backtests.finish("1", "one", FIGURES, "<p>fine</p>")
    done = await store.backtests.job("1")
    assert done is not None
    assert (done.state, done.figures, done.share, done.has_report) == ("done", FIGURES, 1.0, True)
    assert done.ended_at is not None
    assert [job.figures for job in await store.backtests.jobs()] == [replace(FIGURES, equity=())]
    assert await store.backtests.report("1") == "<p>fine</p>"


async def test_who_has_lost_a_job_changes_nothing(store: TradeStore) -> None:
    await store.backtests.ask("1", REQUEST, "rest")
    await taken(store)
    assert await store.backtests.requeue("1", "one")
    assert (await taken(store, "two")).attempts == 2
    assert await store.backtests.record_progress("1", "one", "trading", 0.5) is None
    assert not await store.backtests.finish("1", "one", FIGURES, "")
    assert not await store.backtests.abort("1", "one", "failed", "too late")
    job = await store.backtests.job("1")
    assert job is not None
    assert (job.state, job.runner) == ("running", "two")


async def test_a_job_that_vanishes_again_has_failed(store: TradeStore) -> None:
    await store.backtests.ask("1", REQUEST, "rest")
    for runner in ("one", "two"):
        await taken(store, runner)
        assert await store.backtests.claim_next("another") is None
        assert await store.backtests.requeue("1", runner)
    assert await store.backtests.claim_next("three") is None
    job = await store.backtests.job("1")
    assert job is not None
    assert (job.state, job.reason) == ("failed", "its process vanished 2 times")


async def test_a_waiting_job_is_cancelled_at_once_a_running_one_by_its_runner(store: TradeStore) -> None:
    await store.backtests.ask("1", REQUEST, "rest")
    waiting = await store.backtests.cancel("1")
    assert waiting is not None
    assert waiting.state == "cancelled"
    await store.backtests.ask("2", REQUEST, "rest")
    await taken(store)
    running = await store.backtests.cancel("2")
    assert running is not None
    assert (running.state, running.is_cancel_asked) == ("running", True)
    assert await store.backtests.abort("2", "one", "cancelled", "cancelled")
    ended = await store.backtests.cancel("2")
    assert ended is not None
    assert ended.state == "cancelled"
    assert await store.backtests.cancel("3") is None


async def test_one_to_be_cancelled_that_vanishes_does_not_run_again(store: TradeStore) -> None:
    await store.backtests.ask("1", REQUEST, "rest")
    await taken(store)
    await store.backtests.cancel("1")
    await store.backtests.requeue("1", "one")
    assert await store.backtests.claim_next("two") is None
    job = await store.backtests.job("1")
    assert job is not None
    assert job.state == "cancelled"


async def test_only_what_has_ended_is_removed(store: TradeStore) -> None:
    await store.backtests.ask("1", REQUEST, "rest")
    assert not await store.backtests.remove("1")
    await taken(store)
    assert not await store.backtests.remove("1")
    await store.backtests.finish("1", "one", FIGURES, "<p>fine</p>")
    assert await store.backtests.remove("1")
    assert await store.backtests.jobs() == []
    assert await store.backtests.report("1") is None


@pytest.mark.parametrize("reported", [[], [TICK_SET]])
async def test_tick_sets_are_those_reported_last(store: TradeStore, reported: list[TickSetSummary]) -> None:
    await store.backtests.report_tick_sets([TICK_SET, TickSetSummary("old", "", (), (), 0, 0, 0)])
    await store.backtests.report_tick_sets(reported)
    assert await store.backtests.tick_sets() == reported
