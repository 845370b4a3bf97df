"""Threshold preview: a panel beside the settings, which it never touches."""

import streamlit

from market.money import decimal_of
from store.errors import StoreError
from ui.page_parts.dom_tables import Cell, Figure, figures, table
from ui.page_parts.page_frame import dashboard_or_reason
from ui.panels.opportunities_charts import preview_chart
from ui.panels.opportunities_figures import CHART_HEIGHT, LEDGER_HEADS, NO_STORE, ledger_lines
from ui.services.dashboard import Dashboard
from ui.services.threshold_preview import PreviewRow, TakenSumRow, threshold_preview
from wording.number_format import money, tone, worth

REFRESH_SECONDS = 10.0
HOURS = {1: "last hour", 6: "last 6 hours", 24: "last 24 hours"}


def render_preview() -> None:
    """Draw a fragment that refreshes by itself, or a reason if it cannot be rendered."""
    dashboard = dashboard_or_reason()
    if dashboard is not None:
        streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)


def _render(dashboard: Dashboard) -> None:
    streamlit.subheader("Threshold preview", anchor=False)
    settings = dashboard.hub.settings
    with streamlit.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        threshold = streamlit.number_input(
            "Threshold to try (bps net)",
            value=settings.min_net_bps if settings else 5.0,
            step=0.5,
            min_value=-1_000.0,
            max_value=10_000.0,
            key="preview.threshold",
            width=220,
        )
        hours = streamlit.selectbox(
            "In the", list(HOURS), format_func=HOURS.__getitem__, key="preview.hours", width=170
        )
    try:
        found = dashboard.answer(threshold_preview(dashboard, threshold, hours))
    except (StoreError, TimeoutError):
        streamlit.warning(NO_STORE)
        return
    streamlit.html(figures(preview_figures(found)))
    left, right = streamlit.columns([3, 2], gap="medium")
    with left:
        streamlit.echarts_chart(
            preview_chart(found["curve"], found["current_min_net_bps"], found["min_net_bps"]),
            height=CHART_HEIGHT,
            key="preview.curve",
            alt="How many would have passed, over thresholds in net basis points",
        )
    with right:
        rows = ledger_lines(found["still_rejected"], found["currency"])
        caption = "Would pass the threshold, but were rejected by another check"
        streamlit.html(table(caption, LEDGER_HEADS, rows, "No other check rejected any that would pass."))
        streamlit.caption(f"{caption}.")
    streamlit.caption(" ".join(found["limits"]))


def preview_figures(found: PreviewRow) -> list[Figure]:
    currency = found["currency"]
    episodes, gained = found["gained_episodes"], found["gained"]
    return [
        _taken_figure("Taken", found["taken"], currency),
        _taken_figure("Of these, would pass", found["kept"], currency),
        _taken_figure("Of these, would not", found["lost"], currency),
        Figure(
            "Gained (upper bound)",
            Cell(f"{episodes['count']:,}"),
            f"once per episode; expected {worth(decimal_of(episodes['expected']), currency)}",
        ),
        Figure("Sightings gained", Cell(f"{gained['count']:,}"), "one opportunity is seen many times"),
    ]


def _taken_figure(name: str, taken: TakenSumRow, currency: str) -> Figure:
    net = decimal_of(taken["net"])
    expected = worth(decimal_of(taken["expected"]), currency)
    return Figure(
        name, Cell(f"{taken['count']:,}", tone(net, currency)), f"expected {expected}, realised {money(net, currency)}"
    )
