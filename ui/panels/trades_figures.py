"""The upper half of Trades & P&L: figures, equity, P&L attribution and P&L by group."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Literal, get_args

import streamlit

from exchanges.labels import exchange_name, pair_name
from market.accounting.equity_curve import Equity, EquityDrawdown
from market.accounting.performance import (
    DEVIATION_DAYS,
    PACE_DAYS,
    DayResult,
    HourSum,
    SessionPerformance,
    by_hour,
    by_weekday,
    performance_of,
)
from market.accounting.profit_groups import GroupedBy, ProfitGroup, ProfitLine, added, profit_by, profit_from
from market.time_units import MICROSECONDS
from market.trade.arbitrages import PROFIT_PARTS, ProfitAndLoss
from store.aggregates.average_sums import AverageSum
from store.errors import StoreError
from store.queries.trade_history import TradeFilter
from ui.page_parts.dom_tables import Cell, Figure, Line, figures, numbers, table, text_of_cell, words
from ui.page_parts.money_cells import Steps, money_cell, steps_of
from ui.page_parts.page_times import moment, shown_zone
from ui.panels.trades_charts import bars_chart, equity_chart, lines_chart, split_chart
from ui.rows.fill import average_sum_rows
from ui.services.dashboard import Dashboard
from ui.services.trading_days import trading_days
from wording.labels import PROFIT_PARTS as PART_NAMES
from wording.labels import STRATEGIES
from wording.number_format import UNKNOWN, money, percent

REFRESH_SECONDS = 3.0
ProfitSpan = Literal["Session", "Today (UTC)"]
TimeSpan = Literal["Day", "Weekday", "Hour"]
MOST_DAYS = 90
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
BY = "trades.by"
WITH_THIRD_ORDER = TradeFilter(has_third_order=True)
NO_STORE = "MongoDB does not answer. Try again in a moment."
BY_NAMES: dict[GroupedBy, str] = {
    "exchange": "Exchange",
    "pair": "Pair",
    "asset": "Asset",
    "day": "Day",
    "strategy": "Strategy",
}
PART_HEADS = tuple(PART_NAMES[part] for part in PROFIT_PARTS)


@dataclass(frozen=True, slots=True)
class RealisedPnl:
    """The data of this half of the page, read together."""

    equity: Equity
    groups: tuple[ProfitGroup, ...]
    averages: tuple[AverageSum, ...]
    third_orders: int
    """Arbitrages with one."""
    hours: tuple[HourSum, ...]


def render_figures(dashboard: Dashboard) -> None:
    """Draw a fragment that refreshes by itself."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)


def _render(dashboard: Dashboard) -> None:
    currency, zone = dashboard.session.settlement_currency, shown_zone()
    try:
        realised = dashboard.answer(_read(dashboard, currency))
    except (StoreError, TimeoutError):
        streamlit.warning(NO_STORE)
        return
    unwinding = total_of(realised.groups, currency).unwinding
    shown = [
        *equity_figures(realised.equity, currency, zone),
        unwinding_figure(unwinding, realised.third_orders, currency),
    ]
    streamlit.html(figures(shown))
    streamlit.echarts_chart(
        equity_chart(realised.equity, currency, zone, dashboard.session.began_at),
        height=360,
        key="trades.equity",
        alt=f"Equity of the session in {currency}, and drawdown",
    )
    _render_split(realised.groups, currency, day_of(dashboard.session.clock().now()))
    _render_performance(realised, trading_days(dashboard.session, realised.groups), currency)
    if realised.averages:
        _render_averages(realised.averages, steps_of(dashboard.session.markets))


async def _read(dashboard: Dashboard, currency: str) -> RealisedPnl:
    reader = dashboard.reader
    return RealisedPnl(
        await reader.history.equity(currency),
        await reader.profit_groups(currency),
        await reader.history.average_sums(),
        (await reader.history.sums(WITH_THIRD_ORDER)).arbitrages,
        tuple(await reader.hour_sums(currency)),
    )


def equity_figures(equity: Equity, currency: str, zone: tzinfo) -> list[Figure]:
    traded = equity.wins + equity.losses + equity.even
    return [
        Figure("Net", money_cell(equity.net, currency), f"of {equity.endings:,} ended"),
        Figure("Win rate", Cell(percent(equity.win_share)), _wins_of(equity.wins, traded)),
        Figure("Largest win", money_cell(equity.largest_win, currency)),
        Figure("Largest loss", money_cell(equity.largest_loss, currency)),
        _fall_figure("Max drawdown", equity.deepest, currency, zone),
        _fall_figure("Current drawdown", equity.current, currency, zone),
    ]


def _wins_of(wins: int, traded: int) -> str:
    return f"{wins:,} of {traded:,} traded" if traded else "nothing traded yet"


def unwinding_figure(unwinding: Decimal, arbitrages: int, currency: str) -> Figure:
    """Return what third orders cost, which no state says: an arbitrage that one completed is closed as any other."""
    beside = f"{arbitrages:,} {'arbitrage' if arbitrages == 1 else 'arbitrages'} with a third order"
    return Figure("Unwinding", money_cell(unwinding, currency), beside)


def total_of(groups: tuple[ProfitGroup, ...], currency: str) -> ProfitAndLoss:
    """Return the sum of all groups: the session's realised P&L to the last digit."""
    whole = profit_from(currency, {})
    for group in groups:
        whole = added(whole, group.profit)
    return whole


def lines_table(lines: list[ProfitLine], whole: ProfitAndLoss, by: GroupedBy) -> str:
    """Return HTML: one row per line, and the sum."""
    rows: list[Line] = [[line.name, f"{line.arbitrages:,}", *_parts(line.profit)] for line in lines]
    rows.append(["All", "", *_parts(whole)])
    heads = (*words(BY_NAMES[by]), *numbers("Arbitrages", *PART_HEADS))
    return table(f"P&L by {by} in {whole.currency}", heads, rows if lines else [], EMPTY, has_sum=True)


EMPTY = "No arbitrage has ended yet: realised P&L is shown as soon as the first one closes."


def _render_split(all_groups: Sequence[ProfitGroup], currency: str, today: str) -> None:
    left, right = streamlit.columns(2, gap="medium")
    with left:
        streamlit.subheader("P&L attribution", anchor=False)
        span: ProfitSpan = (
            streamlit.segmented_control(
                "P&L of",
                get_args(ProfitSpan),
                default="Session",
                required=True,
                key="trades.of",
                label_visibility="collapsed",
            )
            or "Session"
        )
        groups = tuple(one for one in all_groups if span == "Session" or one.day == today)
        whole = total_of(groups, currency)
        streamlit.echarts_chart(
            split_chart(whole), height=216, key=f"trades.split.{span}", alt="Waterfall from theoretical gross to net"
        )
    with right:
        streamlit.subheader("P&L by", anchor=False)
        chosen = streamlit.segmented_control(
            "P&L by",
            get_args(GroupedBy),
            default="exchange",
            required=True,
            format_func=lambda by: BY_NAMES[by],
            key=BY,
            label_visibility="collapsed",
        )
        by: GroupedBy = chosen or "exchange"
        lines = [replace(line, name=_line_name(line.name, by)) for line in profit_by(groups, by)]
        streamlit.echarts_chart(
            lines_chart(lines, currency), height=216, key=f"trades.lines.{span}.{by}", alt=f"Net profit by {by}"
        )
    streamlit.html(lines_table(lines, whole, by))


def day_of(now: int) -> str:
    """Return its day, UTC, as groups have it."""
    return datetime.fromtimestamp(now // MICROSECONDS, UTC).strftime("%Y-%m-%d")


def _render_performance(realised: RealisedPnl, days: Sequence[DayResult], currency: str) -> None:
    streamlit.subheader("Performance", anchor=False)
    found = performance_of(realised.hours, days, realised.equity.deepest.depth)
    streamlit.html(figures(performance_figures(found, currency)))
    span: TimeSpan = (
        streamlit.segmented_control(
            "Net by", get_args(TimeSpan), default="Day", required=True, key="trades.span", label_visibility="collapsed"
        )
        or "Day"
    )
    bars = time_bars(span, realised.hours, days)
    streamlit.echarts_chart(
        bars_chart(bars, currency), height=216, key=f"trades.time.{span}", alt=f"Net profit by {span.lower()}, UTC"
    )
    streamlit.caption("[Compare this session with a backtest](/backtests?first=session)")


def time_bars(span: TimeSpan, hours: Sequence[HourSum], days: Sequence[DayResult]) -> list[tuple[str, Decimal]]:
    """Return (name, net) in their order, UTC; of days the newest."""
    if span == "Day":
        return [(one.day, one.net) for one in days[-MOST_DAYS:]]
    if span == "Hour":
        return [(f"{one.hour:02}", one.net) for one in by_hour(hours)]
    return [(WEEKDAYS[one.weekday - 1], one.net) for one in by_weekday(hours)]


def performance_figures(found: SessionPerformance, currency: str) -> list[Figure]:
    """Return the ratios; what too little is known for is a dash, with what it needs."""
    return [
        _ratio_figure("Sharpe", found.sharpe, found, DEVIATION_DAYS, "two days that differ"),
        _ratio_figure("Sortino", found.sortino, found, DEVIATION_DAYS, "a day that lost"),
        _ratio_figure("Calmar", found.calmar, found, PACE_DAYS, "a drawdown"),
        Figure("Profit factor", _ratio(found.profit_factor), "won / lost"),
        Figure("Expectancy", _money_or_dash(found.expectancy, currency), "of one that won or lost"),
        Figure("Average win", _money_or_dash(found.average_win, currency), f"{found.wins:,} won"),
        Figure("Average loss", _money_or_dash(found.average_loss, currency), f"{found.losses:,} lost"),
    ]


def _ratio_figure(name: str, value: float | None, found: SessionPerformance, days: int, need: str) -> Figure:
    """`days`: so many whole ones it needs, and then also `need`."""
    if value is not None:
        return Figure(name, _ratio(value), f"a year, of {_whole_days(found.whole_days)}")
    if found.whole_days < days:
        return Figure(name, Cell(UNKNOWN), f"needs {_whole_days(days)} (UTC), has {found.whole_days}")
    return Figure(name, Cell(UNKNOWN), f"needs {need}")


def _whole_days(count: int) -> str:
    return f"{count:,} whole {'day' if count == 1 else 'days'}"


def _ratio(value: float | None) -> Cell:
    return Cell(UNKNOWN if value is None else f"{value:,.2f}")


def _money_or_dash(amount: Decimal | None, currency: str) -> Cell:
    return Cell(UNKNOWN) if amount is None else money_cell(amount, currency)


def _render_averages(sums: tuple[AverageSum, ...], steps: Steps) -> None:
    streamlit.subheader("Moving average orders", anchor=False)
    streamlit.caption(
        "One-sided: the profit and loss above holds what they cost in fees and slippage; base that was bought and not "
        "sold keeps the value it has, which is in no profit."
    )
    rows: list[Line] = [
        [
            f"{exchange_name(row['exchange'])} {row['symbol']}",
            f"{row['fills']:,}",
            steps.amount(steps.base_of(row["exchange"], row["symbol"]), row["bought"]),
            steps.sum(steps.quote_of(row["exchange"], row["symbol"]), row["spent"]),
            steps.amount(steps.base_of(row["exchange"], row["symbol"]), row["sold"]),
            steps.sum(steps.quote_of(row["exchange"], row["symbol"]), row["received"]),
            steps.amount(steps.base_of(row["exchange"], row["symbol"]), row["left"]),
            steps.sum(steps.quote_of(row["exchange"], row["symbol"]), row["cash"]),
            ", ".join(text_of_cell(steps.sum(currency, fee)) for currency, fee in row["fees"].items()),
        ]
        for row in average_sum_rows(sums)
    ]
    heads = (
        *words("Market"),
        *numbers("Fills", "Bought", "Spent", "Sold", "Received", "Residual base", "Cash (quote)", "Fees"),
    )
    streamlit.html(table("Moving average orders by market", heads, rows, ""))


def _line_name(name: str, by: GroupedBy) -> str:
    if by == "strategy":
        return STRATEGIES.get(name, name)
    return pair_name(name) if by in ("exchange", "pair") else name


def _parts(profit: ProfitAndLoss) -> list[Cell]:
    return [money_cell(getattr(profit, part), profit.currency, is_toned=part == "net") for part in PROFIT_PARTS]


def _fall_figure(name: str, fall: EquityDrawdown, currency: str, zone: tzinfo) -> Figure:
    if not fall.depth:
        return Figure(name, Cell(money(fall.depth, currency)), "at the high-water mark")
    since = "since the opening" if fall.start is None else f"from {moment(fall.start, zone)}"
    return Figure(name, money_cell(-fall.depth, currency), since)
