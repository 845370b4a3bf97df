"""The upper part of the page Opportunities: counts, spreads, rejection reasons and durations."""

from collections.abc import Sequence
from datetime import tzinfo

import streamlit

from exchanges.labels import exchange_name
from market.money import decimal_of, text_of, total
from store.errors import StoreError
from ui.page_parts.dom_tables import Cell, Figure, Line, figures, numbers, table, words
from ui.page_parts.money_cells import money_cell
from ui.page_parts.page_times import moment, shown_zone
from ui.panels.opportunities_charts import life_chart, spread_chart
from ui.rows.opportunity import LedgerRow, LifetimesRow, PairLifeRow, Span, StatisticsRow
from ui.services.dashboard import Dashboard
from ui.services.opportunity import opportunity_statistics
from wording.labels import reason_name
from wording.number_format import bps, count_text, duration, worth

REFRESH_SECONDS = 3.0
NO_STORE = "MongoDB does not answer. Try again in a moment."
SHOWN_PAIRS = 12
CHART_HEIGHT = 300
LEDGER_HEADS = (*words("First failed check"), *numbers("Episodes", "Seen", "Missed profit"))
LIFE_HEADS = (
    *words("Base", "Buy", "Sell"),
    *numbers("Episodes", "Seen once", "Median", "90 %", "Longest", "Max (bps)"),
)


def render_statistics(dashboard: Dashboard, span: Span, base: str | None, exchange: str | None) -> None:
    """Draw a fragment that refreshes by itself."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard, span, base, exchange)


def _render(dashboard: Dashboard, span: Span, base: str | None, exchange: str | None) -> None:
    try:
        found = dashboard.answer(opportunity_statistics(dashboard, span, base, exchange))
    except (StoreError, TimeoutError):
        streamlit.warning(NO_STORE)
        return
    zone = shown_zone()
    streamlit.html(figures(statistics_figures(found, zone)))
    left, right = streamlit.columns([3, 2], gap="medium")
    with left:
        streamlit.subheader("Net spread", anchor=False)
        streamlit.echarts_chart(
            spread_chart(found["histogram"], found["min_net_bps"]),
            height=CHART_HEIGHT,
            key="opportunities.spreads",
            alt="How many opportunities were seen, rejected and taken, by net basis points, with the threshold marked",
        )
        streamlit.caption(
            f"Single opportunities, since {moment(found['seen_since'], zone)}. Rejections that were counted together "
            "are shown at the spread of the first of their second."
        )
    with right:
        streamlit.subheader("Rejection reasons", anchor=False)
        rows = ledger_lines(found["ledger"], found["currency"])
        streamlit.html(
            table("Rejection reasons", LEDGER_HEADS, rows, "Nothing was rejected.", has_sum=len(found["ledger"]) > 1)
        )
        streamlit.caption(
            "An episode counts under the reason of its best opportunity; Seen counts every opportunity. Missed profit: "
            "the expected P&L of one trade within the limits at the best levels, once per episode; one that was traded "
            "is not missed."
        )
    _render_lifetimes(found["lifetimes"])


def _render_lifetimes(found: LifetimesRow) -> None:
    streamlit.subheader("Duration", anchor=False)
    left, right = streamlit.columns([1, 2], gap="medium")
    with left:
        streamlit.echarts_chart(
            life_chart(found["histogram"]),
            height=CHART_HEIGHT,
            key="opportunities.lifetimes",
            alt="Distribution of the durations of episodes",
        )
    with right:
        rows = life_lines(found["pairs"][:SHOWN_PAIRS])
        streamlit.html(table("Duration by pair", LIFE_HEADS, rows, "No episode has ended yet."))
        more = len(found["pairs"]) - SHOWN_PAIRS
        if more > 0:
            streamlit.caption(f"{count_text(more, 'more pair')}, in `/api/opportunities/statistics`.")
    streamlit.caption(found["definition"])


def statistics_figures(found: StatisticsRow, zone: tzinfo) -> list[Figure]:
    currency = found["currency"]
    net = decimal_of(found["taken_net"])
    life = found["lifetimes"]["all"]
    expected = worth(decimal_of(found["taken_expected"]), currency)
    profit = worth(decimal_of(found["rejected_expected"]), currency)
    ended = f"{life['runs']:,} ended, 90 % {_duration(life['p90_ms'])}"
    counts = found["episodes"]
    return [
        Figure("Episodes", Cell(f"{counts['seen']:,}"), f"seen {count_text(counts['sightings'], 'time')}"),
        Figure("Taken", Cell(f"{counts['taken']:,}"), f"expected {expected}"),
        Figure("Realised", money_cell(net, currency), "realised P&L of those taken"),
        Figure("Rejected", Cell(f"{counts['rejected']:,}"), f"missed {profit}"),
        Figure("Expired", Cell(f"{counts['expired']:,}"), f"{counts['undecided']:,} undecided"),
        Figure(
            "Duration (median)",
            Cell(_duration(life["p50_ms"])),
            ended,
        ),
    ]


def ledger_lines(ledger: Sequence[LedgerRow], currency: str) -> list[Line]:
    """Return one line per reason, and the sum of several."""

    def line(name: str, rows: Sequence[LedgerRow]) -> Line:
        missed = total(decimal_of(row["missed_profit"]) for row in rows)
        return [
            name,
            f"{sum(row['episodes'] for row in rows):,}",
            f"{sum(row['count'] for row in rows):,}",
            Cell(worth(missed, currency), exact=f"{text_of(missed)} {currency}"),
        ]

    lines = [line(reason_name(row["reason"]), [row]) for row in ledger]
    return [*lines, line("All", ledger)] if len(ledger) > 1 else lines


def life_lines(pairs: Sequence[PairLifeRow]) -> list[Line]:
    return [
        [
            row["base"],
            f"{exchange_name(row['buy_exchange'])} {row['buy_symbol']}",
            f"{exchange_name(row['sell_exchange'])} {row['sell_symbol']}",
            f"{row['runs']:,}",
            f"{row['once']:,}",
            _duration(row["p50_ms"]),
            _duration(row["p90_ms"]),
            _duration(row["longest_ms"]),
            bps(row["best_bps"]),
        ]
        for row in pairs
    ]


def _duration(milliseconds: float | None) -> str:
    return duration(None if milliseconds is None else milliseconds / 1_000)
