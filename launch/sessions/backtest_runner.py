"""Runs the backtests that the dashboard requests, one at a time, as low-priority processes."""

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
from launch.sessions.recorded_sessions import manifests
from launch.supervisor.process_groups import ProcessSpec, group_members, signal_group, spawn
from market.decide.settings_texts import number_text
from market.money import text_of
from runtime.backoff import backoff
from runtime.clock import SystemClock
from session.session import Session
from store.errors import StoreError, StoreUnavailableError
from store.mongo.store import open_store
from store.ports.backtests import Backtests
from store.records.backtest_requests import BacktestFigures, BacktestJob, BacktestRequest, TickSetSummary

POLL_SECONDS = 1.0
STOP_SECONDS = 5.0
NICENESS = 15
"""Bots, Spark's real-time job and the stores take precedence on every core."""
MAX_REPORT_BYTES = 15_000_000
"""Most bytes of a result: a document of MongoDB holds 16 MB."""
CANCELLED = "cancelled"
UNREADABLE = "its results cannot be read; request it again"

_FIGURES = TypeAdapter(BacktestFigures)
log = logging.getLogger("launch")


@dataclass(frozen=True, slots=True)
class JobFiles:
    """Output files of one job's process; deleted once the job has ended."""

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
    """Run until cancelled; retries while the store is unavailable or the machine lacks resources."""
    delays = backoff()
    while True:
        try:
            async with await open_store(session) as store:
                runner = JobRunner(session.data_home, store.backtests, session.session_id)
                delays = backoff()
                await runner.run()
        except (StoreError, OSError) as error:
            # a full disk or a process limit may pass, too
            log.warning("backtest runner waits", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))


async def publish_tick_sets(session: Session) -> None:
    """Publish the tick sets before the first backtest can run. Call it once the store is up."""
    delays = backoff()
    while True:
        try:
            async with await open_store(session) as store:
                await JobRunner(session.data_home, store.backtests, session.session_id).publish_tick_sets()
        except StoreUnavailableError:
            await SystemClock().sleep(next(delays))
        except (StoreError, OSError) as error:
            # they are published again later; nothing waits for them
            log.warning("tick sets not published yet", extra={"error": str(error)})
            return
        else:
            return


async def with_backtests(session: Session, work: Awaitable[None]) -> None:
    """Run requested backtests until `work` is done."""
    running = asyncio.create_task(run_jobs(session))
    try:
        await work
    finally:
        running.cancel()
        (fault,) = await asyncio.gather(running, return_exceptions=True)
        if fault is not None and not isinstance(fault, asyncio.CancelledError):
            log.error("backtest runner failed", extra={"error": repr(fault)})


class JobRunner:
    """Runs one job after the other. Its processes die with it; an interrupted job runs once more."""

    def __init__(self, home: Path, backtests: Backtests, name: str) -> None:
        self._home = home
        self._backtests = backtests
        self._name = name
        self._published: tuple[tuple[str, int], ...] | None = None
        """Published manifests and their modification times."""

    async def run(self) -> None:
        """Run jobs until cancelled. Raises StoreError."""
        while True:
            await self.publish_tick_sets()
            if not await self.run_next():
                await SystemClock().sleep(POLL_SECONDS)

    def command(self, job: BacktestJob, files: JobFiles) -> tuple[str, ...]:
        """Return the command line that runs a job."""
        return (sys.executable, "-m", "launch.commands.main", *job_arguments(job.request, files))

    async def publish_tick_sets(self) -> None:
        """Publish the tick sets if they have changed."""
        written = manifests(self._home)
        if written != self._published:
            found = await asyncio.to_thread(_known_sets, self._home) if written else []
            await self._backtests.report_tick_sets(found)
            self._published = written

    async def run_next(self) -> bool:
        """Take a job and run it to its end; False if none waits. Raises StoreError."""
        job = await self._backtests.claim_next(self._name)
        if job is None:
            return False
        files = JobFiles(self._home / "backtests" / job.job_id)
        try:
            child = self._begin(job, files)
        except OSError as error:
            reason = f"its process could not start ({error.strerror or error})"
            await self._backtests.abort(job.job_id, self._name, "failed", reason)
            return True
        try:
            code = await self._until_end(job, child, files)
            await self._settle(job, files, code)
        except BaseException:
            await _terminate(child)
            await self._put_back(job)
            raise
        finally:
            await _terminate(child)
            shutil.rmtree(files.folder, ignore_errors=True)
        return True

    def _begin(self, job: BacktestJob, files: JobFiles) -> "subprocess.Popen[bytes]":
        """Start the job's process. Raises OSError."""
        shutil.rmtree(files.folder, ignore_errors=True)
        files.folder.mkdir(parents=True)
        log.info("backtest started", extra={"job_id": job.job_id, "attempt": job.attempts})
        environment = {"ARBITRAGE_HOME": str(self._home), "PYSPARK_PYTHON": sys.executable}
        part = ProcessSpec(
            f"backtest-{job.job_id}", self.command(job, files), environment=environment, niceness=NICENESS
        )
        return spawn(part, files.log)

    async def _until_end(self, job: BacktestJob, child: "subprocess.Popen[bytes]", files: JobFiles) -> int | None:
        """Wait for the end. Returns the exit code; None if the job was cancelled or belongs to another runner
        by now."""
        while (code := child.poll()) is None:
            if not await self._is_wanted(job, files):
                return None
            await SystemClock().sleep(POLL_SECONDS)
        return code

    async def _is_wanted(self, job: BacktestJob, files: JobFiles) -> bool:
        """Store the progress. Returns whether the job is still wanted; it goes on while the store is unavailable."""
        stage, share = _progress(files.progress)
        try:
            known = await self._backtests.record_progress(job.job_id, self._name, stage, share)
        except StoreUnavailableError as error:
            log.warning("backtest progress not stored", extra={"job_id": job.job_id, "error": str(error)})
            return True
        return known is not None and not known.is_cancel_asked

    async def _settle(self, job: BacktestJob, files: JobFiles, code: int | None) -> None:
        """Store the outcome of a job whose process ended with `code`."""
        if code is None:
            await self._backtests.abort(job.job_id, self._name, "cancelled", CANCELLED)
        elif code < 0:
            # killed from outside, so it runs once more
            await self._backtests.requeue(job.job_id, self._name)
        elif files.figures.is_file() and files.report.is_file():
            await self._store_result(job, files)
        else:
            await self._backtests.abort(job.job_id, self._name, "failed", _reason(files.log, code))
        log.info("backtest ended", extra={"job_id": job.job_id, "exit_code": code})

    async def _store_result(self, job: BacktestJob, files: JobFiles) -> None:
        if files.report.stat().st_size > MAX_REPORT_BYTES:
            await self._backtests.abort(job.job_id, self._name, "failed", "its report is too large to be stored")
            return
        try:
            figures = _FIGURES.validate_json(files.figures.read_bytes())
            trades = TRADES.validate_json(files.trades.read_bytes()) if files.trades.is_file() else ()
            report = files.report.read_text()
        except (OSError, ValueError) as error:
            # malformed output must not stop the next job
            log.warning("backtest not stored", extra={"job_id": job.job_id, "error": str(error)})
            await self._backtests.abort(job.job_id, self._name, "failed", UNREADABLE)
            return
        await self._backtests.finish(job.job_id, self._name, figures, report, trades)

    async def _put_back(self, job: BacktestJob) -> None:
        try:
            await self._backtests.requeue(job.job_id, self._name)
        except StoreError as error:
            # its lease expires a moment later anyway
            log.warning("backtest not put back", extra={"job_id": job.job_id, "error": str(error)})


def job_arguments(request: BacktestRequest, files: JobFiles) -> list[str]:
    """Return the arguments of `arbitrage` that run it."""
    words = ["backtest", request.tick_set, "--master", f"local[{request.cores}]", "--seed", str(request.seed)]
    for name, value in sorted(request.settings.items()):
        words += ["--set-value", f"{name}={value}"]
    if request.fee_bps is not None:
        words += ["--fee-bps", text_of(request.fee_bps)]
    if request.latency_ms is not None:
        words += ["--latency-ms", number_text(request.latency_ms)]
    for exchange, tiers in sorted(request.fee_tiers.items()):
        words += ["--fee-tiers", f"{exchange}={tiers}"]
    if request.failed_percent:
        words += ["--failed-percent", number_text(request.failed_percent)]
    return [
        *words,
        *("--report", str(files.report)),
        *("--trades", str(files.trades)),
        *("--figures", str(files.figures)),
        *("--progress", str(files.progress)),
    ]


def _progress(path: Path) -> tuple[str, float]:
    try:
        progress = json.loads(path.read_bytes())
        return str(progress["stage"]), float(progress["share"])
    except (FileNotFoundError, ValueError):
        return "starting", 0.0


def _reason(path: Path, code: int) -> str:
    """Return the last error message of the command."""
    errors = [line for line in path.read_text(errors="replace").splitlines() if line.startswith("arbitrage: ")]
    return errors[-1].removeprefix("arbitrage: ") if errors else f"it ended with exit code {code}"


async def _terminate(child: "subprocess.Popen[bytes]") -> None:
    """End the whole process group, with Spark's JVM and workers."""
    signal_group(child.pid, signal.SIGTERM)
    waited = 0.0
    while group_members(child.pid) and waited < STOP_SECONDS:
        child.poll()
        await SystemClock().sleep(0.1)
        waited += 0.1
    signal_group(child.pid, signal.SIGKILL)
    child.wait()


def _known_sets(home: Path) -> list[TickSetSummary]:
    # Arrow takes 40 MB of every session's supervisor, and most data folders have no sets
    from launch.sessions.tick_set_names import known_sets  # noqa: PLC0415

    return known_sets(home)
