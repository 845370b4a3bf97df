"""Trades on cycles, their legs and what was refused, as lines of tables."""

from collections.abc import Iterable
from datetime import tzinfo

from exchanges.labels import exchange_name
from market.decide.check_figures import FigureUnit
from market.instruments.cycles import Cycle
from market.money import decimal_of
from market.trade.cycle_trades import CycleTrade
from store.records.cycle_rejection import CycleRejection
from ui.page_parts.dom_tables import Cell, Line, numbers, words
from ui.page_parts.money_cells import Steps, money_cell
from ui.page_parts.page_times import moment_cell
from ui.page_parts.trade_lines import short_id
from ui.rows.arbitrage import CycleTradeRow
from wording.labels import ROLES, reason_name, state_name
from wording.number_format import UNKNOWN, bps, money

TRADE_HEADS = (
    *words("Reserved", "State"),
    *numbers("Net", "Legs"),
    *words("Cycle"),
    *numbers("Given", "Net spread (bps)", "Threshold (bps)", "Unwinding", "Fees"),
    *words("Id"),
)
PLAN_HEADS = (
    *words("Leg", "Exchange", "Symbol", "Side"),
    *numbers("Price seen", "Amount", "Gives", "Brings", "Dust"),
    *words("Sent"),
)
ORDER_HEADS = (
    *words("Order", "Exchange", "Symbol", "Side", "State"),
    *numbers("Amount", "Filled", "Limit", "Mean price", "Cost"),
    *words("Id"),
)
REJECTION_HEADS = (
    *words("Rejected", "Reason"),
    *numbers("Value", "Limit", "Times", "Net spread (bps)", "Legs"),
    *words("Cycle"),
)


def path_of(cycle: Cycle) -> Cell:
    """Return the currencies on the path, and where they are traded; the legs as the title."""
    return Cell(f"{_path(cycle)} · {', '.join(map(exchange_name, cycle.exchanges))}", exact=cycle.words)


def trade_line(one: CycleTrade, zone: tzinfo) -> Line:
    profit, reason = one.profit, "" if one.reason is None else reason_name(one.reason)
    return [
        moment_cell(one.times["reserved"], zone),
        Cell(state_name(one.state), "quiet" if reason else "", reason),
        UNKNOWN if profit is None else money_cell(profit.net, profit.currency),
        str(len(one.cycle.legs)),
        path_of(one.cycle),
        money_cell(one.notional, one.currency, is_toned=False),
        bps(one.net_bps),
        Cell(bps(one.threshold[0]), exact=one.threshold[1]),
        UNKNOWN if profit is None else money_cell(profit.unwinding, profit.currency),
        UNKNOWN if profit is None else money_cell(profit.fees, profit.currency, is_toned=False),
        short_id(one.trade_id),
    ]


def plan_lines(row: CycleTradeRow, steps: Steps) -> list[Line]:
    """Return what was planned, a line for each leg."""
    return [
        [
            str(number),
            exchange_name(leg["exchange"]),
            leg["symbol"],
            leg["side"],
            steps.price(leg["exchange"], leg["symbol"], leg["price"]),
            steps.amount(steps.base_of(leg["exchange"], leg["symbol"]), leg["amount"]),
            steps.sum(leg["gives_currency"], leg["gives"]),
            steps.sum(leg["brings_currency"], leg["brings"]),
            steps.sum(leg["brings_currency"], leg["dust"]),
            "after the leg before" if leg["waits"] else "at once",
        ]
        for number, leg in enumerate(row["legs"], 1)
    ]


def order_lines(row: CycleTradeRow, steps: Steps) -> list[Line]:
    """Return all orders, those that unwind among them."""
    return [
        [
            ROLES.get(order["role"], order["role"]).capitalize(),
            exchange_name(order["exchange"]),
            order["symbol"],
            order["side"],
            state_name(order["state"]),
            steps.amount(steps.base_of(order["exchange"], order["symbol"]), order["amount"]),
            steps.amount(steps.base_of(order["exchange"], order["symbol"]), order["filled"]),
            steps.price(order["exchange"], order["symbol"], order["limit_price"]),
            steps.price(order["exchange"], order["symbol"], order["mean_price"]),
            steps.sum(steps.quote_of(order["exchange"], order["symbol"]), order["cost"]),
            Cell(order["exchange_order_id"] or "–", "quiet", order["client_order_id"]),
        ]
        for order in row["orders"]
    ]


def rejection_lines(
    rejections: Iterable[CycleRejection], watched: Iterable[Cycle], currency: str, zone: tzinfo
) -> list[Line]:
    """`watched`: the session's cycles; `currency`: the settlement currency."""
    known = {cycle.cycle_id: cycle for cycle in watched}
    return [_rejection_line(one, known.get(one.cycle_id), currency, zone) for one in rejections]


def _rejection_line(one: CycleRejection, cycle: Cycle | None, currency: str, zone: tzinfo) -> Line:
    return [
        moment_cell(one.rejected_at, zone),
        reason_name(one.reason),
        _figure_text(one.value, one.unit, currency),
        _figure_text(one.limit, one.unit, currency),
        f"{one.count:,}",
        bps(one.net_bps),
        str(one.cycle_id.count(">") + 1),
        Cell(one.cycle_id) if cycle is None else path_of(cycle),
    ]


def _figure_text(figure: str | None, unit: FigureUnit, currency: str) -> str:
    if figure is None:
        return UNKNOWN
    if unit == "money":
        return money(decimal_of(figure), currency)
    return f"{bps(decimal_of(figure))} bps" if unit == "bps" else f"{figure} {unit}".strip()


def _path(cycle: Cycle) -> str:
    return " → ".join((cycle.currency, *(leg.brings for leg in cycle.legs)))
