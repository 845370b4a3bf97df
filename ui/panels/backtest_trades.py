"""The trades of one backtest, paged, and all of them as a file."""

from collections.abc import Sequence
from datetime import tzinfo

import streamlit

from store.errors import StoreError
from store.records.backtest_requests import BacktestFigures, BacktestJob, BacktestTrade
from store.server.page_reader import Page
from ui.page_parts.dom_tables import Cell, Line, numbers, table, words
from ui.page_parts.money_cells import money_cell
from ui.page_parts.page_times import moment
from ui.page_parts.page_turning import paging
from ui.panels.backtest_actions import job_titles
from ui.services.backtest_trade_pages import trade_page
from ui.services.dashboard import Dashboard

SHOWN = 50
HEADS = (
    *numbers("No."),
    *words("Time", "Asset", "Bought on", "Sold on"),
    *numbers("Amount", "Net spread (bps)"),
    *words("End"),
    *numbers("Net"),
)


def render_trades(dashboard: Dashboard, jobs: Sequence[BacktestJob], zone: tzinfo) -> None:
    """Draw the trades. `jobs`: those that are done, newest first."""
    streamlit.subheader("Trades of a backtest", anchor=False)
    titles = job_titles(jobs, zone)
    with streamlit.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = streamlit.selectbox(
            "Backtest",
            list(titles),
            format_func=lambda one: titles.get(one, one),
            key="backtests.trades_of",
            width=460,
        )
        job = next((job for job in jobs if job.job_id == chosen), jobs[0])
        streamlit.link_button("All as CSV", f"/api/backtests/{job.job_id}/trades.csv", key="backtests.trades_csv")
        place = paging("backtests.trades", job.job_id)
        page = _page(dashboard, job, place.cursor)
        place.render_buttons(page.next_cursor)
    if job.figures is not None:
        streamlit.html(trades_table(page.items, job.figures, zone))


def trades_table(trades: Sequence[BacktestTrade], figures: BacktestFigures, zone: tzinfo) -> str:
    """Return HTML."""
    none = "Its trades were not stored." if figures.trades else "Nothing was traded."
    mark = ", from bars" if figures.is_of_bars else ""
    lines = [_line(one, figures.currency, zone) for one in trades]
    return table(f"Trades of the backtest, newest first{mark}", HEADS, lines, none)


def _page(dashboard: Dashboard, job: BacktestJob, cursor: str | None) -> Page[BacktestTrade]:
    try:
        return dashboard.answer(trade_page(dashboard.reader.backtests, job.job_id, cursor, SHOWN))
    except (StoreError, TimeoutError):
        streamlit.warning("MongoDB does not answer. Try again in a moment.")
        return Page((), None)


def _line(trade: BacktestTrade, currency: str, zone: tzinfo) -> Line:
    end = trade.state if trade.reason is None else f"{trade.state}: {trade.reason}"
    net = Cell("–")
    if trade.net is not None:
        net = money_cell(trade.net, currency)
    return [
        f"{trade.number:,}",
        moment(trade.event_time, zone),
        trade.base,
        trade.bought_on,
        trade.sold_on,
        f"{trade.amount:,.8f}",
        f"{trade.net_bps:z.2f}".replace("-", "−"),
        end.replace("_", " "),
        net,
    ]
