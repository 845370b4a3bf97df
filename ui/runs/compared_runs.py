"""Reading the runs of a comparison: a backtest or the session, its trades, settings and the time that it covers."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from market.accounting.run_comparison import RunTrade
from market.decide.settings_texts import number_text, settings_texts
from market.time_units import MICROSECONDS
from store.queries.trade_history import ArbitrageSummary, TradeFilter
from store.records.backtest_requests import BacktestJob, BacktestRequest, BacktestTrade
from ui.services.backtest_trade_pages import all_trades
from ui.services.dashboard import Dashboard

SESSION = "session"
"""The id of the running session among the runs."""
MOST_TRADES = 20_000
"""Of one run."""
READ_TOGETHER = 100
"""Trades of the session: the loop that serves the kill switch reads them."""
RESERVED_WITHIN = 60 * MICROSECONDS
"""A trade is reserved so soon after its detection, or it is too old to be traded."""
LATENCY = "50"
"""Milliseconds, if nothing else was asked for."""


class NoRunError(Exception):
    """There is no such run, or it is not done; why, in one sentence."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is compared. `since` ≤ time < `until`: what it has ticks of. `settings`: by name, and `parameters` beside
    them; None: not known."""

    run_id: str
    title: str
    tick_set: str
    since: int
    until: int
    currency: str
    settings: dict[str, str] | None
    parameters: dict[str, str]
    trades: tuple[RunTrade, ...] = ()
    is_of_bars: bool = False
    is_cut: bool = False
    versions: int = 0
    """Versions of the settings that began within."""

    def within(self, since: int, until: int) -> "Run":
        return replace(self, trades=tuple(one for one in self.trades if since <= one.event_time < until))


async def run_of(dashboard: Dashboard, run_id: str) -> Run:
    """Return a run with its trades. Raises NoRunError, StoreError."""
    if run_id == SESSION:
        return await _session(dashboard)
    job = await dashboard.reader.backtests.job(run_id)
    if job is None:
        raise NoRunError(f"There is no backtest {run_id[:40]!r}.")
    if job.figures is None:
        raise NoRunError(f"Backtest {run_id[:40]!r} has no results: it is {job.state}.")
    trades, is_cut = await _first(_of_backtest(dashboard, job))
    since, until = job.figures.since, job.figures.until
    if since is None or until is None:
        since, until = await _span_of(dashboard, job, trades)
    return Run(
        run_id=job.job_id,
        title=f"Backtest of {job.request.tick_set}",
        tick_set=job.request.tick_set,
        since=since,
        until=until,
        currency=job.figures.currency,
        settings=job.figures.settings or None,
        parameters=_parameters(job.request),
        trades=trades,
        is_of_bars=job.figures.is_of_bars,
        is_cut=is_cut,
    )


async def session_within(dashboard: Dashboard, run: Run, since: int, until: int) -> Run:
    """Return the session with the trades detected within, and the settings in force at the end of it. Raises
    StoreError."""
    is_replay = dashboard.session.replay is not None
    wanted = TradeFilter(strategy="arbitrage")
    if not is_replay:
        wanted = replace(wanted, since=since, until=until + RESERVED_WITHIN)
    trades, is_cut = await _first(_of_session(dashboard, wanted, since, until))
    settings, versions = run.settings, 0
    if not is_replay:
        version, versions = await dashboard.reader.settings_between(since, until)
        settings = settings if version is None else settings_texts(version.after)
    return replace(run, trades=trades, is_cut=is_cut, settings=settings, versions=versions)


async def _session(dashboard: Dashboard) -> Run:
    """Return it without its trades: which are wanted follows from the other run."""
    session, settings = dashboard.session, dashboard.hub.settings
    return Run(
        run_id=SESSION,
        title=f"Session {session.session_id}",
        tick_set=session.session_id,
        since=session.began_at or 0,
        until=session.clock().now(),
        currency=session.settlement_currency,
        settings=None if settings is None else settings_texts(settings),
        parameters={},
    )


async def _span_of(dashboard: Dashboard, job: BacktestJob, trades: tuple[RunTrade, ...]) -> tuple[int, int]:
    """Return the time of its tick set, for want of its own; of one that is gone, that of its trades."""
    known = {one.name: one for one in await dashboard.reader.backtests.tick_sets()}
    tick_set = known.get(job.request.tick_set)
    if tick_set is not None:
        return tick_set.start_time, tick_set.end_time + 1
    return (trades[0].event_time, trades[-1].event_time + 1) if trades else (0, 0)


async def _first(found: AsyncIterator[list[RunTrade]]) -> tuple[tuple[RunTrade, ...], bool]:
    """Return the first trades, and whether there are more."""
    trades: list[RunTrade] = []
    async for some in found:
        trades += some
        if len(trades) > MOST_TRADES:
            return tuple(trades[:MOST_TRADES]), True
    return tuple(trades), False


async def _of_backtest(dashboard: Dashboard, job: BacktestJob) -> AsyncIterator[list[RunTrade]]:
    async for some in all_trades(dashboard.reader.backtests, job.job_id):
        yield [_backtest_trade(one) for one in some]


async def _of_session(
    dashboard: Dashboard, wanted: TradeFilter, since: int, until: int
) -> AsyncIterator[list[RunTrade]]:
    async for some in dashboard.reader.history.all_arbitrages(wanted, READ_TOGETHER):
        yield [_session_trade(one) for one in some if since <= one.event_time < until and _is_filled(one)]


def _is_filled(one: ArbitrageSummary) -> bool:
    return any(leg.fills for leg in one.legs)


def _backtest_trade(one: BacktestTrade) -> RunTrade:
    return RunTrade(
        trade_id=str(one.number),
        event_time=one.event_time,
        base=one.base,
        bought_on=one.bought_on,
        sold_on=one.sold_on,
        amount=one.amount,
        state=one.state,
        net=one.net,
        fees=one.fees,
        ended_at=one.ended_at,
    )


def _session_trade(one: ArbitrageSummary) -> RunTrade:
    return RunTrade(
        trade_id=one.arbitrage_id,
        event_time=one.event_time,
        base=one.base,
        bought_on=f"{one.buy_exchange} {one.buy_symbol}",
        sold_on=f"{one.sell_exchange} {one.sell_symbol}",
        amount=one.amount,
        state=one.state,
        net=None if one.profit is None else one.profit.net,
        fees=None if one.profit is None else one.profit.fees,
        ended_at=one.times.get("ended"),
    )


def _parameters(request: BacktestRequest) -> dict[str, str]:
    """Return what a backtest has beside its settings, which its fee a side is one of."""
    latency = LATENCY if request.latency_ms is None else number_text(request.latency_ms)
    tiers = {f"fee_tiers.{exchange}": text for exchange, text in request.fee_tiers.items()}
    return {
        "latency_ms": latency,
        "failed_percent": number_text(request.failed_percent),
        "seed": str(request.seed),
        **tiers,
    }
