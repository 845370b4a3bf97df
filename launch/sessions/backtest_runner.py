"""Runs the backtests that were asked for on the dashboard, one at a time, as processes that yield to live trading."""

import asyncio
import json
import logging
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from backtest.report.trade_files import TRADES
from launch.sessions.tick_set_names import known_sets, manifests
from launch.supervisor.process_groups import ProcessSpec, group_members, signal_group, spawn
from market.money import text_of
from session.backoff import backoff
from session.backtest_requests import BacktestFigures, BacktestJob, BacktestRequest
from session.clock import SystemClock
from session.session import Session
from store.errors import StoreError, StoreUnavailableError
from store.mongo.mongo_store import open_store
from store.store_port import Backtests

POLL_SECONDS = 1.0
STOP_SECONDS = 5.0
NICENESS = 15
"""The bots, Spark's real-time job and the stores come first on every core."""
MOST_REPORT_BYTES = 15_000_000
"""A document of MongoDB holds 16 MB."""
CANCELLED = "cancelled"
UNREADABLE = "what it wrote at its end cannot be read; ask for it again"

_FIGURES = TypeAdapter(BacktestFigures)
log = logging.getLogger("launch")


@dataclass(frozen=True, slots=True)
class JobFiles:
    """What the process of one job writes; gone once the job has ended."""

    folder: Path

    @property
    def progress(self) -> Path:
        return self.folder / "progress.json"

    @property
    def figures(self) -> Path:
        return self.folder / "figures.json"

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    @property
    def trades(self) -> Path:
        return self.folder / "trades.json"

    @property
    def log(self) -> Path:
        return self.folder / "log"


async def run_jobs(session: Session) -> None:
    """Until cancelled; where the store does not answer, or the machine lacks room, it is tried again."""
    delays = backoff()
    while True:
        try:
            async with await open_store(session) as store:
                runner = JobRunner(data_home(session), store.backtests, session.session_id)
                delays = backoff()
                await runner.run()
        except (StoreError, OSError) as error:
            # a full disk or a lack of processes passes, too
            log.warning("backtests wait", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))


async def told_tick_sets(session: Session) -> None:
    """What can be tested is known before the first test may run. To be called once the store is there."""
    delays = backoff()
    while True:
        try:
            async with await open_store(session) as store:
                await JobRunner(data_home(session), store.backtests, session.session_id).report_tick_sets()
        except StoreUnavailableError:
            await SystemClock().sleep(next(delays))
        except (StoreError, OSError) as error:
            # they are told again later; nothing else has to wait for them
            log.warning("tick sets are not told yet", extra={"error": str(error)})
            return
        else:
            return


async def beside_backtests(session: Session, work: Awaitable[None]) -> None:
    """Until `work` is done, backtests that are asked for are run."""
    running = asyncio.create_task(run_jobs(session))
    try:
        await work
    finally:
        running.cancel()
        (fault,) = await asyncio.gather(running, return_exceptions=True)
        if fault is not None and not isinstance(fault, asyncio.CancelledError):
            log.error("backtests were not run any more", extra={"error": repr(fault)})


def data_home(session: Session) -> Path:
    """Where tick sets lie: sessions at real prices keep a folder of their own within it."""
    return session.home if session.mode == "paper" else session.home.parent


class JobRunner:
    """Takes one job after the other. Its processes die with it; what they were at is then run once more."""

    def __init__(self, home: Path, backtests: Backtests, name: str) -> None:
        self._home = home
        self._backtests = backtests
        self._name = name
        self._told: tuple[tuple[str, int], ...] | None = None
        """Manifests, and when they were written."""

    async def run(self) -> None:
        """Until cancelled. Raises StoreError."""
        while True:
            await self.report_tick_sets()
            if not await self.run_next():
                await SystemClock().sleep(POLL_SECONDS)

    def command(self, job: BacktestJob, files: JobFiles) -> tuple[str, ...]:
        """The process that runs a job."""
        return (sys.executable, "-m", "launch.cli.main", *job_words(job.request, files))

    async def report_tick_sets(self) -> None:
        """Where they have changed."""
        written = manifests(self._home)
        if written != self._told:
            await self._backtests.report_tick_sets(await asyncio.to_thread(known_sets, self._home))
            self._told = written

    async def run_next(self) -> bool:
        """Take a job and see it through; False where none waits. Raises StoreError."""
        job = await self._backtests.claim_next(self._name)
        if job is None:
            return False
        files = JobFiles(self._home / "backtests" / job.job_id)
        try:
            child = self._begin(job, files)
        except OSError as error:
            reason = f"its process could not begin ({error.strerror or error})"
            await self._backtests.abort(job.job_id, self._name, "failed", reason)
            return True
        try:
            code = await self._until_end(job, child, files)
            await self._settle(job, files, code)
        except BaseException:
            await _ended(child)
            await self._put_back(job)
            raise
        finally:
            await _ended(child)
            shutil.rmtree(files.folder, ignore_errors=True)
        return True

    def _begin(self, job: BacktestJob, files: JobFiles) -> "subprocess.Popen[bytes]":
        """Raises OSError."""
        shutil.rmtree(files.folder, ignore_errors=True)
        files.folder.mkdir(parents=True)
        log.info("backtest begins", extra={"job_id": job.job_id, "attempt": job.attempts})
        environment = {"ARBITRAGE_HOME": str(self._home), "PYSPARK_PYTHON": sys.executable}
        part = ProcessSpec(
            f"backtest-{job.job_id}", self.command(job, files), environment=environment, niceness=NICENESS
        )
        return spawn(part, files.log)

    async def _until_end(self, job: BacktestJob, child: "subprocess.Popen[bytes]", files: JobFiles) -> int | None:
        """Its exit code; None where it is to be cancelled, or is another runner's by now."""
        while (code := child.poll()) is None:
            if not await self._is_wanted(job, files):
                return None
            await SystemClock().sleep(POLL_SECONDS)
        return code

    async def _is_wanted(self, job: BacktestJob, files: JobFiles) -> bool:
        """Tell how far it is. While the store does not answer it goes on: that is told again in a moment."""
        stage, share = _progress(files.progress)
        try:
            known = await self._backtests.record_progress(job.job_id, self._name, stage, share)
        except StoreUnavailableError as error:
            log.warning("backtest goes on untold", extra={"job_id": job.job_id, "error": str(error)})
            return True
        return known is not None and not known.is_cancel_asked

    async def _settle(self, job: BacktestJob, files: JobFiles, code: int | None) -> None:
        """What became of a job whose process ended with `code`."""
        if code is None:
            await self._backtests.abort(job.job_id, self._name, "cancelled", CANCELLED)
        elif code < 0:
            # killed from outside: not its own fault, so it runs once more
            await self._backtests.requeue(job.job_id, self._name)
        elif files.figures.is_file() and files.report.is_file():
            await self._keep(job, files)
        else:
            await self._backtests.abort(job.job_id, self._name, "failed", _reason(files.log, code))
        log.info("backtest ended", extra={"job_id": job.job_id, "exit_code": code})

    async def _keep(self, job: BacktestJob, files: JobFiles) -> None:
        if files.report.stat().st_size > MOST_REPORT_BYTES:
            await self._backtests.abort(job.job_id, self._name, "failed", "its report is too large to be kept")
            return
        try:
            figures = _FIGURES.validate_json(files.figures.read_bytes())
            trades = TRADES.validate_json(files.trades.read_bytes()) if files.trades.is_file() else ()
            report = files.report.read_text()
        except (OSError, ValueError) as error:
            # not JSON, not our figures, not text; the next job must run all the same
            log.warning("backtest not kept", extra={"job_id": job.job_id, "error": str(error)})
            await self._backtests.abort(job.job_id, self._name, "failed", UNREADABLE)
            return
        await self._backtests.finish(job.job_id, self._name, figures, report, trades)

    async def _put_back(self, job: BacktestJob) -> None:
        try:
            await self._backtests.requeue(job.job_id, self._name)
        except StoreError as error:
            # it is taken as vanished a moment later all the same
            log.warning("backtest not put back", extra={"job_id": job.job_id, "error": str(error)})


def job_words(request: BacktestRequest, files: JobFiles) -> list[str]:
    """The words of `arbitrage` that run it."""
    words = ["backtest", request.tick_set, "--master", f"local[{request.cores}]", "--seed", str(request.seed)]
    for name, value in sorted(request.settings.items()):
        words += ["--set-value", f"{name}={value}"]
    if request.fee_bps is not None:
        words += ["--fee-bps", text_of(request.fee_bps)]
    if request.latency_ms is not None:
        words += ["--latency-ms", repr(request.latency_ms).removesuffix(".0")]
    for exchange, tiers in sorted(request.fee_tiers.items()):
        words += ["--fee-tiers", f"{exchange}={tiers}"]
    if request.failed_percent:
        words += ["--failed-percent", repr(request.failed_percent).removesuffix(".0")]
    return [
        *words,
        *("--report", str(files.report)),
        *("--trades", str(files.trades)),
        *("--figures", str(files.figures)),
        *("--progress", str(files.progress)),
    ]


def _progress(path: Path) -> tuple[str, float]:
    try:
        told = json.loads(path.read_bytes())
        return str(told["stage"]), float(told["share"])
    except (FileNotFoundError, ValueError):
        return "starting", 0.0


def _reason(path: Path, code: int) -> str:
    """The sentence that the command said last."""
    said = [line for line in path.read_text(errors="replace").splitlines() if line.startswith("arbitrage: ")]
    return said[-1].removeprefix("arbitrage: ") if said else f"it ended with exit code {code}"


async def _ended(child: "subprocess.Popen[bytes]") -> None:
    """Its whole group, Spark's JVM and workers with it."""
    signal_group(child.pid, signal.SIGTERM)
    waited = 0.0
    while group_members(child.pid) and waited < STOP_SECONDS:
        child.poll()
        await SystemClock().sleep(0.1)
        waited += 0.1
    signal_group(child.pid, signal.SIGKILL)
    child.wait()
