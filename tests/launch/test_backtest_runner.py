"""Backtests beside a session: one at a time, as processes that may be killed, and whose end is reported."""

import asyncio
import json
import uuid
from argparse import ArgumentParser
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import psutil
import pytest
from pydantic import TypeAdapter

from backtest.profile_sets import set_of_files
from backtest.report.trade_files import trade_rows, trades_file
from launch.commands.options.arguments import add_backtest
from launch.regions.sessions import region_home
from launch.sessions.backtest_runner import JobFiles, JobRunner, job_arguments, publish_tick_sets
from market.accounting.equity_curve import EquityPoint
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now
from session.session import Placement
from store.memory.store import MemoryTradeStore
from store.mongo.store import open_store
from store.records.backtest_requests import BacktestFigures, BacktestJob, BacktestRequest
from tests.backtest.made_up_result import arbitrage
from tests.backtest.made_up_set import made_up_files
from tests.ui.samples import session_of

EQUITY = (EquityPoint(5, 1, Decimal("7.5")),)
FIGURES = BacktestFigures(80, 10, 1, 9, Decimal("7.5"), Decimal(-2), Decimal(0), "USD", is_balanced=True, equity=EQUITY)


class RecordingRunner(JobRunner):
    """A runner whose processes do what a test wants, in place of a backtest."""

    def __init__(self, home: Path, store: MemoryTradeStore, script: str) -> None:
        super().__init__(home, store.backtests, "one")
        self.script = script

    def command(self, job: BacktestJob, files: JobFiles) -> tuple[str, ...]:
        return ("/bin/sh", "-c", self.script, str(files.folder))


@pytest.fixture
def store() -> MemoryTradeStore:
    return MemoryTradeStore()


async def queued(store: MemoryTradeStore, job_id: str = "1") -> None:
    await store.backtests.ask(job_id, BacktestRequest("made-up"), "rest")


async def job_of(store: MemoryTradeStore, job_id: str = "1") -> BacktestJob:
    job = await store.backtests.job(job_id)
    assert job is not None
    return job


async def until(condition: Callable[[], Coroutine[object, object, bool]]) -> None:
    deadline = wall_now() + 60 * MICROSECONDS
    while not await condition():
        assert wall_now() < deadline
        await SystemClock().sleep(0.02)


def test_a_request_becomes_the_words_of_the_command(tmp_path: Path) -> None:
    request = BacktestRequest("made-up", {"min_net_bps": "7.5"}, Decimal("2.5"), 80.0, seed=3, cores=2)
    exact = replace(request, latency_ms=12_345.678)
    assert "12345.678" in job_arguments(exact, JobFiles(tmp_path))
    further = replace(request, fee_tiers={"kraken": "0:26,50000:24"}, failed_percent=0.5)
    words = job_arguments(further, JobFiles(tmp_path))
    assert words[words.index("--fee-tiers") :][:4] == ["--fee-tiers", "kraken=0:26,50000:24", "--failed-percent", "0.5"]
    parser = ArgumentParser()
    add_backtest(parser)
    parsed = parser.parse_args(words[1:])
    assert (parsed.fee_tiers, parsed.failed_percent) == (["kraken=0:26,50000:24"], 0.5)
    assert job_arguments(request, JobFiles(tmp_path))[:13] == [
        *("backtest", "made-up", "--master", "local[2]", "--seed", "3"),
        *("--set-value", "min_net_bps=7.5", "--fee-bps", "2.5", "--latency-ms", "80", "--report"),
    ]


def test_tick_sets_lie_in_the_data_folder_whatever_the_mode(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    assert session.data_home == tmp_path
    assert replace(session, mode="live", home=tmp_path / "live").data_home == tmp_path
    of_region = replace(session, place=Placement("us", ("us",)), home=region_home(tmp_path, "us"))
    assert of_region.data_home == tmp_path


async def test_nothing_is_run_where_nothing_waits(tmp_path: Path, store: MemoryTradeStore) -> None:
    assert not await JobRunner(tmp_path, store.backtests, "one").run_next()


async def test_tick_sets_are_reported(tmp_path: Path, store: MemoryTradeStore) -> None:
    runner = JobRunner(tmp_path, store.backtests, "one")
    await runner.publish_tick_sets()
    assert await store.backtests.tick_sets() == []
    made = set_of_files(tmp_path, made_up_files(tmp_path / "raw"))
    await runner.publish_tick_sets()
    assert [one.name for one in await store.backtests.tick_sets()] == [made.folder.name]


async def test_tick_sets_are_reported_before_any_job_is_taken(tmp_path: Path, mongodb_uri: str) -> None:
    """While the parts of a session still start, the page of backtests already has sets to choose from."""
    made = set_of_files(tmp_path, made_up_files(tmp_path / "raw"))
    before = session_of(tmp_path)
    session = replace(
        before,
        services=replace(before.services, mongodb=mongodb_uri, database=f"told-{uuid.uuid4().hex}"),
    )
    async with await open_store(session) as mongo:
        await mongo.backtests.ask("1", BacktestRequest("made-up"), "rest")
        await publish_tick_sets(session)
        assert [one.name for one in await mongo.backtests.tick_sets()] == [made.folder.name]
        assert [job.state for job in await mongo.backtests.jobs()] == ["queued"]


async def test_a_command_that_rejects_has_failed_with_its_sentence(tmp_path: Path, store: MemoryTradeStore) -> None:
    await queued(store)
    assert await JobRunner(tmp_path, store.backtests, "one").run_next()
    job = await job_of(store)
    assert (job.state, job.attempts) == ("failed", 1)
    assert job.reason is not None
    assert job.reason.startswith("made-up is not a tick set, a folder or a file")
    assert not (tmp_path / "backtests" / "1").exists()


async def test_figures_and_report_are_kept(tmp_path: Path, store: MemoryTradeStore) -> None:
    await queued(store)
    figures = TypeAdapter(BacktestFigures).dump_python(FIGURES, mode="json")
    script = f"printf '%s' '{json.dumps(figures)}' > $0/figures.json; echo '<p>fine</p>' > $0/report.html"
    assert await RecordingRunner(tmp_path, store, script).run_next()
    job = await job_of(store)
    assert (job.state, job.figures) == ("done", FIGURES)
    assert await store.backtests.report("1") == "<p>fine</p>\n"
    assert await store.backtests.trades("1", None, 10) == []


@pytest.mark.parametrize(
    "script",
    [
        "echo '{}' > $0/figures.json; echo fine > $0/report.html",
        "echo 'cut of' > $0/figures.json; echo fine > $0/report.html",
        "printf '%s' '{figures}' > $0/figures.json; echo '[1]' > $0/trades.json; echo fine > $0/report.html",
        r"printf '%s' '{figures}' > $0/figures.json; printf '\377' > $0/report.html",
    ],
)
async def test_what_cannot_be_read_fails_its_own_job_alone(
    tmp_path: Path, store: MemoryTradeStore, script: str
) -> None:
    await queued(store)
    figures = json.dumps(TypeAdapter(BacktestFigures).dump_python(FIGURES, mode="json"))
    assert await RecordingRunner(tmp_path, store, script.replace("{figures}", figures)).run_next()
    job = await job_of(store)
    assert (job.state, job.reason) == ("failed", "its results cannot be read; request it again")


async def test_all_trades_are_kept(tmp_path: Path, store: MemoryTradeStore) -> None:
    await queued(store)
    figures = json.dumps(TypeAdapter(BacktestFigures).dump_python(FIGURES, mode="json"))
    made = tuple(arbitrage(number, "2.5") for number in range(3))
    trades = trades_file(made, as_json=True).decode()
    write = "printf '%s' '{}' > $0/{}; "
    script = write.format(figures, "figures.json") + write.format(trades, "trades.json") + "echo fine > $0/report.html"
    assert await RecordingRunner(tmp_path, store, script).run_next()
    found = await store.backtests.trades("1", None, 10)
    assert found == list(reversed(trade_rows(made)))
    assert [(one.number, one.bought_on, one.net) for one in found] == [
        (number, "alpha BTC/USD", Decimal("2.5")) for number in (3, 2, 1)
    ]


async def test_progress_is_reported_and_a_cancelled_one_is_ended(tmp_path: Path, store: MemoryTradeStore) -> None:
    await queued(store)
    script = """echo $$ > $0/pid; printf '{"stage": "trading", "share": 0.25}' > $0/progress.json; exec sleep 300"""
    running = asyncio.create_task(RecordingRunner(tmp_path, store, script).run_next())
    await until(lambda: _is_at(store, "trading"))
    pid = int((tmp_path / "backtests" / "1" / "pid").read_text())
    assert psutil.Process(pid).nice() >= 10
    await store.backtests.cancel("1")
    assert await asyncio.wait_for(running, 60)
    assert (await job_of(store)).state == "cancelled"
    assert not psutil.pid_exists(pid)


async def test_one_that_cannot_begin_has_failed_and_the_next_is_run(tmp_path: Path, store: MemoryTradeStore) -> None:
    await queued(store)
    await queued(store, "2")
    (tmp_path / "backtests").write_text("no folder")
    assert await RecordingRunner(tmp_path, store, "exit 3").run_next()
    job = await job_of(store)
    assert (job.state, job.reason) == ("failed", "its process could not start (Not a directory)")
    (tmp_path / "backtests").unlink()
    assert await RecordingRunner(tmp_path, store, "exit 3").run_next()
    assert (await job_of(store, "2")).reason == "it ended with exit code 3"


async def test_a_killed_one_runs_once_more_and_then_has_failed(tmp_path: Path, store: MemoryTradeStore) -> None:
    await queued(store)
    runner = RecordingRunner(tmp_path, store, "kill -9 $$")
    assert await runner.run_next()
    assert await runner.run_next()
    assert not await runner.run_next()
    job = await job_of(store)
    assert (job.state, job.attempts, job.reason) == ("failed", 2, "its process vanished 2 times")


async def test_a_runner_that_is_stopped_leaves_its_job_to_the_next(tmp_path: Path, store: MemoryTradeStore) -> None:
    await queued(store)
    script = """echo $$ > $0/pid; printf '{"stage": "trading", "share": 0.25}' > $0/progress.json; exec sleep 300"""
    running = asyncio.create_task(RecordingRunner(tmp_path, store, script).run_next())
    await until(lambda: _is_at(store, "trading"))
    pid = int((tmp_path / "backtests" / "1" / "pid").read_text())
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert not psutil.pid_exists(pid)
    again = await store.backtests.claim_next("two")
    assert again is not None
    assert again.attempts == 2


async def _is_at(store: MemoryTradeStore, stage: str) -> bool:
    return (await job_of(store)).stage == stage
