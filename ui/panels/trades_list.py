"""The lower half of Trades & P&L: arbitrages or fills, filtered and paged, as files, and the details of one."""

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Literal, get_args
from urllib.parse import urlencode

import streamlit

from exchanges.labels import exchange_name, pair_name
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, ArbitrageState, Strategy
from session.session import Session
from store.errors import CursorError, StoreError
from store.queries.trade_history import BookedFill, TradeFilter
from store.server.page_reader import Page
from ui.page_parts.dom_tables import Cell, Head, Line, numbers, table, words
from ui.page_parts.market_choice import MarketChoice
from ui.page_parts.money_cells import Steps, money_cell, steps_of
from ui.page_parts.page_times import moment, moment_cell, shown_zone, zone_word
from ui.page_parts.page_turning import Paging, paging
from ui.panels.trades_detail import render_detail
from ui.panels.trades_figures import NO_STORE
from ui.rows.region import exchange_regions
from ui.services.dashboard import Dashboard
from wording.labels import ROLES, STRATEGIES, reason_name, state_name
from wording.number_format import UNKNOWN, bps

Kind = Literal["Arbitrages", "Fills"]
KIND = "trades.kind"
ROWS = 25
REFRESH_SECONDS = 5.0
CHOSEN = "trades.chosen"
FILES: dict[Kind, str] = {"Arbitrages": "arbitrages", "Fills": "trades"}
ARBITRAGE_HEADS = (
    *words("Reserved", "State"),
    *numbers("Net"),
    *words("Base", "Pair"),
    *numbers("Amount", "Net spread (bps)", "Fees"),
    *words("Strategy", "Id"),
)
FILL_HEADS = (
    *words("Filled", "Exchange", "Symbol", "Side", "Role"),
    *numbers("Price", "Amount", "Cost", "Fee"),
    *words("State", "Arbitrage"),
)
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
    wanted = _filters(market, zone)
    place_in_list = paging("trades", f"{kind} {wanted}")
    place = streamlit.container()
    try:
        next_cursor = _render_page(dashboard, kind, wanted, place_in_list.cursor, zone, place)
    except CursorError:
        place_in_list.restart()
        place.info("That page no longer exists; the list starts again from the newest.")
        return
    except (StoreError, TimeoutError):
        place.warning(NO_STORE)
        return
    _render_paging(place_in_list, next_cursor, kind, wanted)


def _filters(market: MarketChoice, zone: tzinfo) -> TradeFilter:
    name = zone_word(zone)
    with streamlit.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        states = streamlit.multiselect(
            "State",
            get_args(ArbitrageState),
            format_func=state_name,
            key="trades.states",
            placeholder="All",
            width=230,
        )
        strategy = streamlit.selectbox(
            "Strategy",
            get_args(Strategy),
            None,
            format_func=lambda one: STRATEGIES[one],
            key="trades.strategy",
            placeholder="All",
            width=170,
        )
        since = streamlit.datetime_input(f"From ({name})", None, key="trades.from", step=60, width=190)
        until = streamlit.datetime_input(f"Until ({name})", None, key="trades.until", step=60, width=190)
    return TradeFilter(
        market.exchange,
        market.base,
        tuple(states),
        strategy,
        since=microseconds(since, zone),
        until=microseconds(until, zone),
    )


def microseconds(entered: datetime | None, zone: tzinfo) -> int | None:
    """Return the entered time, in `zone`, as microseconds UTC."""
    return None if entered is None else int(entered.replace(tzinfo=zone).timestamp()) * MICROSECONDS


def _render_page(
    dashboard: Dashboard,
    kind: Kind,
    wanted: TradeFilter,
    cursor: str | None,
    zone: tzinfo,
    place: "streamlit.delta_generator.DeltaGenerator",
) -> str | None:
    """Draw the page and return the cursor of the next. Raises StoreError, TimeoutError."""
    history = dashboard.reader.history
    if kind == "Fills":
        fills: Page[BookedFill] = dashboard.answer(history.fills(wanted, cursor, ROWS))
        lines = fill_lines(fills.items, zone, steps_of(dashboard.session.markets))
        exchanges = [(one.fill.exchange,) for one in fills.items]
        heads, lines = with_locations(dashboard.session, FILL_HEADS, lines, exchanges)
        place.html(table("Fills, newest first", heads, lines, "No matches."))
        _choose(dashboard, list(dict.fromkeys(one.arbitrage_id for one in fills.items)), {}, zone)
        return fills.next_cursor
    page: Page[Arbitrage] = dashboard.answer(history.arbitrages(wanted, cursor, ROWS))
    rows = arbitrage_lines(page.items, zone, steps_of(dashboard.session.markets))
    pairs = [(one.opportunity.buy.exchange, one.opportunity.sell.exchange) for one in page.items]
    heads, rows = with_locations(dashboard.session, ARBITRAGE_HEADS, rows, pairs)
    place.html(table("Arbitrages, newest first", heads, rows, "No matches."))
    titles = {one.arbitrage_id: _title(one, zone) for one in page.items}
    _choose(dashboard, list(titles), titles, zone)
    return page.next_cursor


def _choose(dashboard: Dashboard, ids: list[str], titles: dict[str, str], zone: tzinfo) -> None:
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
        placeholder="Choose one on this page",
        disabled=not ids,
    )
    if chosen is not None:
        render_detail(dashboard, chosen, zone)


def _render_paging(place_in_list: Paging, next_cursor: str | None, kind: Kind, wanted: TradeFilter) -> None:
    with streamlit.container(horizontal=True, vertical_alignment="center", gap="small"):
        place_in_list.render_buttons(next_cursor)
        streamlit.caption(f"Page {place_in_list.number}, {ROWS} a page, newest first.")
        for suffix, name in (("csv", "CSV"), ("parquet", "Parquet")):
            streamlit.link_button(
                f"{kind} as {name}",
                file_address(kind, suffix, wanted),
                help="All rows that match the filters, not only this page.",
                icon=":material/download:",
                key=f"trades.{suffix}",
            )


def file_address(kind: Kind, suffix: str, wanted: TradeFilter) -> str:
    """Return the address of the download with the same filters."""
    parameters = {
        "exchange": wanted.exchange,
        "base": wanted.base,
        "state": list(wanted.states),
        "strategy": wanted.strategy,
        "from": wanted.since,
        "to": wanted.until,
    }
    query = urlencode({name: value for name, value in parameters.items() if value not in (None, [])}, doseq=True)
    return f"/api/{FILES[kind]}.{suffix}{f'?{query}' if query else ''}"


def arbitrage_lines(arbitrages: Sequence[Arbitrage], zone: tzinfo, steps: Steps) -> list[Line]:
    return [_arbitrage_line(one, zone, steps) for one in arbitrages]


def fill_lines(fills: Sequence[BookedFill], zone: tzinfo, steps: Steps) -> list[Line]:
    return [
        [
            moment_cell(one.fill.filled_at, zone),
            exchange_name(one.fill.exchange),
            one.fill.symbol,
            Cell(one.fill.side, "good" if one.fill.side == "buy" else "bad"),
            ROLES[one.role],
            steps.price(one.fill.exchange, one.fill.symbol, one.fill.price),
            steps.amount(one.base, one.fill.amount),
            steps.sum(steps.quote_of(one.fill.exchange, one.fill.symbol), one.fill.cost),
            steps.sum(one.fill.fee_currency, one.fill.fee),
            state_name(one.state),
            _short(one.arbitrage_id),
        ]
        for one in fills
    ]


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


def _arbitrage_line(one: Arbitrage, zone: tzinfo, steps: Steps) -> Line:
    profit = one.profit
    began = one.times.get("reserved", one.opportunity.event_time)
    return [
        moment_cell(began, zone),
        Cell(state_name(one.state), "" if one.reason is None else "quiet", reason_name(one.reason or "")),
        UNKNOWN if profit is None else money_cell(profit.net, profit.currency),
        one.base,
        pair_of(one),
        steps.amount(one.base, one.amount),
        bps(one.opportunity.net_bps),
        UNKNOWN if profit is None else money_cell(profit.fees, profit.currency, is_toned=False),
        STRATEGIES[one.strategy],
        _short(one.arbitrage_id),
    ]


def pair_of(one: Arbitrage) -> str:
    """Return its pair of exchanges, buy → sell."""
    buy, sell = one.opportunity.buy.exchange, one.opportunity.sell.exchange
    return exchange_name(buy) if buy == sell else pair_name(f"{buy} → {sell}")


def _title(one: Arbitrage, zone: tzinfo) -> str:
    began = moment(one.times.get("reserved", one.opportunity.event_time), zone)
    return f"{began} · {one.base} {pair_of(one)} · {state_name(one.state)} · {_short(one.arbitrage_id).text}"


def _short(identity: str) -> Cell:
    return Cell(identity if len(identity) <= 10 else f"{identity[:10]}…", "quiet", identity)
