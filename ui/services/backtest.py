"""Requests and views of backtests: one set of functions for REST and for the page."""

import logging
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from market.decide.settings import Settings
from market.money import BoundedDecimal, decimal_of
from store.ports.backtests import Backtests
from store.records.backtest_requests import BacktestJob, BacktestRequest, TickSetSummary
from ui.auth.callers import Caller
from ui.rows.field_problems import FieldProblem, field_problems, words_of
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard

log = logging.getLogger("ui")

MAX_WAITING = 20
LONGEST_VALUE = 100
"""Maximum length of a setting, as text: it is kept with the job and becomes a word of a command."""
TIERS = r"^\d{1,15}(\.\d{1,8})?:\d{1,3}(\.\d{1,8})?(,\d{1,15}(\.\d{1,8})?:\d{1,3}(\.\d{1,8})?)*$"
NOT_CHANGED = frozenset({"version", "taker_fees", "enabled_exchanges"})
"""Fields that the tick set decides; one fee for all exchanges is a field of its own."""
SAMPLE = Settings(enabled_exchanges=("one", "other"), taker_fees={"one": Decimal(0), "other": Decimal(0)})
"""Settings to check values against, before the tick set's own are known."""


class BacktestAsk(BaseModel):
    """The body of a request. `settings`: name → value, in place of the tick set's own."""

    model_config = ConfigDict(extra="forbid")

    tick_set: str = Field(min_length=1, max_length=200)
    settings: dict[str, str | int | float] = Field(default_factory=dict)
    fee_bps: Annotated[BoundedDecimal, Field(ge=0, le=1_000)] | None = None
    latency_ms: Annotated[float, Field(ge=0, le=60_000, allow_inf_nan=False)] | None = None
    seed: int = Field(default=1, ge=-(2**63) + 1, lt=2**63)
    cores: int = Field(default=1, ge=1, le=64)
    fee_tiers: dict[str, Annotated[str, Field(pattern=TIERS, max_length=LONGEST_VALUE)]] = Field(
        default_factory=dict, description="Exchange → fees by volume of 30 days, as `volume:bps,volume:bps`."
    )
    failed_percent: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = Field(
        default=0.0, description="Share of orders that exchanges reject, in percent."
    )


class BacktestInvalidError(Exception):
    """`errors`: which field is wrong and why."""

    def __init__(self, errors: list[FieldProblem]) -> None:
        super().__init__(words_of(errors))
        self.errors = errors


class TooManyWaitingError(Exception):
    """So many are queued that another would only wait longer."""


async def ask_backtest(
    dashboard: Dashboard, asked: Mapping[str, object], caller: Caller, on_behalf: str = ""
) -> BacktestJob:
    """Queue a backtest. `on_behalf`: the name to record. Raises BacktestInvalidError, TooManyWaitingError,
    StoreError."""
    job_id = uuid.uuid4().hex
    async with auditing(dashboard, caller, "backtest.ask", job_id, on_behalf) as note:
        note.after = asked
        return await _queued(dashboard.reader.backtests, job_id, asked, on_behalf or caller.name)


async def _queued(backtests: Backtests, job_id: str, asked: Mapping[str, object], who: str) -> BacktestJob:
    request = checked_request(asked)
    _check_against(request, {one.name: one for one in await backtests.tick_sets()})
    waiting = sum(job.state == "queued" for job in await backtests.jobs())
    if waiting >= MAX_WAITING:
        raise TooManyWaitingError
    job = await backtests.ask(job_id, request, who)
    log.info("backtest queued", extra={"job_id": job.job_id, "who": who, "tick_set": request.tick_set})
    return job


def _check_against(request: BacktestRequest, known: Mapping[str, TickSetSummary]) -> None:
    """Raise BacktestInvalidError if the request does not fit its tick set."""
    tick_set = known.get(request.tick_set)
    if tick_set is None:
        why = f"there is no such tick set; there is {', '.join(known)}" if known else "there is no tick set yet"
        raise BacktestInvalidError([FieldProblem(field="tick_set", why=why)])
    if tick_set.lacking is not None:
        raise BacktestInvalidError([FieldProblem(field="tick_set", why=tick_set.lacking)])
    strange = sorted(set(request.fee_tiers) - set(tick_set.exchanges))
    if strange:
        why = f"the tick set has {', '.join(tick_set.exchanges)}"
        raise BacktestInvalidError([FieldProblem(field=f"fee_tiers.{strange[0]}"[:LONGEST_VALUE], why=why)])


def checked_request(asked: Mapping[str, object]) -> BacktestRequest:
    """Return the request. Raises BacktestInvalidError."""
    try:
        ask = BacktestAsk.model_validate(asked)
        endless = sorted(name for name, value in ask.settings.items() if len(str(value)) > LONGEST_VALUE)
        if endless:
            why = f"is longer than {LONGEST_VALUE} characters"
            raise BacktestInvalidError([FieldProblem(field=f"settings.{endless[0]}"[:LONGEST_VALUE], why=why)])
        strange = sorted(set(ask.settings) & NOT_CHANGED)
        if strange:
            why = "belongs to the tick set and cannot be changed here"
            raise BacktestInvalidError([FieldProblem(field=f"settings.{strange[0]}", why=why)])
        _check_tiers(ask.fee_tiers)
        Settings.model_validate(SAMPLE.model_dump() | ask.settings)
    except ValidationError as error:
        raise BacktestInvalidError(field_problems(error.errors(), "request")) from None
    return BacktestRequest(
        tick_set=ask.tick_set,
        settings={name: str(value) for name, value in ask.settings.items()},
        fee_bps=ask.fee_bps,
        latency_ms=ask.latency_ms,
        seed=ask.seed,
        cores=ask.cores,
        fee_tiers=ask.fee_tiers,
        failed_percent=ask.failed_percent,
    )


async def cancel_or_remove(
    dashboard: Dashboard, job_id: str, caller: Caller, on_behalf: str = ""
) -> BacktestJob | None:
    """Return the job to be cancelled, or None if it had ended and is gone. Raises KeyError if there is none."""
    backtests = dashboard.reader.backtests
    async with auditing(dashboard, caller, "backtest.end", job_id, on_behalf) as note:
        if await backtests.remove(job_id):
            note.after = {"state": "removed"}
            return None
        job = await backtests.cancel(job_id)
        if job is None:
            raise KeyError(job_id)
        note.after = {"state": job.state, "is_cancel_asked": job.is_cancel_asked}
        return job


def _check_tiers(tiers: Mapping[str, str]) -> None:
    """Raise BacktestInvalidError for tiers that the command would reject."""
    for exchange, text in tiers.items():
        try:
            volumes = [decimal_of(step.partition(":")[0]) for step in text.split(",")]
        except ValueError as error:
            raise BacktestInvalidError([FieldProblem(field=f"fee_tiers.{exchange}", why=str(error))]) from None
        if len(set(volumes)) < len(volumes):
            raise BacktestInvalidError([FieldProblem(field=f"fee_tiers.{exchange}", why="names one volume twice")])
