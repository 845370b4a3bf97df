"""The lower half of Trades & P&L: arbitrages or fills, filtered, sorted and paged, as files, and the details of one;
and trades on cycles with their legs, in a session that has any."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import Literal, get_args

import streamlit

from market.trade.arbitrages import Arbitrage, ArbitrageState
from market.trade.cycle_trades import CycleTrade
from session.session import Session
from store.errors import CursorError, StoreError
from store.queries.sorted_pages import Order
from store.queries.sorted_trades import ARBITRAGE_COLUMNS, FILL_COLUMNS
from store.queries.trade_history import CYCLE, BookedFill, TradeSums
from store.server.page_reader import Page
from ui.page_parts.cycle_lines import ORDER_HEADS, PLAN_HEADS, TRADE_HEADS, order_lines, path_of, plan_lines, trade_line
from ui.page_parts.dom_tables import Clicks, Head, Line, table
from ui.page_parts.market_choice import MarketChoice
from ui.page_parts.money_cells import steps_of
from ui.page_parts.page_times import moment, shown_zone
from ui.page_parts.page_turning import BY_TIME, BY_VALUE, Paging, paging
from ui.page_parts.table_sorting import TableSorting
from ui.page_parts.trade_choice import TradeChoice, choose_trades, file_address
from ui.page_parts.trade_lines import (
    ARBITRAGE_HEADS,
    ARBITRAGE_PAGE,
    FILL_HEADS,
    arbitrage_line,
    fill_line,
    pair_of,
    short_id,
    sum_line,
)
from ui.panels.trades_detail import render_detail
from ui.panels.trades_figures import NO_STORE
from ui.rows.arbitrage import cycle_trade_row
from ui.rows.region import exchange_regions
from ui.services.dashboard import Dashboard
from wording.labels import state_name
from wording.number_format import UNKNOWN

Kind = Literal["Arbitrages", "Fills"]
KIND = "trades.kind"
ROWS = 25
REFRESH_SECONDS = 5.0
CHOSEN = "trades.chosen"
CYCLE_CHOSEN = "cycles.chosen"
GONE = "That page no longer exists; the list starts again from the first."
FILES: dict[Kind, str] = {"Arbitrages": "arbitrages", "Fills": "trades"}
COLUMNS: dict[Kind, tuple[str, ...]] = {"Arbitrages": ARBITRAGE_COLUMNS, "Fills": FILL_COLUMNS}
LOCATION = Head("Location")
"""The last column in a session with regions: the regions of the bots that trade."""


def render_list(dashboard: Dashboard, market: MarketChoice) -> None:
    """Draw a fragment that refreshes by itself: paging and filtering do not render the charts again."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard, market)


def _render(dashboard: Dashboard, market: MarketChoice) -> None:
    zone = shown_zone()
    kind: Kind = (
        streamlit.segmented_control(
            "Show", get_args(Kind), default="Arbitrages", required=True, key=KIND, label_visibility="collapsed"
        )
        or "Arbitrages"
    )
    choice = choose_trades(market, zone)
    sorting = TableSorting(f"trades.{kind}", COLUMNS[kind], CHOSEN)
    place_in_list = paging("trades", f"{kind} {choice.name} {sorting.order}")
    place = streamlit.container()
    sorting.render()
    try:
        shown = _TradeTable(dashboard, choice, sorting, zone)
        if kind == "Fills":
            next_cursor = shown.draw_fills(place, place_in_list.cursor)
        else:
            next_cursor = shown.draw_arbitrages(place, place_in_list.cursor)
    except CursorError:
        place_in_list.restart()
        place.info(GONE)
        return
    except (StoreError, TimeoutError):
        place.warning(NO_STORE)
        return
    _render_paging(place_in_list, next_cursor, kind, choice, sorting)


class _TradeTable:
    """One page of the list, and the details of the trade that is open. Drawing raises StoreError, TimeoutError."""

    def __init__(self, dashboard: Dashboard, choice: TradeChoice, sorting: TableSorting, zone: tzinfo) -> None:
        self._dashboard = dashboard
        self._history = dashboard.reader.history
        self._steps = steps_of(dashboard.session.markets)
        self._currency = dashboard.session.settlement_currency
        self._choice = choice
        self._sorting = sorting
        self._order = None if sorting.is_by_time else Order.of(sorting.order)
        self._zone = zone

    def draw_arbitrages(self, place: "streamlit.delta_generator.DeltaGenerator", cursor: str | None) -> str | None:
        """Draw the page and return the cursor of the next."""
        reading = self._history.arbitrages(self._choice.wanted, cursor, ROWS, self._order)
        page: Page[Arbitrage] = self._dashboard.answer(reading)
        sums: TradeSums = self._dashboard.answer(self._history.sums(self._choice.wanted))
        lines = [arbitrage_line(one, self._zone, self._steps) for one in page.items]
        pairs: list[tuple[str, ...]] = [
            (one.opportunity.buy.exchange, one.opportunity.sell.exchange) for one in page.items
        ]
        heads, lines = with_locations(self._dashboard.session, ARBITRAGE_HEADS, lines, pairs)
        ids = [one.arbitrage_id for one in page.items]
        if lines:
            whole = sum_line(sums, self._currency)
            lines.append([*whole, *[""] * (len(heads) - len(whole))])
        clicks = Clicks(self._sorting.order, ids, ARBITRAGE_PAGE)
        caption = f"Arbitrages, {order_words(self._sorting, heads)}"
        place.html(table(caption, heads, lines, "No matches.", has_sum=bool(lines), clicks=clicks))
        self._choose({one.arbitrage_id: _title(one, self._zone) for one in page.items})
        return page.next_cursor

    def draw_fills(self, place: "streamlit.delta_generator.DeltaGenerator", cursor: str | None) -> str | None:
        """Draw the page and return the cursor of the next."""
        reading = self._history.fills(self._choice.wanted, cursor, ROWS, self._order)
        fills: Page[BookedFill] = self._dashboard.answer(reading)
        lines = [fill_line(one, self._currency, self._zone, self._steps) for one in fills.items]
        exchanges = [(one.fill.exchange,) for one in fills.items]
        heads, lines = with_locations(self._dashboard.session, FILL_HEADS, lines, exchanges)
        # a trade on a cycle has no page
        ids = ["" if one.strategy == CYCLE else one.arbitrage_id for one in fills.items]
        clicks = Clicks(self._sorting.order, ids, ARBITRAGE_PAGE)
        place.html(table(f"Fills, {order_words(self._sorting, heads)}", heads, lines, "No matches.", clicks=clicks))
        self._choose({one: one for one in ids if one})
        return fills.next_cursor

    def _choose(self, titles: dict[str, str]) -> None:
        ids = list(titles)
        asked = streamlit.query_params.get("arbitrage")
        # newer ones push the chosen one off this page, but it must not vanish
        looked_at: str | None = streamlit.session_state.get(CHOSEN)
        for kept in (asked, looked_at):
            ids = ids if kept is None or kept in ids else [kept, *ids]
        chosen = streamlit.selectbox(
            "Details of one arbitrage",
            ids,
            None if asked is None else ids.index(asked),
            format_func=lambda one: titles.get(one, one),
            key=CHOSEN,
            placeholder="Click a row, or choose one on this page",
            disabled=not ids,
        )
        if chosen is not None:
            render_detail(self._dashboard, chosen, self._zone)


def order_words(sorting: TableSorting, heads: Iterable[Head]) -> str:
    """Return the order as a table's name says it."""
    if sorting.is_by_time:
        return "newest first"
    order = Order.of(sorting.order)
    title = next((head.title for head in heads if head.column == order.column), order.column)
    return f"by {title.lower()}, {'largest' if order.is_descending else 'smallest'} first"


def _render_paging(
    place_in_list: Paging, next_cursor: str | None, kind: Kind, choice: TradeChoice, sorting: TableSorting
) -> None:
    with streamlit.container(horizontal=True, vertical_alignment="center", gap="small"):
        place_in_list.render_buttons(next_cursor, BY_TIME if sorting.is_by_time else BY_VALUE)
        words = order_words(sorting, ARBITRAGE_HEADS if kind == "Arbitrages" else FILL_HEADS)
        streamlit.caption(f"Page {place_in_list.number}, {ROWS} a page, {words}.")
        for suffix, name in (("csv", "CSV"), ("parquet", "Parquet")):
            streamlit.link_button(
                f"{kind} as {name}",
                file_address(FILES[kind], suffix, choice.wanted),
                help="All rows that match the filters, not only this page.",
                icon=":material/download:",
                key=f"trades.{suffix}",
            )


def with_locations(
    session: Session, heads: tuple[Head, ...], lines: Sequence[Line], exchanges: Iterable[Sequence[str]]
) -> tuple[tuple[Head, ...], list[Line]]:
    """Return heads and lines with the column `LOCATION`: the regions of the bots of each line's exchanges, buy → sell;
    only one name if both are the same. Without regions everything stays as it is."""
    if not session.place.regions:
        return heads, list(lines)
    regions = exchange_regions(session)
    places = (dict.fromkeys(regions.get(exchange, UNKNOWN) for exchange in pair) for pair in exchanges)
    return (*heads, LOCATION), [[*line, " → ".join(place)] for line, place in zip(lines, places, strict=True)]


def _title(one: Arbitrage, zone: tzinfo) -> str:
    began = moment(one.times.get("reserved", one.opportunity.event_time), zone)
    return f"{began} · {one.base} {pair_of(one)} · {state_name(one.outcome)} · {short_id(one.arbitrage_id).text}"


def render_cycle_trades(dashboard: Dashboard, exchange: str | None) -> None:
    """Draw a fragment that refreshes by itself; nothing in a session without cycles."""
    if dashboard.session.cycles is not None:
        streamlit.subheader("Cycles", anchor=False)
        streamlit.fragment(_render_cycles, run_every=REFRESH_SECONDS)(dashboard, exchange)


def _render_cycles(dashboard: Dashboard, exchange: str | None) -> None:
    states: list[ArbitrageState] = streamlit.multiselect(
        "State", get_args(ArbitrageState), format_func=state_name, key="cycles.states", placeholder="All", width=230
    )
    place_in_list = paging("cycles", f"{exchange} {states}")
    try:
        reading = dashboard.reader.cycle_trades(exchange, states, place_in_list.cursor, ROWS)
        page: Page[CycleTrade] = dashboard.answer(reading)
        lines = [trade_line(one, shown_zone()) for one in page.items]
        streamlit.html(table("Trades on cycles, newest first", TRADE_HEADS, lines, "No matches."))
        with streamlit.container(horizontal=True, gap="small"):
            place_in_list.render_buttons(page.next_cursor)
        _choose_cycle(dashboard, page.items)
    except CursorError:
        place_in_list.restart()
        streamlit.info(GONE)
    except (StoreError, TimeoutError):
        streamlit.warning(NO_STORE)


def _choose_cycle(dashboard: Dashboard, trades: tuple[CycleTrade, ...]) -> None:
    """Draw the legs of the chosen trade. Newer ones push it off this page, but it must not vanish."""
    looked_at: CycleTrade | None = streamlit.session_state.get(CYCLE_CHOSEN)
    known = {one.trade_id: one for one in trades}
    if looked_at is not None:
        known = {looked_at.trade_id: looked_at, **known}
    chosen = streamlit.selectbox(
        "Legs of one trade",
        list(known),
        None,
        format_func=lambda one: _cycle_title(known[one]),
        key=f"{CYCLE_CHOSEN}.id",
        placeholder="Choose one on this page",
        disabled=not known,
    )
    streamlit.session_state[CYCLE_CHOSEN] = None if chosen is None else known[chosen]
    if chosen is None:
        return
    row, steps = cycle_trade_row(known[chosen]), steps_of(dashboard.session.markets)
    streamlit.html(table("Legs as planned", PLAN_HEADS, plan_lines(row, steps), "No legs."))
    streamlit.html(table("Orders of the cycle", ORDER_HEADS, order_lines(row, steps), "No orders."))


def _cycle_title(one: CycleTrade) -> str:
    return f"{moment(one.times['reserved'], shown_zone())} · {path_of(one.cycle).text} · {state_name(one.state)}"
