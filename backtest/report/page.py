"""A backtest's report: one self-contained page without scripts."""

from html import escape

from backtest.report import charts
from backtest.report.figure_format import moment, money, share_words, with_minus
from backtest.report.style import CSS
from backtest.report.tables import (
    MAX_TRADES,
    PAGE_TRADES,
    ReportTable,
    balance_table,
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
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Backtest {escape(result.manifest.name)}</title><style>{CSS}</style></head>"
        f"<body><main>{''.join(sections)}</main></body></html>\n"
    )


def _figures(result: BacktestResult) -> tuple[str, ...]:
    """Return the figures."""
    inventory = inventory_table(result.performance, result.trading.profit.currency)
    return (
        _section("Performance", _table(performance_table(result), "Not computed."), _ratio_words(result)),
        _section("P&L attribution", _paragraph(PROFIT_WORDS), _table(profit_table(result))),
        _section("By pair", _table(pair_table(result), "No trades.")),
        _section("By day", _table(day_table(result), "No trades.")),
        _section("Inventory, marked to the market", _table(inventory, "Not computed.")),
    )


def _trading(result: BacktestResult) -> tuple[str, ...]:
    """Return trades, missed profit and latency."""
    missed = _table(rejection_table(result), "No rejections.")
    return (
        _section("Trades", *_trades(result)),
        _section("Missed profit by rejection reason", _paragraph(REJECTED_WORDS), missed),
        _section("Duration of opportunities", _table(lifetime_table(result.trading.lifetimes), "None.")),
        _section("Cost of latency", _paragraph(LATENCY_WORDS), _table(latency_table(result), "Not requested.")),
    )


def _basis(result: BacktestResult) -> tuple[str, ...]:
    """Return assumptions, data, and how to reproduce the result."""
    manifest = result.manifest
    recorded = (manifest.end_time - manifest.start_time) / MICROSECONDS
    return (
        _section("Assumptions", _items(result.assumptions)),
        _section(
            "Data quality",
            _paragraph(f"{manifest.rows:,} rows of the log, {recorded:,.0f} s. {QUALITY_WORDS}"),
            _table(quality_table(result)),
            "<h2>Rejected rows</h2>",
            _table(rejected_table(result), "No rejected rows."),
        ),
        _section("Balances", _table(balance_table(result))),
        _section("Settings", _table(setting_table(result))),
        _section(
            "Reproduce this backtest",
            f"<pre>{escape(result.command)}</pre>" if result.command else "",
            _paragraph(f"Seed {result.parameters.seed}; the same versions and the same data give the same figures."),
            _table(version_table(result)),
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
    cards = "".join(
        f'<div class="figure"><b class="{kind}">{escape(value)}</b><span>{escape(name)}</span></div>'
        for value, name, kind in shown
    )
    span = f"{moment(manifest.start_time)} to {moment(manifest.end_time)} UTC"
    alarm = "" if figures.is_balanced else '<p class="alarm">Ledger not reconciled: do not trust these figures.</p>'
    return (
        f"<h1>Backtest {escape(manifest.name)}</h1>"
        f'<p class="faint">{escape(manifest.title)}<br>{span}</p>{alarm}{_bars(result)}'
        f'<div class="figures">{cards}</div>'
    )


def _ratio_words(result: BacktestResult) -> str:
    return "" if result.performance is None else _paragraph(f"Ratios are {result.performance.definition}.")


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
    drawn = "".join(
        f'<figure class="chart"><figcaption>{name}</figcaption>{picture}</figure>'
        for name, picture in pictures
        if picture is not None
    )
    return f'<div class="charts">{drawn}</div>'


def _trades(result: BacktestResult) -> list[str]:
    """Return collapsible tables, the first one open: every trade without a script."""
    tables = trade_tables(result.trading.arbitrages)
    if len(tables) < 2:
        return [_table(table) for table in tables] or [_paragraph("No trades.")]
    count = result.figures.trades
    rest = f" The first {MAX_TRADES:,} are listed." if count > MAX_TRADES else ""
    parts = [_paragraph(f"{count:,} trades.{rest} All as CSV: the same command with --trades FILE.")]
    for number, table in enumerate(tables):
        first = number * PAGE_TRADES + 1
        words = f"{first:,} to {first + len(table.rows) - 1:,}, from {table.rows[0][1]}"
        parts.append(f"<details{'' if number else ' open'}><summary>{escape(words)}</summary>{_table(table)}</details>")
    return parts


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _paragraph(words: str) -> str:
    return f'<p class="faint">{escape(words)}</p>'


def _items(words: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in words)}</ul>"


def _table(table: ReportTable, none: str = "None.") -> str:
    if not table.rows:
        return _paragraph(none)
    head = "".join(f"<th{_kind(table, place)}>{escape(word)}</th>" for place, word in enumerate(table.head))
    rows = "".join(_row(table, number, row) for number, row in enumerate(table.rows))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _kind(table: ReportTable, place: int) -> str:
    return ' class="number"' if place in table.numbers else ""


def _row(table: ReportTable, number: int, row: tuple[str, ...]) -> str:
    kind = ' class="sum"' if table.has_sum and number == len(table.rows) - 1 else ""
    cells = "".join(f"<td{_kind(table, place)}>{escape(word)}</td>" for place, word in enumerate(row))
    return f"<tr{kind}>{cells}</tr>"
