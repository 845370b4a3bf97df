"""The lower part of the page Opportunities: episodes, filtered and paged, and the single opportunities of one; and
rejected cycles, in a session that watches any."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import get_args
from urllib.parse import quote

import streamlit

from exchanges.labels import exchange_name, pair_name
from market.decide.cycle_checks import CYCLE_REASONS
from market.decide.risk_checks import REASONS
from market.money import decimal_of
from market.prices.episodes import EXPIRED, EpisodeOutcome
from market.time_units import MICROSECONDS
from store.errors import CursorError, StoreError
from store.queries.episode_pages import EpisodeFilter
from store.queries.opportunity_outcomes import OutcomeName
from store.queries.opportunity_pages import OpportunityFilter
from store.records.cycle_rejection import CycleRejection
from store.server.page_reader import Page
from ui.page_parts.cycle_lines import REJECTION_HEADS, rejection_lines
from ui.page_parts.dom_tables import Cell, Line, numbers, table, words
from ui.page_parts.money_cells import Steps, money_cell, steps_of
from ui.page_parts.page_times import moment, moment_cell, shown_zone
from ui.page_parts.page_turning import Paging, paging
from ui.page_parts.trade_lines import ARBITRAGE_PAGE, short_id
from ui.panels.opportunities_figures import NO_STORE
from ui.rows.episode import EpisodeRow
from ui.rows.opportunity import Span, StoredOpportunityRow
from ui.services.dashboard import Dashboard
from ui.services.opportunity import episode_page, opportunity_page, span_start
from wording.labels import reason_name, state_name
from wording.number_format import UNKNOWN, bps, count_text, duration

REFRESH_SECONDS = 5.0
ROWS = 25
CHOSEN = "opportunities.chosen"
GONE = "That page no longer exists; the list starts again from the newest."
OUTCOME_NAMES: dict[OutcomeName, str] = {
    "taken": "Taken",
    "rejected": "Rejected",
    "expired": "Expired",
}
EPISODE_OUTCOMES: dict[EpisodeOutcome, str] = {
    "taken": "Taken",
    "rejected": "Rejected",
    "expired": "Expired",
    "undecided": "Undecided",
}
EPISODE_HEADS = (
    *words("Since", "Outcome"),
    *numbers("Seen", "Lasted", "Best (bps)", "Best profit"),
    *words("Base", "Buy", "Sell"),
)
HEADS = (
    *words("Seen", "Outcome"),
    *numbers("Realised", "Expected", "Net (bps)"),
    *words("Base", "Buy"),
    *numbers("Buy at"),
    *words("Sell"),
    *numbers("Sell at"),
    *words("Id"),
)


def render_list(dashboard: Dashboard, span: Span, base: str | None, exchange: str | None) -> None:
    """Draw the list as a fragment of its own: paging and filtering do not render the charts again."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard, span, base, exchange)


def _render(dashboard: Dashboard, span: Span, base: str | None, exchange: str | None) -> None:
    streamlit.subheader("Newest episodes", anchor=False)
    chosen = _filters(base, exchange)
    # a span moves on while the list is looked at
    place_in_list = paging("opportunities", f"{span} {chosen}")
    wanted = replace(chosen, alive_since=span_start(span))
    place = streamlit.container()
    zone = shown_zone()
    try:
        page = dashboard.answer(episode_page(dashboard, wanted, place_in_list.cursor, ROWS))
        place.html(table("Episodes, newest first", EPISODE_HEADS, episode_lines(page.items, zone), "No matches."))
        _render_paging(place_in_list, page)
        _choose(dashboard, page.items, zone)
    except CursorError:
        place_in_list.restart()
        place.info(GONE)
    except (StoreError, TimeoutError):
        place.warning(NO_STORE)


def _filters(base: str | None, exchange: str | None) -> EpisodeFilter:
    with streamlit.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        outcome = streamlit.selectbox(
            "Outcome",
            get_args(EpisodeOutcome),
            None,
            format_func=lambda one: EPISODE_OUTCOMES[one],
            key="opportunities.outcome",
            placeholder="Anything",
            width=210,
        )
        reason = streamlit.selectbox(
            "Reason",
            (*REASONS, EXPIRED),
            None,
            format_func=reason_name,
            key="opportunities.reason",
            placeholder="Any reason",
            width=210,
        )
        least = streamlit.number_input(
            "Minimum net bps", value=None, step=0.5, key="opportunities.least", placeholder="Any", width=150
        )
    return EpisodeFilter(base, exchange, min_net_bps=least, outcome=outcome, reason=reason)


def _render_paging(place_in_list: Paging, page: Page[EpisodeRow]) -> None:
    with streamlit.container(horizontal=True, vertical_alignment="center", gap="small"):
        place_in_list.render_buttons(page.next_cursor)
    streamlit.caption(
        f"Page {place_in_list.number}. One line is one episode: an uninterrupted run of opportunities of one pair of "
        "markets, however often it was seen. The reason is that of its best opportunity."
    )


def _choose(dashboard: Dashboard, episodes: Sequence[EpisodeRow], zone: tzinfo) -> None:
    """Draw the single opportunities of the chosen episode. Newer episodes push it off this page, but it must not vanish
    while the user looks at it."""
    looked_at: EpisodeRow | None = streamlit.session_state.get(CHOSEN)
    known = {_key(one): one for one in episodes}
    if looked_at is not None and _key(looked_at) not in known:
        known = {_key(looked_at): looked_at, **known}
    key = streamlit.selectbox(
        "Opportunities of one episode",
        list(known),
        None,
        format_func=lambda one: _title(known[one], zone),
        key=f"{CHOSEN}.key",
        placeholder="Choose one on this page",
        disabled=not known,
    )
    streamlit.session_state[CHOSEN] = None if key is None else known[key]
    if key is not None:
        _render_opportunities(dashboard, known[key], zone)


def _render_opportunities(dashboard: Dashboard, episode: EpisodeRow, zone: tzinfo) -> None:
    """Draw the opportunities of an episode. Raises StoreError, TimeoutError."""
    of_pair = OpportunityFilter(
        base=episode["base"],
        buy_exchange=episode["buy_exchange"],
        sell_exchange=episode["sell_exchange"],
        since=episode["start"],
        until=episode["end"] + 1,
    )
    found = dashboard.answer(opportunity_page(dashboard, of_pair, None, ROWS))
    lines = opportunity_lines(found.items, zone, steps_of(dashboard.session.markets))
    streamlit.html(table("Opportunities of the episode, newest first", HEADS, lines, "None of them was stored."))
    streamlit.caption(
        f"Seen {count_text(episode['seen'], 'time')}. Stored, and listed up to {ROWS}: all that were taken and, of "
        "those rejected, the first of each reason and second; none below the threshold."
    )


def episode_lines(rows: Sequence[EpisodeRow], zone: tzinfo) -> list[Line]:
    return [
        [
            moment_cell(row["start"], zone),
            episode_fate(row),
            f"{row['seen']:,}",
            duration((row["end"] - row["start"]) / MICROSECONDS),
            bps(row["best_net_bps"]),
            money_cell(decimal_of(row["best_profit"]), row["currency"], is_toned=False),
            row["base"],
            f"{exchange_name(row['buy_exchange'])} {row['buy_symbol']}",
            f"{exchange_name(row['sell_exchange'])} {row['sell_symbol']}",
        ]
        for row in rows
    ]


def episode_fate(row: EpisodeRow) -> Cell:
    """Return the outcome, as text."""
    name, reason = EPISODE_OUTCOMES[row["outcome"]], row["reason"]
    if row["outcome"] == "taken":
        return Cell(name, "good")
    return Cell(f"{name}: {reason_name(reason)}" if row["outcome"] == "rejected" and reason else name, "quiet")


def _key(row: EpisodeRow) -> str:
    sides = (row["buy_exchange"], row["buy_symbol"], row["sell_exchange"], row["sell_symbol"])
    return " ".join((str(row["start"]), row["base"], *sides))


def _title(row: EpisodeRow, zone: tzinfo) -> str:
    pair = pair_name(f"{row['buy_exchange']} → {row['sell_exchange']}")
    return f"{moment(row['start'], zone)} · {row['base']} {pair} · {episode_fate(row).text}"


def opportunity_lines(rows: Sequence[StoredOpportunityRow], zone: tzinfo, steps: Steps) -> list[Line]:
    return [_line(row, zone, steps) for row in rows]


def _line(row: StoredOpportunityRow, zone: tzinfo, steps: Steps) -> Line:
    currency, net = row["currency"], row["net_profit"]
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
        _id_cell(row),
    ]


def _id_cell(row: StoredOpportunityRow) -> Cell:
    """Return the id; of one that was taken with a link to the arbitrage's page."""
    identity = row["opportunity_id"]
    is_taken = row["outcome"] == "taken"
    return replace(short_id(identity), link=f"{ARBITRAGE_PAGE}{quote(identity, safe='')}" if is_taken else "")


def fate(row: StoredOpportunityRow) -> Cell:
    """Return the outcome, as text."""
    state, reason = row["arbitrage_state"], row["reason"]
    if row["outcome"] == "taken":
        why = f" ({reason_name(reason)})" if reason else ""
        return Cell(f"Taken: {state_name(state or '')}{why}", "good" if state == "closed" else "")
    if row["outcome"] == "rejected":
        return Cell(f"Rejected: {reason_name(str(reason))}", "quiet")
    details = f"{state_name(state)}: {reason_name(reason)}" if state and reason else ""
    return Cell(OUTCOME_NAMES[row["outcome"]], "quiet", details)


def render_cycle_rejections(dashboard: Dashboard, exchange: str | None) -> None:
    """Draw a fragment that refreshes by itself; nothing in a session without cycles."""
    if dashboard.session.cycles is not None:
        streamlit.subheader("Rejected cycles", anchor=False)
        streamlit.fragment(_render_rejections, run_every=REFRESH_SECONDS)(dashboard, exchange)


def _render_rejections(dashboard: Dashboard, exchange: str | None) -> None:
    reason = streamlit.selectbox(
        "Reason",
        CYCLE_REASONS,
        None,
        format_func=reason_name,
        key="cycle_rejections.reason",
        placeholder="Any reason",
        width=210,
    )
    place_in_list = paging("cycle_rejections", f"{exchange} {reason}")
    try:
        reading = dashboard.reader.cycle_rejections(reason, exchange, place_in_list.cursor, ROWS)
        page: Page[CycleRejection] = dashboard.answer(reading)
    except CursorError:
        place_in_list.restart()
        streamlit.info(GONE)
        return
    except (StoreError, TimeoutError):
        streamlit.warning(NO_STORE)
        return
    session = dashboard.session
    lines = rejection_lines(page.items, session.watched_cycles(), session.settlement_currency, shown_zone())
    streamlit.html(table("Rejected cycles, newest first", REJECTION_HEADS, lines, "No matches."))
    with streamlit.container(horizontal=True, gap="small"):
        place_in_list.render_buttons(page.next_cursor)
    streamlit.caption("One line is one cycle, reason and minute: its first rejection, and how many there were.")
