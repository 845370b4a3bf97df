"""Two runs side by side for REST and for the page: what they made, what differs in their settings, and trades that only
one of them has."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from exchanges.labels import exchange_name
from market.accounting.run_comparison import (
    SAME_WITHIN,
    RunFigures,
    RunTrade,
    differing_texts,
    equity_points,
    figures_of,
    matched,
)
from market.money import ZERO, decimal_of_whole, text_of
from ui.auth.question_turns import QuestionTurns
from ui.rows.attribute import row_from
from ui.rows.equity import equity_point_rows
from ui.runs.compared_runs import MOST_TRADES, SESSION, Run, run_of, session_within
from ui.runs.comparison_rows import (
    ComparedFigureRow,
    ComparedRunRow,
    ComparedTradeRow,
    ComparisonRow,
    DifferingSettingRow,
    TradePairRow,
)
from ui.services.dashboard import Dashboard
from ui.services.settings_fields import setting_label
from wording.labels import BACKTEST_FIELDS

SHOWN = 100
MOST_SECONDS = 30.0
EXPLAINED = 30
"""Trades of which the session is asked why it did not make them."""
AS_IT_WAS = "as it was"
"""Of the session: nobody set a latency, a share of failed orders or a seed."""
FIGURES = {
    "trades": "Trades",
    "net": "Net",
    "fees": "Fees",
    "won": "Won",
    "lost": "Lost",
    "mean": "Mean net of a trade",
    "best": "Best trade",
    "worst": "Worst trade",
    "drawdown": "Max drawdown",
}
"""Field of RunFigures → its name."""
COUNTS = ("trades", "won", "lost")


class Comparisons:
    """One at a time: each holds the trades of two runs."""

    def __init__(self) -> None:
        self._questions = QuestionTurns(MOST_SECONDS)

    async def row(self, dashboard: Dashboard, first_id: str, second_id: str) -> ComparisonRow:
        """Return the comparison. Raises NoRunError, QuestionsBusyError, StoreError."""
        async with self._questions.turn():
            return await _comparison_of(dashboard, first_id, second_id)


async def _comparison_of(dashboard: Dashboard, first_id: str, second_id: str) -> ComparisonRow:
    first, second = await run_of(dashboard, first_id), await run_of(dashboard, second_id)
    span = _common_span(first, second)
    first, second = [await _with_session(dashboard, one, span) for one in (first, second)]
    row = await asyncio.to_thread(compared, first, second, span)
    if dashboard.session.replay is None:
        # a replay rejects by another clock than it trades
        for run, alone in ((second, row["first_alone"]), (first, row["second_alone"])):
            if run.run_id == SESSION:
                await _say_why_not(dashboard, alone[:EXPLAINED])
    return row


async def _say_why_not(dashboard: Dashboard, trades: Sequence[ComparedTradeRow]) -> None:
    """Fill in why the session did not make them."""
    for one, reason in zip(trades, await asyncio.gather(*(_reason(dashboard, one) for one in trades)), strict=True):
        one["why_not"] = reason


async def _reason(dashboard: Dashboard, trade: ComparedTradeRow) -> str | None:
    exchanges = (trade["bought_on"].partition(" ")[0], trade["sold_on"].partition(" ")[0])
    around = (trade["event_time"] - SAME_WITHIN, trade["event_time"] + 2 * SAME_WITHIN)
    return await dashboard.reader.past_decisions.reason_between(trade["base"], *exchanges, *around)


async def _with_session(dashboard: Dashboard, run: Run, span: tuple[int, int] | None) -> Run:
    if run.run_id != SESSION:
        return run
    return await session_within(dashboard, run, *(span or (run.since, run.until)))


def _common_span(first: Run, second: Run) -> tuple[int, int] | None:
    since, until = max(first.since, second.since), min(first.until, second.until)
    return (since, until) if since < until else None


def compared(first: Run, second: Run, span: tuple[int, int] | None) -> ComparisonRow:
    """Return the comparison of two runs that have their trades; `span`: what both have ticks of. Pure."""
    if span is not None:
        first, second = first.within(*span), second.within(*span)
    found = matched(first.trades, second.trades)
    pairs = sorted(found.both, key=lambda pair: abs(_gained(pair) or ZERO), reverse=True)
    since, until = span or (None, None)
    return ComparisonRow(
        first=row_from(ComparedRunRow, first),
        second=row_from(ComparedRunRow, second),
        since=since,
        until=until,
        figures=figure_rows(first, second),
        settings=setting_rows(first, second),
        both=len(found.both),
        only_first=len(found.only_first),
        only_second=len(found.only_second),
        pairs=[_pair_row(pair) for pair in pairs[:SHOWN] if _gained(pair)],
        first_alone=_trade_rows(found.only_first[:SHOWN]),
        second_alone=_trade_rows(found.only_second[:SHOWN]),
        first_equity=equity_point_rows(equity_points(first.trades)),
        second_equity=equity_point_rows(equity_points(second.trades)),
        remarks=list(_remarks(first, second, span)),
    )


def figure_rows(first: Run, second: Run) -> list[ComparedFigureRow]:
    mine, theirs = figures_of(first.trades), figures_of(second.trades)
    is_one_currency = first.currency == second.currency
    return [_figure_row(name, mine, theirs, first.currency if is_one_currency else None) for name in FIGURES]


def setting_rows(first: Run, second: Run) -> list[DifferingSettingRow]:
    """Return the settings and parameters that differ, by name. Settings of which one run knows nothing are left out."""
    one, other = (
        {"tick_set": run.tick_set, **_parameters_of(run, beside)} for run, beside in ((first, second), (second, first))
    )
    if first.settings is not None and second.settings is not None:
        one, other = one | first.settings, other | second.settings
    differing = differing_texts(one, other).items()
    return [
        DifferingSettingRow(name=name, label=_label(name), first=pair[0], second=pair[1]) for name, pair in differing
    ]


def _parameters_of(run: Run, other: Run) -> Mapping[str, str]:
    return dict.fromkeys(other.parameters, AS_IT_WAS) if run.run_id == SESSION else run.parameters


def _figure_row(name: str, first: RunFigures, second: RunFigures, currency: str | None) -> ComparedFigureRow:
    one, other = (_value(run, name) for run in (first, second))
    is_count = name in COUNTS
    is_known = one is not None and other is not None and (is_count or currency is not None)
    return ComparedFigureRow(
        name=FIGURES[name],
        unit="" if is_count else currency or "",
        first=None if one is None else text_of(one),
        second=None if other is None else text_of(other),
        difference=text_of(other - one) if is_known and one is not None and other is not None else None,
    )


def _value(run: RunFigures, name: str) -> Decimal | None:
    """Return the figure; a drawdown is negative for people."""
    value: Decimal | int | None = getattr(run, name)
    exact = decimal_of_whole(value) if isinstance(value, int) else value
    return -exact if name == "drawdown" and exact is not None else exact


def _label(name: str) -> str:
    field, _, entry = name.partition(".")
    label = BACKTEST_FIELDS.get(field) or setting_label(field)
    return f"{label[:1].upper()}{label[1:]}{f': {exchange_name(entry)}' if entry else ''}"


def _gained(pair: tuple[RunTrade, RunTrade]) -> Decimal | None:
    """Return what the second run's trade made beyond the first's."""
    first, second = pair
    return None if first.net is None or second.net is None else second.net - first.net


def _pair_row(pair: tuple[RunTrade, RunTrade]) -> TradePairRow:
    gained = _gained(pair)
    (first, second), difference = _trade_rows(pair), None if gained is None else text_of(gained)
    return TradePairRow(first=first, second=second, difference=difference)


def _trade_rows(trades: Sequence[RunTrade]) -> list[ComparedTradeRow]:
    return [row_from(ComparedTradeRow, one, why_not=None) for one in trades]


def _remarks(first: Run, second: Run, span: tuple[int, int] | None) -> Iterable[str]:
    if span is None:
        yield "Their times do not overlap, so no trade can be in both: the figures of each are of all its trades."
    for name, run in (("A", first), ("B", second)):
        if run.is_cut:
            yield f"{name} has more than {MOST_TRADES:,} trades: the later ones are left out."
        if run.settings is None:
            yield f"The settings of {name} are not known: an earlier version ran it. Run it again to compare them."
        if run.is_of_bars:
            yield f"{name} is from bars: its fills are at the last price of a bar."
        if run.versions:
            times = "once" if run.versions == 1 else f"{run.versions} times"
            yield f"The settings of {name} changed {times} within this time; those at its end are compared."
    if first.currency != second.currency:
        yield f"A is in {first.currency}, B in {second.currency}: amounts of money have no difference."
