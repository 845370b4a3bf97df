"""A backtest's report: one page that needs nothing beside itself, no script and no other host."""

from html import escape

from backtest import charts
from backtest.report_style import CSS
from backtest.report_tables import (
    MOST_TRADES,
    Table,
    balance_table,
    latency_table,
    lifetime_table,
    moment,
    money,
    profit_table,
    quality_table,
    refusal_table,
    rejected_table,
    setting_table,
    trade_table,
    version_table,
)
from backtest.result import BacktestResult, drawdown_of
from market.clock import MICROSECONDS


def report_page(result: BacktestResult) -> str:
    """HTML, a few hundred kilobytes at the most, whatever the length of the recording."""
    manifest = result.manifest
    recorded = (manifest.end_time - manifest.start_time) / MICROSECONDS
    sections = (
        _headline(result),
        _pictures(result),
        _section("Profit and loss", _paragraph(PROFIT_WORDS), _table(profit_table(result))),
        _section("Trades", _trade_words(result), _table(trade_table(result.trading.arbitrages))),
        _section(
            "What the limits refused",
            _paragraph(REFUSED_WORDS),
            _table(refusal_table(result), "Nothing was refused."),
        ),
        _section("How long opportunities lived", _table(lifetime_table(result.trading.lifetimes), "There were none.")),
        _section("What latency costs", _paragraph(LATENCY_WORDS), _table(latency_table(result), "Not asked for.")),
        _section("Assumptions", _items(result.assumptions)),
        _section(
            "Quality of the data",
            _paragraph(f"{manifest.rows:,} rows of the log, {recorded:,.0f} s. {QUALITY_WORDS}"),
            _table(quality_table(result)),
            "<h2>Rows left out</h2>",
            _table(rejected_table(result), "Every row of the sources was usable."),
        ),
        _section("Balances", _table(balance_table(result))),
        _section("Settings", _table(setting_table(result))),
        _section(
            "To repeat it exactly",
            f"<pre>{escape(result.command)}</pre>" if result.command else "",
            _paragraph(f"Seed {result.parameters.seed}; the same versions and the same data give the same figures."),
            _table(version_table(result)),
        ),
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Backtest {escape(manifest.name)}</title><style>{CSS}</style></head>"
        f"<body><main>{''.join(sections)}</main></body></html>\n"
    )


PROFIT_WORDS = (
    "Gross is what the best prices seen promised; the other parts lead from there to what was booked, and sum to the "
    "net to the last digit."
)
REFUSED_WORDS = (
    "What they were expected to bring at the best levels, added up. No more than that was lost, and far less where one "
    "gap was seen at many rows."
)
LATENCY_WORDS = "The same opportunities traded again, with every order so much later at its exchange."
QUALITY_WORDS = (
    "A hole is a silence longer than a quote may be old: nothing of that market was compared or traded in it."
)


def _headline(result: BacktestResult) -> str:
    manifest, trading = result.manifest, result.trading
    currency, drawdown = trading.profit.currency, drawdown_of(trading.equity)
    figures = (
        (money(trading.profit.net), f"net, {currency}", "bad" if trading.profit.net < 0 else "good"),
        (money(drawdown.depth), f"deepest fall, {currency}", ""),
        (f"{trading.trades:,}", "trades", ""),
        (f"{trading.opportunities:,}", "opportunities", ""),
        (f"{sum(one.count for one in trading.refusals.values()):,}", "refused", ""),
        (f"{manifest.quotes:,}", "quotes", ""),
        (f"{sum(manifest.rejected.values()):,}", "rows left out", ""),
    )
    cards = "".join(
        f'<div class="figure"><b class="{kind}">{escape(value)}</b><span>{escape(name)}</span></div>'
        for value, name, kind in figures
    )
    span = f"{moment(manifest.start_time)} to {moment(manifest.end_time)} UTC"
    alarm = "" if trading.is_balanced else '<p class="alarm">The books do not balance: do not trust these figures.</p>'
    return (
        f"<h1>Backtest {escape(manifest.name)}</h1>"
        f'<p class="faint">{escape(manifest.title)}<br>{span}</p>{alarm}<div class="figures">{cards}</div>'
    )


def _pictures(result: BacktestResult) -> str:
    trading = result.trading
    currency = trading.profit.currency
    pictures = (
        ("Equity", charts.equity_chart(trading.equity, currency)),
        ("Drawdown", charts.drawdown_chart(trading.equity, currency)),
        ("Profit by part", charts.profit_chart(trading.profit)),
        ("What latency costs", charts.latency_chart(result.latency_costs, currency)),
        ("Net spread of opportunities", charts.net_bps_chart(trading.net_bps_counts)),
        ("How long they lived", charts.lifetime_chart(trading.lifetimes)),
        ("What the limits refused", charts.refusal_chart(trading.refusals, currency)),
    )
    drawn = "".join(
        f'<figure class="chart"><figcaption>{name}</figcaption>{picture}</figure>'
        for name, picture in pictures
        if picture is not None
    )
    return f'<div class="charts">{drawn}</div>'


def _trade_words(result: BacktestResult) -> str:
    trades = result.trading.trades
    return _paragraph(f"The first {MOST_TRADES} of {trades:,}.") if trades > MOST_TRADES else ""


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _paragraph(words: str) -> str:
    return f'<p class="faint">{escape(words)}</p>'


def _items(words: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in words)}</ul>"


def _table(table: Table, none: str = "None.") -> str:
    if not table.rows:
        return _paragraph(none)
    head = "".join(f"<th{_kind(table, place)}>{escape(word)}</th>" for place, word in enumerate(table.head))
    rows = "".join(
        f"<tr>{''.join(f'<td{_kind(table, place)}>{escape(word)}</td>' for place, word in enumerate(row))}</tr>"
        for row in table.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _kind(table: Table, place: int) -> str:
    return ' class="number"' if place in table.numbers else ""
