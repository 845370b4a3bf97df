"""Details of one arbitrage: P&L attribution, legs, fills, timeline and decisions."""

from datetime import UTC, datetime, timedelta, tzinfo
from html import escape
from urllib.parse import quote

import streamlit

from exchanges.labels import exchange_name
from market.money import decimal_of
from market.trade.arbitrages import PROFIT_PARTS
from store.errors import StoreError
from ui.page_parts.dom_tables import Cell, Figure, Line, figures, numbers, table, text_of_cell, words
from ui.page_parts.money_cells import Steps, steps_of
from ui.page_parts.trade_lines import ARBITRAGE_PAGE
from ui.panels.trades_figures import NO_STORE
from ui.rows.arbitrage import ProfitRow
from ui.rows.arbitrage_timeline import ArbitrageDetailRow, StepRow, arbitrage_detail_row
from ui.services.dashboard import Dashboard
from wording.labels import PROFIT_PARTS as PART_NAMES
from wording.labels import ROLES, plain, reason_name, state_name
from wording.number_format import bps, money, signed, tone

LEG_HEADS = (
    *words("Leg", "Exchange", "Symbol", "Side", "State"),
    *numbers("Amount", "Filled", "Limit", "Mean price", "Cost"),
    *words("Order"),
)
FILL_HEADS = (*words("Filled", "Leg", "Exchange"), *numbers("Price", "Amount", "Cost", "Fee"), *words("Fill"))
STEP_HEADS = (*words("Step", "Leg", "Exchange", "Clock"), *numbers("Time", "Since detected"))
DECISION_HEADS = (*words("Decision", "Time", "By"), *numbers("Token"), *words("Reason"))


MICROSECOND = decimal_of("0.001")
"""In milliseconds."""


def render_detail(dashboard: Dashboard, arbitrage_id: str, zone: tzinfo) -> None:
    try:
        found = dashboard.answer(dashboard.reader.arbitrage(arbitrage_id))
    except (StoreError, TimeoutError):
        streamlit.warning(NO_STORE)
        return
    if found is None:
        streamlit.info(f"There is no arbitrage {arbitrage_id}.")
        return
    row, steps = arbitrage_detail_row(found), steps_of(dashboard.session.markets)
    with streamlit.container(border=True):
        streamlit.html(opened_heading(row["arbitrage_id"]))
        streamlit.markdown(f"**{row['base']}** · {_sides(row, steps)}")
        streamlit.html(figures(detail_figures(row, steps)))
        streamlit.html(legs_table(row, steps))
        streamlit.html(fills_table(row, zone, steps))
        streamlit.html(steps_table(row, zone))
        streamlit.html(decisions_table(row, zone))


def opened_heading(arbitrage_id: str) -> str:
    """Return HTML; the page scrolls here after a click on the arbitrage's row."""
    name = escape(arbitrage_id, quote=True)
    # focused by the script alone, which says it to a screen reader
    below_the_head = "scroll-margin-top: calc(var(--navigation) + var(--head, 3.5rem) + 8px)"
    look = f"font-size: 1rem; padding: 0; outline: none; {below_the_head}"
    page = f"{ARBITRAGE_PAGE}{quote(arbitrage_id, safe='')}"
    link = f'<a href="{escape(page, quote=True)}" target="_self" style="color: inherit">its own page</a>'
    return f'<h4 data-opened="{name}" tabindex="-1" style="{look}">Arbitrage {name}</h4><p>{link}</p>'


def detail_figures(row: ArbitrageDetailRow, steps: Steps) -> list[Figure]:
    shown = [
        Figure("State", Cell(state_name(row["outcome"])), _stage_words(row)),
        Figure("Amount", steps.amount(row["base"], row["amount"]), row["base"]),
    ]
    shown.append(Figure("Net spread", Cell(f"{bps(row['net_bps'])} bps"), "when detected"))
    profit = row["profit"]
    return shown if profit is None else [*shown, *(_part_figure(profit, name) for name in PROFIT_PARTS)]


def _stage_words(row: ArbitrageDetailRow) -> str:
    """Return the stage of its legs, if that says more than the state, and the reason."""
    stage = "" if row["stage"] == row["state"] else state_name(row["stage"])
    reason = "" if row["reason"] is None else reason_name(row["reason"])
    return ", ".join(word for word in (stage, reason) if word)


def legs_table(row: ArbitrageDetailRow, steps: Steps) -> str:
    """Return HTML."""
    rows: list[Line] = [
        [
            ROLES.get(leg["role"], leg["role"]),
            exchange_name(leg["exchange"]),
            leg["symbol"],
            leg["side"],
            state_name(leg["state"]),
            steps.amount(row["base"], leg["amount"]),
            steps.amount(row["base"], leg["filled"]),
            steps.price(leg["exchange"], leg["symbol"], leg["limit_price"]),
            steps.price(leg["exchange"], leg["symbol"], leg["mean_price"]),
            steps.sum(steps.quote_of(leg["exchange"], leg["symbol"]), leg["cost"]),
            Cell(leg["exchange_order_id"] or "–", "quiet", leg["client_order_id"]),
        ]
        for leg in row["legs"]
    ]
    return table("Legs", LEG_HEADS, rows, "No legs.")


def fills_table(row: ArbitrageDetailRow, zone: tzinfo, steps: Steps) -> str:
    """Return HTML."""
    rows: list[Line] = [
        [
            exact_time(fill["filled_at"], zone),
            ROLES.get(fill["role"], fill["role"]),
            exchange_name(fill["exchange"]),
            steps.price(fill["exchange"], fill["symbol"], fill["price"]),
            steps.amount(row["base"], fill["amount"]),
            steps.sum(steps.quote_of(fill["exchange"], fill["symbol"]), fill["cost"]),
            steps.sum(fill["fee_currency"], fill["fee"]),
            Cell(fill["fill_id"], "quiet"),
        ]
        for leg in row["legs"]
        for fill in leg["fills"]
    ]
    return table("Fills", FILL_HEADS, rows, "No fills.")


def steps_table(row: ArbitrageDetailRow, zone: tzinfo) -> str:
    """Return HTML, in logical order; clocks of exchanges may be ahead or behind."""
    detected = next((step["at"] for step in row["timeline"] if step["step"] == "detected"), row["event_time"])
    rows = [
        [*_step_words(step), exact_time(step["at"], zone), _since(step["at"] - detected)] for step in row["timeline"]
    ]
    return table("Timeline", STEP_HEADS, rows, "No steps are known.")


def decisions_table(row: ArbitrageDetailRow, zone: tzinfo) -> str:
    """Return HTML."""
    rows = [
        [
            plain(one["what"]),
            exact_time(one["at"], zone),
            one["actor"],
            str(one["token"]),
            "" if one["reason"] is None else reason_name(one["reason"]),
        ]
        for one in row["history"]
    ]
    return table("Decisions", DECISION_HEADS, rows, "No decisions were stored.")


def exact_time(microseconds: int, zone: tzinfo) -> str:
    """Return the time to the microsecond, without the year: a detail is of one moment."""
    time = (datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)).astimezone(zone)
    return f"{time:%m-%d %H:%M:%S.%f %Z}"


def _step_words(step: StepRow) -> list[str]:
    return [
        plain(step["step"]),
        ROLES.get(step["role"] or "", "both"),
        "–" if step["exchange"] is None else exchange_name(step["exchange"]),
        plain(step["clock"]),
    ]


def _since(microseconds: int) -> str:
    return f"{signed(decimal_of(microseconds) / 1_000, MICROSECOND)} ms"


def _sides(row: ArbitrageDetailRow, steps: Steps) -> str:
    bought = steps.price(row["buy_exchange"], row["buy_symbol"], row["buy_price"])
    sold = steps.price(row["sell_exchange"], row["sell_symbol"], row["sell_price"])
    # a sum in dollars must not begin a formula of Streamlit's Markdown
    return (
        f"buy {row['buy_symbol']} on {exchange_name(row['buy_exchange'])} at {text_of_cell(bought)}, "
        f"sell {row['sell_symbol']} on {exchange_name(row['sell_exchange'])} at {text_of_cell(sold)}"
    ).replace("$", "\\$")


def _part_figure(profit: ProfitRow, name: str) -> Figure:
    texts: dict[str, str] = {**profit}  # type: ignore[dict-item]  # all its values are text
    amount = decimal_of(texts[name])
    shade = tone(amount, profit["currency"]) if name == "net" else ""
    return Figure(
        PART_NAMES[name], Cell(money(amount, profit["currency"]), shade, f"{texts[name]} {profit['currency']}")
    )
