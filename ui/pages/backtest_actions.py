"""What the page of backtests does: from its widgets to the service that REST uses, and back in words."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from market.backtests import BacktestJob, TickSetSummary
from market.clock import MICROSECONDS
from store.errors import StoreError
from ui.backtests import MOST_WAITING, BacktestInvalidError, TooManyWaitingError, ask_backtest, cancel_or_remove
from ui.dashboard import Dashboard
from ui.pages.settings_changes import Outcome
from ui.pages.signing_in import PAGE_ADDRESS

WHO = "dashboard"
NO_KEY = "Not done: the API key is missing or wrong."
NO_STORE = "Not done: MongoDB does not answer. Try again in a moment."


def known_tick_sets(dashboard: Dashboard) -> list[TickSetSummary]:
    """Raises StoreError, TimeoutError."""
    return dashboard.answer(dashboard.reader.backtests.tick_sets())


def known_jobs(dashboard: Dashboard) -> list[BacktestJob]:
    """Newest first. Raises StoreError, TimeoutError."""
    return dashboard.answer(dashboard.reader.backtests.jobs())


def start_backtest(dashboard: Dashboard, entered: Mapping[str, object], key: str) -> Outcome:
    """`entered`: fields of a request; those left empty stay as the tick set has them."""
    caller = dashboard.access.by_key(key, PAGE_ADDRESS)
    if caller is None or not caller.may_change:
        return Outcome(False, NO_KEY)
    asked = {name: value for name, value in entered.items() if value not in ("", None, {})}
    try:
        dashboard.answer(ask_backtest(dashboard, asked, caller, WHO))
    except BacktestInvalidError as invalid:
        return Outcome(False, f"Not started. {invalid}.")
    except TooManyWaitingError:
        return Outcome(False, f"Not started: {MOST_WAITING} wait already.")
    except (StoreError, TimeoutError):
        return Outcome(False, NO_STORE)
    return Outcome(True, "Queued. It runs behind live trading, one at a time.")


def end_backtest(dashboard: Dashboard, job_id: str, key: str) -> Outcome:
    """Cancel it, or remove it where it has ended."""
    caller = dashboard.access.by_key(key, PAGE_ADDRESS)
    if caller is None or not caller.may_change:
        return Outcome(False, NO_KEY)
    try:
        job = dashboard.answer(cancel_or_remove(dashboard, job_id, caller, WHO))
    except KeyError:
        return Outcome(False, "It is gone already.")
    except (StoreError, TimeoutError):
        return Outcome(False, NO_STORE)
    if job is None:
        return Outcome(True, "Removed.")
    return Outcome(True, "Cancelled." if job.state == "cancelled" else "It is being cancelled.")


def comparison_rows(jobs: Sequence[BacktestJob]) -> list[dict[str, object]]:
    """One row a backtest, newest first; what it has not come to yet is None."""
    return [_comparison_row(job) for job in jobs]


def state_words(job: BacktestJob) -> str:
    """For people: what it is doing, or how it ended."""
    if job.state == "running":
        return "cancelling" if job.is_cancel_asked else f"{job.stage or 'running'} {job.share:.0%}"
    return job.state if job.reason in (None, job.state) else f"{job.state}: {job.reason}"


def changes_words(job: BacktestJob) -> str:
    """What of the tick set's own settings was changed."""
    request = job.request
    words = [f"{name} {value}" for name, value in sorted(request.settings.items())]
    words += [] if request.fee_bps is None else [f"fees {request.fee_bps} bps"]
    words += [] if request.latency_ms is None else [f"latency {request.latency_ms:g} ms"]
    words += [] if request.seed == 1 else [f"seed {request.seed}"]
    return ", ".join(words) or "as it is"


def _comparison_row(job: BacktestJob) -> dict[str, object]:
    figures = job.figures
    return {
        "asked": datetime.fromtimestamp(job.asked_at / MICROSECONDS, UTC),
        "tick set": job.request.tick_set,
        "changed": changes_words(job),
        "state": state_words(job),
        "net": None if figures is None else _shown(figures.net),
        "trades": None if figures is None else figures.trades,
        "deepest fall": None if figures is None else _shown(figures.drawdown),
        "fees": None if figures is None else _shown(figures.fees),
        "opportunities": None if figures is None else figures.opportunities,
        "report": f"/api/backtests/{job.job_id}/report" if job.has_report else None,
    }


def _shown(amount: Decimal) -> float:
    """For a cell that sorts by number."""
    return round(float(amount), 2)
