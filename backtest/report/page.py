"""A backtest's report: one self-contained page without scripts."""

from html import escape

from backtest.report import charts
from backtest.report.figure_format import moment, money, share_words, with_minus
from backtest.report.markup import chart_grid, document, figure_cards, items, paragraph, section, table_markup
from backtest.report.tables import (
    MAX_TRADES,
    PAGE_TRADES,
    balance_table,
    cycle_table,
    day_table,
    inventory_table,
    latency_table,
    lifetime_table,
    pair_table,
    performance_table,
    profit_table,
    quality_table,
    rejected_table,
    rejection_table,
    setting_table,
    trade_tables,
    version_table,
)
from backtest.result.backtest_result import BacktestResult
from backtest.result.quote_spacing import bars_words
from market.time_units import MICROSECONDS


def report_page(result: BacktestResult) -> str:
    """Return HTML with every trade, some 250 bytes each."""
    sections = (_headline(result), _pictures(result), *_figures(result), *_trading(result), *_basis(result))
    return document(f"Backtest {result.manifest.name}", sections)


def _figures(result: BacktestResult) -> tuple[str, ...]:
    """Return the figures."""
    inventory = inventory_table(result.performance, result.trading.profit.currency)
    cycles = section("By cycle", table_markup(cycle_table(result), "No trades."))
    return (
        section("Performance", table_markup(performance_table(result), "Not computed."), _ratio_words(result)),
        section("P&L attribution", paragraph(PROFIT_WORDS), table_markup(profit_table(result))),
        section("By pair", table_markup(pair_table(result), "No trades.")),
        *(() if result.trading.cycles is None else (cycles,)),
        section("By day", table_markup(day_table(result), "No trades.")),
        section("Inventory, marked to the market", table_markup(inventory, "Not computed.")),
    )


def _trading(result: BacktestResult) -> tuple[str, ...]:
    """Return trades, missed profit and latency."""
    missed = table_markup(rejection_table(result), "No rejections.")
    return (
        section("Trades", *_trades(result)),
        section("Missed profit by rejection reason", paragraph(REJECTED_WORDS), missed),
        section("Duration of opportunities", table_markup(lifetime_table(result.trading.lifetimes), "None.")),
        section("Cost of latency", paragraph(LATENCY_WORDS), table_markup(latency_table(result), "Not requested.")),
    )


def _basis(result: BacktestResult) -> tuple[str, ...]:
    """Return assumptions, data, and how to reproduce the result."""
    manifest = result.manifest
    recorded = (manifest.end_time - manifest.start_time) / MICROSECONDS
    return (
        section("Assumptions", items(result.assumptions)),
        section(
            "Data quality",
            paragraph(f"{manifest.rows:,} rows of the log, {recorded:,.0f} s. {QUALITY_WORDS}"),
            table_markup(quality_table(result)),
            "<h2>Rejected rows</h2>",
            table_markup(rejected_table(result), "No rejected rows."),
        ),
        section("Balances", table_markup(balance_table(result))),
        section("Settings", table_markup(setting_table(result))),
        section(
            "Reproduce this backtest",
            f"<pre>{escape(result.command)}</pre>" if result.command else "",
            paragraph(f"Seed {result.parameters.seed}; the same versions and the same data give the same figures."),
            table_markup(version_table(result)),
        ),
    )


PROFIT_WORDS = (
    "Theoretical gross is the profit at the best prices; the other parts lead from there to the realised P&L. They sum "
    "to the net to the last digit."
)
REJECTED_WORDS = (
    "The same opportunity is seen at row after row: an episode is such a run between the same two markets. Missed "
    "profit is the profit of one trade at its best sighting, limited by max notional, balances and minimum orders; "
    "zero if the episode was traded. Each episode counts once, under the rejection reason of that sighting."
)
LATENCY_WORDS = "The same opportunities traded again, with every order delayed by the added latency."
QUALITY_WORDS = (
    "A gap is a time without a quote that is longer than the maximum quote age: the market was neither compared nor "
    "traded in it."
)


def _headline(result: BacktestResult) -> str:
    manifest, figures = result.manifest, result.figures
    currency, share = figures.currency, figures.return_on_capital
    shown = (
        (money(figures.net), f"net, {currency}", "bad" if figures.net < 0 else "good"),
        ("n/a" if share is None else with_minus(share_words(share)), "return on capital", ""),
        (money(-figures.drawdown), f"max drawdown, {currency}", ""),
        (f"{figures.trades:,}", "trades, from bars" if figures.is_of_bars else "trades", ""),
        (money(result.trading.missed), f"missed profit, {currency}", ""),
        (f"{figures.opportunities:,}", "opportunities", ""),
        (f"{figures.rejections:,}", "rejections", ""),
        (f"{figures.quotes:,}", "quotes", ""),
        (f"{sum(manifest.rejected.values()):,}", "rejected rows", ""),
    )
    span = f"{moment(manifest.start_time)} to {moment(manifest.end_time)} UTC"
    alarm = "" if figures.is_balanced else '<p class="alarm">Ledger not reconciled: do not trust these figures.</p>'
    return (
        f"<h1>Backtest {escape(manifest.name)}</h1>"
        f'<p class="faint">{escape(manifest.title)}<br>{span}</p>{alarm}{_bars(result)}'
        f"{figure_cards(shown)}"
    )


def _ratio_words(result: BacktestResult) -> str:
    return "" if result.performance is None else paragraph(f"Ratios are {result.performance.definition}.")


def _bars(result: BacktestResult) -> str:
    words = bars_words(result.spacing)
    return "" if words is None else f'<p class="notice"><b>Not fills.</b> {escape(words[0].upper() + words[1:])}.</p>'


def _pictures(result: BacktestResult) -> str:
    trading = result.trading
    currency = trading.profit.currency
    pictures = (
        ("Equity", charts.equity_chart(trading.equity, currency)),
        ("Drawdown", charts.drawdown_chart(trading.equity, currency)),
        ("Marked gain", charts.marked_chart(result.performance, currency)),
        ("P&amp;L attribution", charts.profit_chart(trading.profit)),
        ("Cost of latency", charts.latency_chart(result.latency_costs, currency)),
        ("Net spread of opportunities", charts.net_bps_chart(trading.net_bps_counts)),
        ("Duration of opportunities", charts.lifetime_chart(trading.lifetimes)),
        ("Missed profit by rejection reason", charts.rejection_chart(trading.rejections, currency)),
    )
    return chart_grid(pictures)


def _trades(result: BacktestResult) -> list[str]:
    """Return collapsible tables, the first one open: every trade without a script."""
    tables = trade_tables(result.trading.arbitrages)
    if len(tables) < 2:
        return [table_markup(table) for table in tables] or [paragraph("No trades.")]
    count = result.figures.trades
    rest = f" The first {MAX_TRADES:,} are listed." if count > MAX_TRADES else ""
    parts = [paragraph(f"{count:,} trades.{rest} All as CSV: the same command with --trades FILE.")]
    for number, table in enumerate(tables):
        first = number * PAGE_TRADES + 1
        words = f"{first:,} to {first + len(table.rows) - 1:,}, from {table.rows[0][1]}"
        parts.append(
            f"<details{'' if number else ' open'}><summary>{escape(words)}</summary>{table_markup(table)}</details>"
        )
    return parts
