"""Arbitrages and fills as lines of a table, each column with the name by which REST sorts it, and the sum of all."""

from collections.abc import Sequence
from datetime import tzinfo

from exchanges.labels import exchange_name, pair_name
from market.trade.arbitrages import Arbitrage, Leg, LegRole, third_orders
from store.queries.trade_history import BookedFill, TradeSums
from ui.page_parts.dom_tables import Cell, Line, numbers, sortable, text_of_cell, words
from ui.page_parts.money_cells import Steps, money_cell
from ui.page_parts.page_times import moment_cell
from wording.labels import ROLES, STRATEGIES, reason_name, state_name
from wording.number_format import UNKNOWN, bps, tone

ARBITRAGE_PAGE = "/arbitrage?id="
"""Followed by the id of an arbitrage: the address of its page."""

ARBITRAGE_HEADS = (
    *sortable(words("Reserved", "State"), "time", "state"),
    *sortable(numbers("Net", "Unwinding"), "net", "unwinding"),
    *sortable(words("Base", "Pair"), "base", "pair"),
    *sortable(numbers("Amount", "Bought", "Buy price"), "amount", "buy_amount", "buy_price"),
    *sortable(numbers("Sold", "Sell price"), "sell_amount", "sell_price"),
    *words("Third order"),
    *sortable(numbers("Net spread (bps)", "Fees"), "net_bps", "fees"),
    *sortable(words("Strategy", "Id"), "strategy", "arbitrage_id"),
)
FILL_HEADS = (
    *sortable(words("Filled", "Exchange", "Symbol", "Side", "Role"), "time", "exchange", "symbol", "side", ""),
    *sortable(numbers("Price", "Amount", "Cost", "Fee"), "price", "amount", "cost", "fee"),
    *sortable(words("State"), "state"),
    *sortable(numbers("Net of the arbitrage"), "net"),
    *sortable(words("Arbitrage"), "arbitrage_id"),
)


def arbitrage_line(one: Arbitrage, zone: tzinfo, steps: Steps) -> Line:
    profit = one.profit
    began = one.times.get("reserved", one.opportunity.event_time)
    return [
        moment_cell(began, zone),
        _state_cell(one),
        UNKNOWN if profit is None else money_cell(profit.net, profit.currency),
        UNKNOWN if profit is None else money_cell(profit.unwinding, profit.currency),
        one.base,
        pair_of(one),
        steps.amount(one.base, one.amount),
        *_leg_cells(one, "buy", steps),
        *_leg_cells(one, "sell", steps),
        ", ".join(_third_order(leg, steps) for leg in third_orders(one.legs)),
        bps(one.opportunity.net_bps),
        UNKNOWN if profit is None else money_cell(profit.fees, profit.currency, is_toned=False),
        STRATEGIES[one.strategy],
        short_id(one.arbitrage_id),
    ]


def sum_line(sums: TradeSums, currency: str) -> Line:
    """Return the last line of the arbitrages: of all that match the filters, on every page."""
    fees = money_cell(sums.fees, currency, is_toned=False)
    figures: dict[str, Cell | str] = {
        "time": f"All {sums.arbitrages:,}",
        "state": left_out(sums),
        "net": money_cell(sums.net, currency),
        "unwinding": money_cell(sums.unwinding, currency),
        "fees": fees,
    }
    return [figures.get(head.column, "") for head in ARBITRAGE_HEADS]


def left_out(sums: TradeSums) -> str:
    """Return which of them are in no sum, in words; empty if all are."""
    counts = ((sums.open, "open"), (sums.unvalued, "without a price"))
    parts = [f"{count:,} {words}" for count, words in counts if count]
    return f"without {' and '.join(parts)}" if parts else ""


def fill_line(one: BookedFill, currency: str, zone: tzinfo, steps: Steps) -> Line:
    fill = one.fill
    return [
        moment_cell(fill.filled_at, zone),
        exchange_name(fill.exchange),
        fill.symbol,
        Cell(fill.side, "good" if fill.side == "buy" else "bad"),
        ROLES.get(one.role, one.role),
        steps.price(fill.exchange, fill.symbol, fill.price),
        steps.amount(one.base, fill.amount),
        steps.sum(steps.quote_of(fill.exchange, fill.symbol), fill.cost),
        steps.sum(fill.fee_currency, fill.fee),
        state_name(one.outcome),
        UNKNOWN if one.net is None else money_cell(one.net, currency),
        short_id(one.arbitrage_id),
    ]


def pair_of(one: Arbitrage) -> str:
    """Return its pair of exchanges, buy → sell."""
    buy, sell = one.opportunity.buy.exchange, one.opportunity.sell.exchange
    return exchange_name(buy) if buy == sell else pair_name(f"{buy} → {sell}")


def short_id(identity: str) -> Cell:
    return Cell(identity if len(identity) <= 10 else f"{identity[:10]}…", "quiet", identity)


def _state_cell(one: Arbitrage) -> Cell:
    profit, reason = one.profit, "" if one.reason is None else reason_name(one.reason)
    if profit is not None and third_orders(one.legs):
        # what unwinding cost stands out, though the arbitrage closed
        return Cell(state_name(one.outcome), tone(profit.unwinding, profit.currency), reason)
    return Cell(state_name(one.outcome), "quiet" if reason else "", reason)


def _leg_cells(one: Arbitrage, role: LegRole, steps: Steps) -> Sequence[Cell | str]:
    """Return what the leg filled, and at which mean price."""
    leg = one.leg(role)
    if leg is None or not leg.fills:
        return UNKNOWN, UNKNOWN
    return steps.amount(one.base, leg.filled), steps.price(leg.exchange, leg.symbol, leg.mean_price)


def _third_order(leg: Leg, steps: Steps) -> str:
    amount, price = steps.amount(leg.base, leg.filled), steps.price(leg.exchange, leg.symbol, leg.mean_price)
    where = exchange_name(leg.exchange)
    return f"{ROLES[leg.role]}: {leg.side} {amount.text} at {text_of_cell(price)} on {where}"
