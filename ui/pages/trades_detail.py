"""One arbitrage whole: what it brought and why, both legs, their fills, and the time of every step."""

from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

import streamlit

from market.arbitrages import PROFIT_PARTS
from store.errors import StoreError
from ui.dashboard import Dashboard
from market.figures import money, tone
from ui.pages.dom_tables import Cell, Figure, Line, figures, numbers, table, words
from ui.pages.trades_charts import PART_NAMES
from ui.pages.trades_figures import NO_STORE
from ui.rows import ProfitRow
from ui.timeline import ArbitrageDetailRow, StepRow, arbitrage_detail_row

LEG_HEADS = (
    *words("Leg", "Exchange", "Symbol", "Side", "State"),
    *numbers("Amount", "Filled", "Limit", "Mean price", "Cost"),
    *words("Order"),
)
FILL_HEADS = (*words("Filled", "Leg", "Exchange"), *numbers("Price", "Amount", "Cost", "Fee"), *words("Fill"))
STEP_HEADS = (*words("Step", "Leg", "Exchange", "Clock"), *numbers("Time", "Since detected"))
DECISION_HEADS = (*words("Decision", "Time", "By"), *numbers("Token"), *words("Reason"))


def show_detail(dashboard: Dashboard, arbitrage_id: str, zone: tzinfo) -> None:
    try:
        found = dashboard.answer(dashboard.reader.arbitrage(arbitrage_id))
    except (StoreError, TimeoutError):
        streamlit.warning(NO_STORE)
        return
    if found is None:
        streamlit.info(f"There is no arbitrage {arbitrage_id}.")
        return
    row = arbitrage_detail_row(found)
    with streamlit.container(border=True):
        streamlit.markdown(f"**{row['base']}** · {_sides(row)} · `{row['arbitrage_id']}`")
        streamlit.html(figures(detail_figures(row)))
        streamlit.html(legs_table(row))
        streamlit.html(fills_table(row, zone))
        streamlit.html(steps_table(row, zone))
        streamlit.html(decisions_table(row, zone))


def detail_figures(row: ArbitrageDetailRow) -> list[Figure]:
    shown = [
        Figure("State", Cell(row["state"]), _stage_words(row)),
        Figure("Amount", Cell(row["amount"]), row["base"]),
    ]
    shown.append(Figure("Net seen", Cell(f"{row['net_bps']:+.2f} bps"), "when it was detected"))
    profit = row["profit"]
    return shown if profit is None else [*shown, *(_part_figure(profit, name) for name in PROFIT_PARTS)]


def _stage_words(row: ArbitrageDetailRow) -> str:
    """How far its legs have come, where that says more than the state, and why it came to it."""
    stage = "" if row["stage"] == row["state"] else row["stage"].replace("_", " ")
    return ", ".join(word for word in (stage, row["reason"]) if word)


def legs_table(row: ArbitrageDetailRow) -> str:
    """HTML."""
    rows: list[Line] = [
        [
            leg["role"],
            leg["exchange"],
            leg["symbol"],
            leg["side"],
            leg["state"],
            leg["amount"],
            leg["filled"],
            leg["limit_price"],
            leg["mean_price"] or "–",
            leg["cost"],
            Cell(leg["exchange_order_id"] or "–", "quiet", leg["client_order_id"]),
        ]
        for leg in row["legs"]
    ]
    return table("Legs", LEG_HEADS, rows, "It has no legs.")


def fills_table(row: ArbitrageDetailRow, zone: tzinfo) -> str:
    """HTML."""
    rows: list[Line] = [
        [
            exact_time(fill["filled_at"], zone),
            fill["role"],
            fill["exchange"],
            fill["price"],
            fill["amount"],
            fill["cost"],
            f"{fill['fee']} {fill['fee_currency']}",
            Cell(fill["fill_id"], "quiet"),
        ]
        for leg in row["legs"]
        for fill in leg["fills"]
    ]
    return table("Fills", FILL_HEADS, rows, "Nothing was filled.")


def steps_table(row: ArbitrageDetailRow, zone: tzinfo) -> str:
    """HTML: in the order in which things go; clocks of exchanges may be ahead or behind."""
    detected = next((step["at"] for step in row["timeline"] if step["step"] == "detected"), row["event_time"])
    rows = [
        [*_step_words(step), exact_time(step["at"], zone), _since(step["at"] - detected)] for step in row["timeline"]
    ]
    return table("Time of every step", STEP_HEADS, rows, "No step is known.")


def decisions_table(row: ArbitrageDetailRow, zone: tzinfo) -> str:
    """HTML."""
    rows = [
        [one["what"], exact_time(one["at"], zone), one["actor"], str(one["token"]), one["reason"] or ""]
        for one in row["history"]
    ]
    return table("Decisions", DECISION_HEADS, rows, "No decision was kept.")


def exact_time(microseconds: int, zone: tzinfo) -> str:
    """To the microsecond, without the date's year: a detail is of one moment."""
    time = (datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)).astimezone(zone)
    return f"{time:%m-%d %H:%M:%S.%f %Z}"


def _step_words(step: StepRow) -> list[str]:
    return [step["step"], step["role"] or "both", step["exchange"] or "–", step["clock"]]


def _since(microseconds: int) -> str:
    return f"{microseconds / 1_000:+,.3f} ms"


def _sides(row: ArbitrageDetailRow) -> str:
    return (
        f"buy {row['buy_symbol']} on {row['buy_exchange']} at {row['buy_price']}, "
        f"sell {row['sell_symbol']} on {row['sell_exchange']} at {row['sell_price']}"
    )


def _part_figure(profit: ProfitRow, name: str) -> Figure:
    told: dict[str, str] = {**profit}  # type: ignore[dict-item]  # all its values are text
    amount = Decimal(told[name])
    shade = tone(amount) if name == "net" else ""
    return Figure(
        PART_NAMES[name], Cell(money(amount, profit["currency"]), shade, f"{told[name]} {profit['currency']}")
    )
