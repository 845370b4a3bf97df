"""The port of requested backtests."""

from collections.abc import Sequence
from typing import Protocol

from store.records.backtest_requests import (
    BacktestFigures,
    BacktestJob,
    BacktestRequest,
    BacktestState,
    BacktestTrade,
    TickSetSummary,
)

SILENT_RUNNER_SECONDS = 15
"""A backtest whose runner sent no heartbeat for so long, by the server's clock, has lost its runner."""


class Backtests(Protocol):
    """Requested backtests of all sessions. A job belongs to the runner that claimed it until its heartbeats stop; calls
    of other runners have no effect."""

    async def ask(self, job_id: str, request: BacktestRequest, who: str) -> BacktestJob:
        """Queue a job, once per id; returns the job as it is now."""
        ...

    async def jobs(self) -> list[BacktestJob]:
        """Newest first, without equity and settings of their figures."""
        ...

    async def job(self, job_id: str) -> BacktestJob | None: ...

    async def claim_next(self, runner: str) -> BacktestJob | None:
        """Claim the oldest queued job, which is `running` from now on; one whose runner vanished is queued again,
        until that happened `MAX_ATTEMPTS` times: then it has `failed`."""
        ...

    async def record_progress(self, job_id: str, runner: str, stage: str, share: float) -> BacktestJob | None:
        """Record progress and heartbeat. None if the job is no longer this runner's: stop."""
        ...

    async def finish(
        self, job_id: str, runner: str, figures: BacktestFigures, report: str, trades: Sequence[BacktestTrade] = ()
    ) -> bool:
        """`done`, with its report as HTML of at most 15 MB and all its trades by their numbers; False if it is not
        this runner's any more."""
        ...

    async def abort(self, job_id: str, runner: str, state: BacktestState, reason: str) -> bool:
        """`failed` or `cancelled`; False if it is not this runner's any more."""
        ...

    async def requeue(self, job_id: str, runner: str) -> bool:
        """Queue it again, like one whose runner vanished, if it has an attempt left."""
        ...

    async def cancel(self, job_id: str) -> BacktestJob | None:
        """Cancel a queued job at once; a running one is ended by its runner. None if there is no such job."""
        ...

    async def remove(self, job_id: str) -> bool:
        """With its report and trades; False if there is none, or it has not ended."""
        ...

    async def report(self, job_id: str) -> str | None:
        """HTML."""
        ...

    async def trades(self, job_id: str, before: int | None, limit: int) -> list[BacktestTrade]:
        """Newest first: at most `limit` of those with a number below `before` (None: of all)."""
        ...

    async def report_tick_sets(self, tick_sets: Sequence[TickSetSummary]) -> None:
        """Replace the list of tick sets."""
        ...

    async def tick_sets(self) -> list[TickSetSummary]:
        """By name."""
        ...
