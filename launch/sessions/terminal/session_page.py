"""A session's report: one self-contained page without scripts, for who was not there."""

from collections.abc import Sequence
from html import escape

from backtest.report.charts import drawdown_chart, equity_chart, profit_chart
from backtest.report.figure_format import amount, moment, money
from backtest.report.markup import chart_grid, document, figure_cards, paragraph, section, table_markup
from backtest.report.tables import ReportTable, trade_tables
from backtest.result.trading_outcome import SimulatedEquityPoint
from exchanges.labels import exchange_name
from launch.sessions.summary import Activity, decisions_of, ledger_differences, percentiles
from launch.sessions.summary_lines import decision_name
from market.accounting.profit_groups import added, profit_of
from market.money import ZERO
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, ProfitAndLoss
from runtime.clock import wall_now
from session.session import Session
from wording.labels import PROFIT_PARTS, reason_name

WHAT_IT_IS = (
    "An opportunity is one asset that costs less on one exchange than another pays for it, by more than both fees and "
    "the exchange of currencies. Each was bought and sold at the same moment, a leg each. Most opportunities are "
    "rejected by a limit, and each rejection has its reason."
)
PAPER = (
    "Traded on paper: the exchanges are simulated on this machine, with their real protocols, fees, limits and order "
    "books. Profits on paper say little about profits with money."
)
RECONCILED = "Opening balances + fills − fees equal the closing balances, to the last digit, on every exchange."
NOT_RECONCILED = "Ledger not reconciled: do not trust these figures."
STAGES = {"opportunity": "found", "reserved": "reserved", "sent": "both orders sent", "filled": "both orders filled"}


def session_page(session: Session, activity: Activity, started: int) -> str:
    """Return HTML. `started`: when the session began, microseconds UTC."""
    profit = _profit(activity)
    sections = (
        _headline(session, activity, profit, started),
        paragraph(WHAT_IT_IS),
        paragraph(PAPER) if session.mode == "paper" else "",
        _pictures(activity.arbitrages, profit),
        section("P&L attribution", table_markup(_profit_table(profit))),
        section("What became of the opportunities", table_markup(_decision_table(activity), "None were seen.")),
        section("Rejection reasons", table_markup(_reason_table(activity), "No rejections.")),
        section("Speed", table_markup(_latency_table(activity), "Not measured.")),
        section("Trades", *map(table_markup, trade_tables(activity.arbitrages))),
        section("Balances", table_markup(_balance_table(activity), "Unknown.")),
    )
    return document(f"Session {session.session_id}", sections)


def _profit(activity: Activity) -> ProfitAndLoss:
    profit = profit_of(activity.arbitrages, activity.currency)
    removed = activity.removed.profits.get(activity.currency)
    return profit if removed is None else added(profit, removed)


def _headline(session: Session, activity: Activity, profit: ProfitAndLoss, started: int) -> str:
    traded = [one for one in activity.arbitrages if one.is_filled]
    shown = (
        (money(profit.net), f"net, {activity.currency}", "bad" if profit.net < 0 else "good"),
        (f"{len(traded):,}", "trades", ""),
        (f"{activity.opportunities:,}", "opportunities", ""),
        (f"{sum(activity.rejections.values()):,}", "rejections", ""),
        (f"{sum(activity.quotes.values()):,}", "quotes", ""),
        (f"{len(activity.quotes):,}", "exchanges", ""),
    )
    ended = wall_now()
    span = f"{moment(started)} to {moment(ended)} UTC, {(ended - started) // MICROSECONDS:,} s"
    market = f", market {session.simulated.market.name}" if session.mode == "paper" else ""
    verdict = f'<p class="good">{RECONCILED}</p>' if _reconciles(activity) else f'<p class="alarm">{NOT_RECONCILED}</p>'
    return (
        f"<h1>Session {escape(session.session_id[:8])}</h1>"
        f'<p class="faint">{span}{escape(market)}</p>{figure_cards(shown)}{verdict}'
    )


def _reconciles(activity: Activity) -> bool:
    before, after = activity.before, activity.after
    return bool(before) and before.keys() == after.keys() and not ledger_differences(activity)


def _pictures(arbitrages: Sequence[Arbitrage], profit: ProfitAndLoss) -> str:
    equity, net = [], ZERO
    for one in sorted(arbitrages, key=lambda one: one.times.get("ended", 0)):
        if one.profit is not None and "ended" in one.times:
            net += one.profit.net
            equity.append(SimulatedEquityPoint(one.times["ended"], net))
    return chart_grid(
        (
            ("Equity", equity_chart(equity, profit.currency)),
            ("Drawdown", drawdown_chart(equity, profit.currency)),
            ("P&amp;L attribution", profit_chart(profit)),
        )
    )


def _profit_table(profit: ProfitAndLoss) -> ReportTable:
    rows = tuple((PROFIT_PARTS[part], money(sum_)) for part, sum_ in profit.parts.items())
    return ReportTable(("part", profit.currency), rows, frozenset({1}), has_sum=True)


def _decision_table(activity: Activity) -> ReportTable:
    counts = decisions_of(activity)
    rows = tuple((decision_name(name), f"{count:,}") for name, count in counts.items() if count)
    return ReportTable(("outcome", "opportunities"), rows, frozenset({1}))


def _reason_table(activity: Activity) -> ReportTable:
    ordered = sorted(activity.rejections.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple(
        (reason_name(reason), f"{count:,}", money(activity.rejected_profit.get(reason, ZERO)))
        for reason, count in ordered
    )
    return ReportTable(("reason", "opportunities", f"missed profit, {activity.currency}"), rows, frozenset({1, 2}))


def _latency_table(activity: Activity) -> ReportTable:
    measured = {name: percentiles(getattr(activity.latencies, stage)) for stage, name in STAGES.items()}
    rows = tuple(
        (f"from the quote until {name}", *(f"{row[share]:,.1f}" for share in ("p50", "p95", "p99")))
        for name, row in measured.items()
        if row is not None
    )
    return ReportTable(("milliseconds", "median", "95 %", "99 %"), rows, frozenset({1, 2, 3}))


def _balance_table(activity: Activity) -> ReportTable:
    rows = tuple(
        (
            exchange_name(exchange),
            currency,
            amount(before),
            amount(activity.after.get(exchange, {}).get(currency, ZERO)),
        )
        for exchange, row in sorted(activity.before.items())
        for currency, before in sorted(row.items())
        if before or activity.after.get(exchange, {}).get(currency)
    )
    return ReportTable(("exchange", "currency", "opening", "closing"), rows, frozenset({2, 3}))
