"""Actions of the page of backtests: from its widgets to the service that REST uses, with the outcome as text."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from decimal import Decimal

from exchanges.labels import exchange_name
from market.money import decimal_of_whole, text_of
from market.time_units import MICROSECONDS
from store.records.backtest_requests import BacktestJob, TickSetSummary
from ui.page_parts.page_actions import ActionOutcome, perform
from ui.page_parts.page_times import moment
from ui.rows.field_problems import words_of
from ui.services.backtest import (
    MAX_WAITING,
    BacktestInvalidError,
    TooManyWaitingError,
    ask_backtest,
    cancel_or_remove,
)
from ui.services.dashboard import Dashboard
from ui.services.settings_fields import setting_label
from wording.labels import BACKTEST_FIELDS

WHO = "dashboard"


def known_tick_sets(dashboard: Dashboard) -> list[TickSetSummary]:
    """Return the tick sets. Raises StoreError, TimeoutError."""
    return dashboard.answer(dashboard.reader.backtests.tick_sets())


def known_jobs(dashboard: Dashboard) -> list[BacktestJob]:
    """Return the backtests, newest first. Raises StoreError, TimeoutError."""
    return dashboard.answer(dashboard.reader.backtests.jobs())


def known_job(dashboard: Dashboard, job_id: str) -> BacktestJob | None:
    """Return a backtest with its equity. Raises StoreError, TimeoutError."""
    return dashboard.answer(dashboard.reader.backtests.job(job_id))


def start_backtest(dashboard: Dashboard, entered: Mapping[str, object]) -> ActionOutcome[BacktestJob]:
    """Queue a backtest. `entered`: fields of a request; empty ones are taken from the tick set."""
    asked = {name: value for name, value in entered.items() if value not in ("", None, {})}
    try:
        return perform(
            dashboard,
            ("backtest.ask", str(asked.get("tick_set", ""))),
            lambda caller: ask_backtest(dashboard, asked, caller, WHO),
            lambda _: "Queued. Backtests run one at a time, at lower priority than live trading.",
        )
    except BacktestInvalidError as invalid:
        return ActionOutcome(False, f"Not started. {words_of(invalid.errors, BACKTEST_FIELDS)}.")
    except TooManyWaitingError:
        return ActionOutcome(False, f"Not started: {MAX_WAITING} backtests are already queued.")


def end_backtest(dashboard: Dashboard, job_id: str) -> ActionOutcome[BacktestJob | None]:
    """Cancel a backtest, or remove a finished one."""
    try:
        return perform(
            dashboard,
            ("backtest.end", job_id),
            lambda caller: cancel_or_remove(dashboard, job_id, caller, WHO),
            _end_words,
        )
    except KeyError:
        return ActionOutcome(False, "It no longer exists.")


def _end_words(job: BacktestJob | None) -> str:
    if job is None:
        return "Removed, with its report."
    return "Cancelled." if job.state == "cancelled" else "It is being cancelled."


def fee_tiers_of(text: str) -> dict[str, str]:
    """Return the fee tiers in `exchange=volume:bps,volume:bps`, separated by spaces; the service rejects any other
    form."""
    parts = (word.partition("=") for word in text.split())
    return {exchange: tiers for exchange, _, tiers in parts}


def state_words(job: BacktestJob) -> str:
    """Return the backtest's state, as text."""
    if job.state == "running":
        return "cancelling" if job.is_cancel_asked else f"{job.stage or 'running'} {job.share:.0%}"
    return job.state if job.reason in (None, job.state) else f"{job.state}: {job.reason}"


def changes_words(job: BacktestJob) -> str:
    """Return the changes to the tick set's settings."""
    request = job.request
    words = [f"{setting_label(name)} {value}" for name, value in sorted(request.settings.items())]
    words += [] if request.fee_bps is None else [f"fees {text_of(request.fee_bps)} bps"]
    words += [f"fees of {exchange_name(exchange)} {tiers}" for exchange, tiers in sorted(request.fee_tiers.items())]
    words += [] if request.latency_ms is None else [f"latency {request.latency_ms:g} ms"]
    words += [f"{request.failed_percent:g} % failed orders"] if request.failed_percent else []
    words += [] if request.seed == 1 else [f"seed {request.seed}"]
    return ", ".join(words) or "no changes"


def job_titles(jobs: Sequence[BacktestJob], zone: tzinfo) -> dict[str, str]:
    """Return id → when it was requested, its tick set and its changes."""
    return {job.job_id: f"{moment(job.asked_at, zone)} · {job.request.tick_set} · {changes_words(job)}" for job in jobs}


def seconds_of(job: BacktestJob) -> Decimal | None:
    """Return the run time in seconds; None until it has ended."""
    if job.started_at is None or job.ended_at is None:
        return None
    return (decimal_of_whole(job.ended_at - job.started_at) / MICROSECONDS).quantize(Decimal("0.1"))
