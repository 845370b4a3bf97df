"""Backtests side by side: parameters and figures with differences marked, and their equity in one chart."""

from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo
from typing import Any

import streamlit

from exchanges.labels import exchange_name
from market.money import text_of
from market.time_units import MICROSECONDS
from store.errors import StoreError
from store.records.backtest_requests import BacktestFigures, BacktestJob
from ui.page_parts.dom_tables import Cell, Head, Line, table, words
from ui.panels.backtest_actions import job_titles, known_job, seconds_of
from ui.panels.backtest_figures import money_words, ratio_words, share_words
from ui.services.dashboard import Dashboard
from ui.services.settings_fields import setting_label
from wording.number_format import money

CHOSEN = "backtests.compared"
AS_SET = "from the tick set"
HOUR_MICROSECONDS = 3_600 * MICROSECONDS
FIGURES: tuple[tuple[str, Callable[[BacktestFigures], str]], ...] = (
    ("Net", lambda one: money(one.net, one.currency)),
    ("Fees", lambda one: money(one.fees, one.currency)),
    ("Return on capital", lambda one: share_words(one.return_on_capital)),
    ("Max drawdown", lambda one: money(-one.drawdown, one.currency)),
    ("Sharpe", lambda one: ratio_words(one.sharpe)),
    ("Sortino", lambda one: ratio_words(one.sortino)),
    ("Turnover", lambda one: money_words(one.turnover, one.currency)),
    ("Marked-to-market gain", lambda one: money_words(one.marked_gain, one.currency)),
    ("Missed profit", lambda one: money_words(one.missed, one.currency)),
    ("Data", lambda one: "bars" if one.is_of_bars else "quotes"),
    ("Trades", lambda one: f"{one.trades:,}"),
    ("Opportunities", lambda one: f"{one.opportunities:,}"),
    ("Rejections", lambda one: f"{one.rejections:,}"),
    ("Quotes", lambda one: f"{one.quotes:,}"),
    ("Ledger", lambda one: "reconciled" if one.is_balanced else "NOT RECONCILED"),
)


def render_comparison(dashboard: Dashboard, jobs: Sequence[BacktestJob], zone: tzinfo) -> None:
    """Draw the comparison. `jobs`: those that are done, newest first."""
    streamlit.subheader("Several side by side", anchor=False)
    titles = job_titles(jobs, zone)
    chosen = streamlit.multiselect(
        "Backtests to compare",
        list(titles),
        list(titles)[:2],
        format_func=lambda one: titles.get(one, one),
        key=CHOSEN,
        max_selections=6,
        placeholder="Two or more",
    )
    if len(chosen) < 2:
        streamlit.caption("Choose two or more.")
        return
    try:
        found = [job for one in chosen if (job := known_job(dashboard, one)) is not None]
    except (StoreError, TimeoutError):
        streamlit.warning("MongoDB does not answer. Try again in a moment.")
        return
    streamlit.html(comparison_table(found))
    streamlit.echarts_chart(
        overlay_chart(found, zone), height=320, key="backtests.equity", alt="Equity of the backtests compared"
    )


def comparison_table(jobs: Sequence[BacktestJob]) -> str:
    """Return HTML: one column per backtest, lettered as in the chart; differences are marked, in words too."""
    rows = [*_parameters(jobs), *_figures(jobs)]
    lines: list[Line] = []
    for name, values in rows:
        differs = len(set(values)) > 1
        tone = "differs" if differs else ""
        lines.append([name, *(Cell(value, tone) for value in values), Cell("differs" if differs else "same", "quiet")])
    heads = (*words(""), *(Head(letter_of(place), is_number=True) for place in range(len(jobs))), *words("Difference"))
    return table("Parameters and figures of the backtests compared", heads, lines, "")


def overlay_chart(jobs: Sequence[BacktestJob], zone: tzinfo) -> dict[str, Any]:
    """Return the chart's options: by tick time if all ran on the same tick set, else by hours since the first tick of
    each."""
    is_of_one_set = len({job.request.tick_set for job in jobs}) == 1
    axis: dict[str, Any] = {"type": "time"} if is_of_one_set else {"type": "value", "name": "hours"}
    return {
        "useUTC": zone is UTC,
        "animation": False,
        "legend": {"top": 0, "left": "left"},
        "tooltip": {"trigger": "axis", "valueFormatter": "%,.2f"},
        "grid": {"left": 8, "right": 16, "top": 54, "bottom": 4, "containLabel": True},
        "xAxis": axis | {"axisLabel": {"hideOverlap": True}},
        "yAxis": {"type": "value", "scale": True, "name": _currency(jobs), "splitNumber": 4},
        "series": [
            {
                "name": letter_of(place),
                "type": "line",
                "step": "end",
                "showSymbol": False,
                "data": _points(job, is_of_one_set=is_of_one_set),
            }
            for place, job in enumerate(jobs)
        ],
    }


def letter_of(place: int) -> str:
    return chr(ord("A") + place)


def _points(job: BacktestJob, *, is_of_one_set: bool) -> list[list[float]]:
    points = () if job.figures is None else job.figures.equity
    if is_of_one_set:
        return [[point.at / 1_000, float(point.net)] for point in points]
    return [[(point.at - points[0].at) / HOUR_MICROSECONDS, float(point.net)] for point in points]


def _currency(jobs: Sequence[BacktestJob]) -> str:
    return ", ".join(sorted({job.figures.currency for job in jobs if job.figures is not None}))


def _parameters(jobs: Sequence[BacktestJob]) -> list[tuple[str, list[str]]]:
    """Return only the parameters that differ from a tick set."""
    requests = [job.request for job in jobs]
    rows = [("Tick set", [one.tick_set for one in requests])]
    for name in sorted({name for one in requests for name in one.settings}):
        rows.append((setting_label(name), [one.settings.get(name, AS_SET) for one in requests]))
    rows.append(("Fee per leg", [AS_SET if one.fee_bps is None else f"{text_of(one.fee_bps)} bps" for one in requests]))
    for exchange in sorted({name for one in requests for name in one.fee_tiers}):
        rows.append(
            (f"Fees of {exchange_name(exchange)} by volume", [one.fee_tiers.get(exchange, "none") for one in requests])
        )
    rows.append(("Latency", ["50 ms" if one.latency_ms is None else f"{one.latency_ms:g} ms" for one in requests]))
    rows.append(("Failed orders", [f"{one.failed_percent:g} %" for one in requests]))
    rows.append(("Seed", [str(one.seed) for one in requests]))
    return rows


def _figures(jobs: Sequence[BacktestJob]) -> list[tuple[str, list[str]]]:
    rows = [(name, ["–" if job.figures is None else text(job.figures) for job in jobs]) for name, text in FIGURES]
    return [*rows, ("Run time", ["–" if (took := seconds_of(job)) is None else f"{took} s" for job in jobs])]
