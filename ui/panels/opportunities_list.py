"""The lower part of the page Opportunities: stored opportunities with their outcome, filtered and paged."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import get_args

import streamlit

from market.decide.risk_checks import CHECKS
from market.money import decimal_of
from session.labels import exchange_name, reason_name, state_name
from session.number_format import UNKNOWN, bps
from store.errors import CursorError, StoreError
from store.queries.opportunity_outcomes import OutcomeName
from store.queries.opportunity_pages import OpportunityFilter
from store.server.page_reader import Page
from ui.page_parts.dom_tables import Cell, Line, numbers, table, words
from ui.page_parts.money_cells import Steps, money_cell, steps_of
from ui.page_parts.page_times import moment_cell, shown_zone
from ui.page_parts.page_turning import Paging, paging
from ui.panels.opportunities_figures import NO_STORE
from ui.rows.opportunity_rows import StoredOpportunityRow
from ui.services.dashboard import Dashboard
from ui.services.opportunity_service import opportunity_page

REFRESH_SECONDS = 5.0
ROWS = 25
REASONS = tuple(check.reason for check in CHECKS)
OUTCOME_NAMES: dict[OutcomeName, str] = {
    "taken": "Taken",
    "rejected": "Rejected",
    "waiting": "Awaiting second leg",
    "expired": "Expired",
}
HEADS = (
    *words("Seen", "Outcome"),
    *numbers("Realised", "Expected", "Net (bps)"),
    *words("Base", "Buy"),
    *numbers("Buy at"),
    *words("Sell"),
    *numbers("Sell at"),
    *words("Id"),
)


def render_list(dashboard: Dashboard, base: str | None, exchange: str | None) -> None:
    """A fragment of its own: paging and filtering do not render the charts again."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard, base, exchange)


def _render(dashboard: Dashboard, base: str | None, exchange: str | None) -> None:
    streamlit.subheader("Newest", anchor=False)
    wanted = _filters(base, exchange)
    place_in_list = paging("opportunities", str(wanted))
    place = streamlit.container()
    try:
        page = dashboard.answer(opportunity_page(dashboard, wanted, place_in_list.cursor, ROWS))
    except CursorError:
        place_in_list.restart()
        place.info("That page no longer exists; the list starts again from the newest.")
        return
    except (StoreError, TimeoutError):
        place.warning(NO_STORE)
        return
    lines = opportunity_lines(page.items, shown_zone(), steps_of(dashboard.session.markets))
    place.html(table("Stored opportunities, newest first", HEADS, lines, _empty(page)))
    _render_paging(place_in_list, page)


def _filters(base: str | None, exchange: str | None) -> OpportunityFilter:
    with streamlit.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        outcome = streamlit.selectbox(
            "Outcome",
            get_args(OutcomeName),
            None,
            format_func=lambda one: OUTCOME_NAMES[one],
            key="opportunities.outcome",
            placeholder="Anything",
            width=210,
        )
        reason = streamlit.selectbox(
            "Rejection reason",
            REASONS,
            None,
            format_func=reason_name,
            key="opportunities.reason",
            placeholder="Any reason",
            width=210,
        )
        least = streamlit.number_input(
            "Minimum net bps", value=None, step=0.5, key="opportunities.least", placeholder="Any", width=150
        )
    return OpportunityFilter(base, exchange, min_net_bps=least, outcome=outcome, reason=reason)


def _render_paging(place_in_list: Paging, page: Page[StoredOpportunityRow]) -> None:
    with streamlit.container(horizontal=True, vertical_alignment="center", gap="small"):
        place_in_list.render_buttons(page.next_cursor)
    streamlit.caption(
        f"Page {place_in_list.number}. Stored: all that were taken and, of those rejected, the first of each pair, "
        "reason and second; those below the threshold are only counted."
    )


def _empty(page: Page[StoredOpportunityRow]) -> str:
    return "No matches." if page.next_cursor is None else "No matches on this page; try older ones."


def opportunity_lines(rows: Sequence[StoredOpportunityRow], zone: tzinfo, steps: Steps) -> list[Line]:
    return [_line(row, zone, steps) for row in rows]


def _line(row: StoredOpportunityRow, zone: tzinfo, steps: Steps) -> Line:
    currency, net = row["currency"], row["net_profit"]
    identity = row["opportunity_id"]
    expected = decimal_of(row["tradable_profit"])
    return [
        moment_cell(row["event_time"], zone),
        fate(row),
        UNKNOWN if net is None else money_cell(decimal_of(net), currency),
        money_cell(expected, currency, is_toned=False),
        bps(row["net_bps"]),
        row["base"],
        exchange_name(row["buy_exchange"]),
        steps.price(row["buy_exchange"], row["buy_symbol"], row["buy_price"]),
        exchange_name(row["sell_exchange"]),
        steps.price(row["sell_exchange"], row["sell_symbol"], row["sell_price"]),
        Cell(f"{identity[:10]}…" if len(identity) > 10 else identity, "quiet", identity),
    ]


def fate(row: StoredOpportunityRow) -> Cell:
    """The outcome, as text."""
    state, reason = row["arbitrage_state"], row["reason"]
    if row["outcome"] == "taken":
        why = f" ({reason_name(reason)})" if reason else ""
        return Cell(f"Taken: {state_name(state or '')}{why}", "good" if state == "closed" else "")
    if row["outcome"] == "rejected":
        return Cell(f"Rejected: {reason_name(str(reason))}", "quiet")
    details = f"{state_name(state)}: {reason_name(reason)}" if state and reason else ""
    return Cell(OUTCOME_NAMES[row["outcome"]], "quiet", details)
