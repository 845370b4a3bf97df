"""Jobs of backtests in memory, under the contract of the MongoDB ones."""

from collections.abc import Sequence
from dataclasses import replace

from market.time_units import MICROSECONDS
from runtime.clock import Clock
from store.ports.backtests import SILENT_RUNNER_SECONDS
from store.records.backtest_requests import (
    ENDED_STATES,
    MAX_ATTEMPTS,
    BacktestFigures,
    BacktestJob,
    BacktestRequest,
    BacktestState,
    BacktestTrade,
    TickSetSummary,
)


class MemoryBacktests:
    """`store.ports.backtests.Backtests`; every method runs without waiting, so each is one step."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: dict[str, BacktestJob] = {}
        self._reports: dict[str, str] = {}
        self._trades: dict[str, tuple[BacktestTrade, ...]] = {}
        self._tick_sets: tuple[TickSetSummary, ...] = ()

    async def ask(self, job_id: str, request: BacktestRequest, who: str) -> BacktestJob:
        return self._jobs.setdefault(job_id, BacktestJob(job_id, request, who, self._clock.now()))

    async def jobs(self) -> list[BacktestJob]:
        newest_first = sorted(self._jobs.values(), key=lambda job: (job.asked_at, job.job_id), reverse=True)
        return [_as_in_lists(job) for job in newest_first]

    async def job(self, job_id: str) -> BacktestJob | None:
        return self._jobs.get(job_id)

    async def claim_next(self, runner: str) -> BacktestJob | None:
        now = self._clock.now()
        waiting = [job for job in await self.jobs() if job.state == "queued" or self._is_vanished(job)]
        for job in reversed(waiting):
            if job.is_cancel_asked:
                self._end(job, "cancelled", "cancelled")
            elif job.attempts >= MAX_ATTEMPTS:
                self._end(job, "failed", f"its process vanished {MAX_ATTEMPTS} times")
            else:
                return self._store(
                    replace(
                        job,
                        state="running",
                        runner=runner,
                        stage="starting",
                        share=0.0,
                        started_at=now,
                        heartbeat_at=now,
                        attempts=job.attempts + 1,
                    )
                )
        return None

    async def record_progress(self, job_id: str, runner: str, stage: str, share: float) -> BacktestJob | None:
        job = self._run_by(job_id, runner)
        return (
            None if job is None else self._store(replace(job, stage=stage, share=share, heartbeat_at=self._clock.now()))
        )

    async def finish(
        self, job_id: str, runner: str, figures: BacktestFigures, report: str, trades: Sequence[BacktestTrade] = ()
    ) -> bool:
        job = self._run_by(job_id, runner)
        if job is None:
            return False
        self._reports[job_id] = report
        self._trades[job_id] = tuple(trades)
        self._end(replace(job, figures=figures, has_report=True, share=1.0, stage=""), "done", None)
        return True

    async def abort(self, job_id: str, runner: str, state: BacktestState, reason: str) -> bool:
        job = self._run_by(job_id, runner)
        if job is not None:
            self._end(job, state, reason)
        return job is not None

    async def requeue(self, job_id: str, runner: str) -> bool:
        job = self._run_by(job_id, runner)
        if job is not None:
            self._store(replace(job, heartbeat_at=0, stage="", share=0.0))
        return job is not None

    async def cancel(self, job_id: str) -> BacktestJob | None:
        job = self._jobs.get(job_id)
        if job is not None and job.state == "queued":
            self._end(job, "cancelled", "cancelled before it began")
        elif job is not None and job.state == "running":
            self._store(replace(job, is_cancel_asked=True))
        return self._jobs.get(job_id)

    async def remove(self, job_id: str) -> bool:
        job = self._jobs.get(job_id)
        if job is None or job.state not in ENDED_STATES:
            return False
        del self._jobs[job_id]
        self._reports.pop(job_id, None)
        self._trades.pop(job_id, None)
        return True

    async def report(self, job_id: str) -> str | None:
        return self._reports.get(job_id)

    async def trades(self, job_id: str, before: int | None, limit: int) -> list[BacktestTrade]:
        found = [one for one in reversed(self._trades.get(job_id, ())) if before is None or one.number < before]
        return found[:limit]

    async def report_tick_sets(self, tick_sets: Sequence[TickSetSummary]) -> None:
        self._tick_sets = tuple(sorted(tick_sets, key=lambda one: one.name))

    async def tick_sets(self) -> list[TickSetSummary]:
        return list(self._tick_sets)

    def _is_vanished(self, job: BacktestJob) -> bool:
        silent = SILENT_RUNNER_SECONDS * MICROSECONDS
        return job.state == "running" and (job.heartbeat_at or 0) < self._clock.now() - silent

    def _run_by(self, job_id: str, runner: str) -> BacktestJob | None:
        job = self._jobs.get(job_id)
        return job if job is not None and job.runner == runner and job.state == "running" else None

    def _end(self, job: BacktestJob, state: BacktestState, reason: str | None) -> None:
        self._store(replace(job, state=state, reason=reason, ended_at=self._clock.now()))

    def _store(self, job: BacktestJob) -> BacktestJob:
        self._jobs[job.job_id] = job
        return job


def _as_in_lists(job: BacktestJob) -> BacktestJob:
    return job if job.figures is None else replace(job, figures=replace(job.figures, equity=(), settings={}))
