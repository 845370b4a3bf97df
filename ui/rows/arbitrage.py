"""The rows of arbitrages, trades on cycles, fills, rejections, balances and P&L. Money as decimal strings, times in
microseconds UTC."""

from collections.abc import Mapping
from decimal import Decimal

from typing_extensions import TypedDict

from market.accounting.profit_groups import ProfitLine
from market.instruments.cycles import CycleLeg
from market.instruments.orders import Fill
from market.money import ZERO, text_of
from market.trade.arbitrages import FINAL_STATES, Arbitrage, ArbitrageOutcome, Leg, ProfitAndLoss
from market.trade.cycle_trades import CycleTrade
from market.trade.lifecycle import Stage, stage_of
from market.trade.reservation_state import BalanceRow
from ui.rows.attribute import row_from


class FillRow(TypedDict):
    """One execution; price, cost in the market's quote currency, fee as the exchange booked it."""

    arbitrage_id: str
    role: str
    fill_id: str
    exchange: str
    symbol: str
    side: str
    price: str
    amount: str
    cost: str
    fee: str
    fee_currency: str
    filled_at: int


class LegRow(TypedDict):
    """One order of an arbitrage; `mean_price` is None until something fills."""

    role: str
    exchange: str
    symbol: str
    side: str
    state: str
    amount: str
    filled: str
    limit_price: str
    mean_price: str | None
    cost: str
    client_order_id: str
    exchange_order_id: str | None
    fills: list[FillRow]
    times: dict[str, int]


class ProfitRow(TypedDict):
    """Parts that sum to `net`, in `currency`."""

    currency: str
    gross: str
    latency_decay: str
    slippage: str
    fees: str
    fx: str
    unwinding: str
    net: str


class FxRow(TypedDict):
    """An FX quote that the arbitrage is valued at; `inverted`: `symbol` is SETTLEMENT/CURRENCY."""

    currency: str
    symbol: str
    inverted: bool
    bid: str
    ask: str


class ArbitrageRow(TypedDict):
    """`outcome`: the state, or that it closed by a third order. `stage`: how far the legs of an open one have come.
    Prices are those seen.

    `times`: event, detected, reserved, sent, filled, ended – those that happened.
    """

    arbitrage_id: str
    base: str
    state: str
    outcome: ArbitrageOutcome
    stage: Stage
    is_final: bool
    reason: str | None
    amount: str
    buy_exchange: str
    buy_symbol: str
    buy_price: str
    sell_exchange: str
    sell_symbol: str
    sell_price: str
    fx: list[FxRow]
    net_bps: float
    expected_profit: float
    legs: list[LegRow]
    event_time: int
    times: dict[str, int]
    profit: ProfitRow | None


class RejectionRow(TypedDict):
    """`count`: rejections of the same pair, reason and second."""

    rejection_id: str
    opportunity_id: str
    base: str
    buy_exchange: str
    sell_exchange: str
    exchange: str
    reason: str
    net_bps: float
    expected_profit: str
    rejected_at: int
    count: int


class CycleRejectionRow(TypedDict):
    """The first rejection of a cycle for this reason in one minute, and their `count`. `value` was compared with
    `limit`, in `unit` (money: the settlement currency); null if the check has none."""

    rejection_id: str
    cycle_id: str
    exchanges: list[str]
    reason: str
    net_bps: float
    value: str | None
    limit: str | None
    unit: str
    rejected_at: int
    count: int


class ReasonRow(TypedDict):
    """Rejections for this reason: `count` opportunities, and `episodes` whose best opportunity was rejected for it.
    `missed_profit` in the settlement currency: tradable profit within the limits, once per episode."""

    reason: str
    count: int
    episodes: int
    missed_profit: str


class BalanceRowView(TypedDict):
    """`total` = free + held."""

    exchange: str
    currency: str
    free: str
    held: str
    total: str


class PnlRow(ProfitRow):
    """Sums over the session, and the number of arbitrages in each state."""

    arbitrages: dict[str, int]


class PnlLineRow(TypedDict):
    """Sums of one exchange, asset or day (`name`); an arbitrage counts at each of its exchanges."""

    name: str
    arbitrages: int
    currency: str
    gross: str
    latency_decay: str
    slippage: str
    fees: str
    fx: str
    unwinding: str
    net: str


def arbitrage_row(arbitrage: Arbitrage) -> ArbitrageRow:
    opportunity = arbitrage.opportunity
    buy, sell = opportunity.buy, opportunity.sell
    return row_from(
        ArbitrageRow,
        arbitrage,
        stage=stage_of(arbitrage),
        is_final=arbitrage.state in FINAL_STATES,
        buy_exchange=buy.exchange,
        buy_symbol=buy.symbol,
        buy_price=buy.price,
        sell_exchange=sell.exchange,
        sell_symbol=sell.symbol,
        sell_price=sell.price,
        fx=[row_from(FxRow, rate) for rate in opportunity.fx],
        net_bps=opportunity.net_bps,
        expected_profit=opportunity.expected_profit,
        legs=[leg_row(arbitrage.arbitrage_id, leg) for leg in arbitrage.legs],
        event_time=opportunity.event_time,
        profit=profit_row(arbitrage.profit) if arbitrage.profit else None,
    )


def fill_row(arbitrage_id: str, role: str, fill: Fill) -> FillRow:
    return row_from(FillRow, fill, arbitrage_id=arbitrage_id, role=role)


def reason_rows(
    rejections: Mapping[str, int], episodes: Mapping[str, int], missed_profit: Mapping[str, Decimal]
) -> list[ReasonRow]:
    """Return all reasons, the most frequent first, with those of episodes that merely expired."""
    reasons = rejections.keys() | episodes.keys()
    return [
        ReasonRow(
            reason=reason,
            count=rejections.get(reason, 0),
            episodes=episodes.get(reason, 0),
            missed_profit=text_of(missed_profit.get(reason, ZERO)),
        )
        for reason in sorted(reasons, key=lambda one: (-rejections.get(one, 0), one))
    ]


def balance_row(balance: BalanceRow) -> BalanceRowView:
    return row_from(BalanceRowView, balance, total=balance.free + balance.held)


def profit_row(profit: ProfitAndLoss) -> ProfitRow:
    return row_from(ProfitRow, profit)


def pnl_row(profit: ProfitAndLoss, arbitrages: Mapping[str, int]) -> PnlRow:
    """Return the row; `arbitrages`: state → number."""
    return row_from(PnlRow, profit, arbitrages=arbitrages)


def pnl_line_row(line: ProfitLine) -> PnlLineRow:
    return row_from(PnlLineRow, line.profit, name=line.name, arbitrages=line.arbitrages)


def leg_row(arbitrage_id: str, leg: Leg) -> LegRow:
    """Return an order of an arbitrage or of a trade on a cycle."""
    return row_from(
        LegRow,
        leg,
        fills=[fill_row(arbitrage_id, leg.role, fill) for fill in leg.fills],
    )


class PlannedLegRow(TypedDict):
    """One leg as it was planned: what it gives and brings at the prices seen, fees included. `dust`: what the next leg
    leaves of that. `waits`: whether it goes only once the leg before has filled."""

    exchange: str
    symbol: str
    side: str
    price: str
    amount: str
    gives: str
    gives_currency: str
    brings: str
    brings_currency: str
    dust: str
    waits: bool


class CycleTradeRow(TypedDict):
    """`legs`: what was planned; `orders`: what was sent or waits to be (state `reserved`), with what unwinds.
    `currency`: the settlement currency, of `notional` and `profit`. `threshold` in bps, and whose it is.

    `times`: event, reserved, ended - those that happened.
    """

    trade_id: str
    cycle_id: str
    state: str
    reason: str | None
    is_open: bool
    currency: str
    net_bps: float
    notional: str
    threshold: float
    threshold_of: str
    legs: list[PlannedLegRow]
    orders: list[LegRow]
    times: dict[str, int]
    profit: ProfitRow | None


def cycle_trade_row(trade: CycleTrade) -> CycleTradeRow:
    threshold, whose = trade.threshold
    return row_from(
        CycleTradeRow,
        trade,
        cycle_id=trade.cycle.cycle_id,
        threshold=threshold,
        threshold_of=whose,
        legs=[_planned_row(trade, number, leg) for number, leg in enumerate(trade.cycle.legs)],
        orders=[leg_row(trade.trade_id, order.leg) for order in trade.orders],
        times=dict(trade.times),
        profit=None if trade.profit is None else row_from(ProfitRow, trade.profit),
    )


def _planned_row(trade: CycleTrade, number: int, leg: CycleLeg) -> PlannedLegRow:
    order = trade.order(f"leg{number + 1}")
    return row_from(
        PlannedLegRow,
        trade.planned.legs[number],
        exchange=leg.market.exchange,
        symbol=leg.market.symbol,
        side=leg.side,
        price=trade.prices[number],
        gives_currency=leg.gives,
        brings_currency=leg.brings,
        waits=order is not None and order.waits,
    )
