"""The tables of a backtest's report. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from backtest.report.figure_format import (
    CANNOT_TELL,
    amount,
    moment,
    money,
    places,
    ratio_words,
    share_words,
    with_minus,
)
from backtest.report.result_document import lifetime_row
from backtest.report.trade_files import trade_rows
from backtest.result.backtest_result import BacktestResult
from backtest.result.performance import Performance
from backtest.result.profit_breakdown import BreakdownLine, by_cycle, by_day, by_pair
from backtest.result.quote_spacing import MarketSpacing, seconds_words
from backtest.result.trading_outcome import Lifetime
from market.money import total
from market.trade.arbitrages import Arbitrage
from store.records.backtest_requests import BacktestFigures, BacktestTrade
from wording.labels import PROFIT_PARTS, plain, reason_name, state_name

PAGE_TRADES = 500
"""Trades in one of the page's folded tables."""
MAX_TRADES = 20_000
"""Trades in the page, about 5 MB; the JSON and `--trades` have all of them."""
NUMBERS = frozenset({1})


@dataclass(frozen=True, slots=True)
class ReportTable:
    """`numbers`: the columns that are aligned to the right; `has_sum`: the last row is the sum of the others."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    has_sum: bool = False


def performance_table(result: BacktestResult) -> ReportTable:
    """Return figure, value, and explanation."""
    if result.performance is None:
        return ReportTable((), ())
    rows = (*_money_rows(result.performance, result.figures), *_ratio_rows(result.performance))
    return ReportTable(("figure", "value", "what it is"), rows, NUMBERS)


def inventory_table(performance: Performance | None, currency: str) -> ReportTable:
    """Return the inventory on all exchanges, marked to the market."""
    if performance is None:
        return ReportTable((), ())
    marked = performance.marked
    rows = [
        ("opening inventory", money(marked.opening), "at the opening mid: the capital"),
        ("closing inventory", money(marked.closing), "at the closing mid"),
        ("value without trading", money(marked.held), "the opening inventory at the closing mid"),
        ("marked gain", money(marked.gain), "closing inventory less the value without trading"),
        ("max drawdown of the marked gain", money(-marked.drawdown), "over the sampled moments"),
    ]
    if marked.unmarked:
        rows.append(("not marked", ", ".join(marked.unmarked), "no market prices it; it counts as zero"))
    return ReportTable(("inventory", currency, "what it is"), tuple(rows), NUMBERS)


def pair_table(result: BacktestResult) -> ReportTable:
    return _breakdown(("asset", "bought on", "sold on"), by_pair(result.trading.arbitrages), result)


def cycle_table(result: BacktestResult) -> ReportTable:
    found = result.trading.cycles
    return _breakdown(("legs", "cycle"), () if found is None else by_cycle(found.trades), result)


def day_table(result: BacktestResult) -> ReportTable:
    return _breakdown(("day, UTC",), by_day(result.trading.all_trades), result)


def trade_tables(arbitrages: Iterable[Arbitrage]) -> list[ReportTable]:
    """Return the trades, PAGE_TRADES in each table; no more than fit into a page."""
    found = trade_rows(arbitrages)[:MAX_TRADES]
    head = ("no.", "time, UTC", "asset", "bought on", "sold on", "amount", "net bps", "end state", "net")
    digits = max((places(one.amount) for one in found), default=0)
    rows = [_trade_row(one, digits) for one in found]
    pages = (rows[start : start + PAGE_TRADES] for start in range(0, len(rows), PAGE_TRADES))
    return [ReportTable(head, tuple(page), frozenset({0, 5, 6, 8})) for page in pages]


def rejection_table(result: BacktestResult) -> ReportTable:
    """Return rejection reason, sightings, episodes and missed profit; the most missed first, the sum last."""
    rejections = result.trading.rejections
    ordered = sorted(rejections.items(), key=lambda item: (-item[1].missed, item[0]))
    rows = [(reason_name(reason), f"{one.count:,}", f"{one.episodes:,}", money(one.missed)) for reason, one in ordered]
    if len(rows) > 1:
        episodes = sum(one.episodes for one in rejections.values())
        rows.append(("all", f"{result.trading.rejected:,}", f"{episodes:,}", money(result.trading.missed)))
    head = ("reason", "rejected sightings", "episodes", f"missed profit, {result.trading.profit.currency}")
    return ReportTable(head, tuple(rows), frozenset({1, 2, 3}), has_sum=len(rows) > 1)


def profit_table(result: BacktestResult) -> ReportTable:
    profit = result.trading.profit
    rows = tuple((PROFIT_PARTS[part], money(amount)) for part, amount in profit.parts.items())
    return ReportTable(("part", profit.currency), rows, frozenset({1}), has_sum=True)


def latency_table(result: BacktestResult) -> ReportTable:
    head = ("added, ms", f"net, {result.trading.profit.currency}", "trades")
    rows = tuple(
        (f"{cost.added_ms:g}", CANNOT_TELL, "–")
        if cost.net is None
        else (f"{cost.added_ms:g}", money(cost.net), f"{cost.trades:,}")
        for cost in result.latency_costs
    )
    return ReportTable(head, rows, frozenset({0, 1, 2}))


def lifetime_table(lifetimes: Sequence[Lifetime]) -> ReportTable:
    """Return count and duration by pair of exchanges and asset."""
    by_pair: dict[tuple[str, str, str], list[Lifetime]] = {}
    for one in lifetimes:
        by_pair.setdefault((one.base, one.buy_exchange, one.sell_exchange), []).append(one)
    rows = tuple(_lifetime_row(*pair, by_pair[pair]) for pair in sorted(by_pair))
    head = ("asset", "bought on", "sold on", "times", "median, ms", "longest, ms", "best, bps")
    return ReportTable(head, rows, frozenset({3, 4, 5, 6}))


def quality_table(result: BacktestResult) -> ReportTable:
    """Return quotes, spacing and gaps per market."""
    spacing = {(one.exchange, one.symbol): one for one in result.spacing}
    apart = ("market", "made of", "quotes", "spacing, median", "spacing, p95")
    head = (*apart, "first, UTC", "last, UTC", "withdrawn", "gaps", "longest gaps")
    rows = tuple(
        (
            f"{one.exchange} {one.symbol}",
            *_made_of(spacing.get((one.exchange, one.symbol)), f"{one.quotes:,}"),
            moment(one.first_time),
            moment(one.last_time),
            f"{one.withdrawals:,}",
            f"{one.holes:,}",
            ", ".join(f"{gap.seconds:,.1f} s from {moment(gap.start)}" for gap in one.silences) or "–",
        )
        for one in result.quality
    )
    return ReportTable(head, rows, frozenset({2, 3, 4, 7, 8}))


def rejected_table(result: BacktestResult) -> ReportTable:
    """Return rows of the sources that are no usable quotes."""
    rows = [
        (source.name, plain(reason), f"{count:,}")
        for source in result.manifest.sources
        for reason, count in sorted(source.rejected.items())
    ]
    return ReportTable(("source", "reason", "rows"), tuple(rows), frozenset({2}))


def balance_table(result: BacktestResult) -> ReportTable:
    """Return balances before and after, by exchange and currency."""
    before, after = result.trading.before, result.trading.after
    rows = [
        (exchange, currency, *_amounts(amount, after.get(exchange, {}).get(currency, amount)))
        for exchange, row in sorted(before.items())
        for currency, amount in sorted(row.items())
    ]
    return ReportTable(("exchange", "currency", "before", "after", "change"), tuple(rows), frozenset({2, 3, 4}))


def version_table(result: BacktestResult) -> ReportTable:
    return ReportTable(("what", "version"), tuple(result.versions.items()))


def setting_table(result: BacktestResult) -> ReportTable:
    document = result.parameters.settings.model_dump(mode="json", exclude={"version", "taker_fees"})
    return ReportTable(("setting", "value"), tuple((name, _setting(value)) for name, value in document.items()))


def _money_rows(performance: Performance, figures: BacktestFigures) -> tuple[tuple[str, str, str], ...]:
    currency = figures.currency
    return (
        (f"capital, {currency}", money(performance.capital), "the opening balances at the opening mid"),
        (
            "return on capital",
            with_minus(share_words(figures.return_on_capital)),
            f"net {money(figures.net)} over capital; neither compounded nor annualised",
        ),
        (
            f"max drawdown, {currency}",
            money(-figures.drawdown),
            f"{with_minus(share_words(figures.drawdown_share))} of capital and net profit at the highest point",
        ),
        (
            f"turnover, {currency}",
            money(performance.turnover),
            f"{share_words(performance.turnover_of_capital)} of capital; all fills, bought and sold, at FX mid",
        ),
    )


def _ratio_rows(performance: Performance) -> tuple[tuple[str, str, str], ...]:
    sharpe, sortino = with_minus(ratio_words(performance.sharpe)), with_minus(ratio_words(performance.sortino))
    return (
        ("Sharpe ratio", sharpe, "mean over standard deviation of returns, annualised"),
        ("Sortino ratio", sortino, "mean over downside deviation of returns, annualised"),
    )


def _breakdown(names: tuple[str, ...], lines: Sequence[BreakdownLine], result: BacktestResult) -> ReportTable:
    rows = [(*line.names, *_line(line.trades, line.turnover, line.fees, line.net)) for line in lines]
    if len(rows) > 1:
        sums = (total(getattr(line, name) for line in lines) for name in ("turnover", "fees", "net"))
        rows.append(("all", *("" for _ in names[1:]), *_line(sum(line.trades for line in lines), *sums)))
    head = (*names, "trades", "turnover", "fees", f"net, {result.trading.profit.currency}")
    return ReportTable(head, tuple(rows), frozenset(range(len(names), len(head))), has_sum=len(rows) > 1)


def _line(trades: int, *amounts: Decimal) -> tuple[str, ...]:
    return f"{trades:,}", *map(money, amounts)


def _amounts(before: Decimal, after: Decimal) -> tuple[str, str, str]:
    return amount(before), amount(after), amount(after - before)


def _made_of(spacing: MarketSpacing | None, quotes: str) -> tuple[str, str, str, str]:
    if spacing is None:
        return "–", quotes, "–", "–"
    median, p95 = ("–" if one is None else seconds_words(one) for one in (spacing.median, spacing.p95))
    return "bars" if spacing.is_of_bars else "quotes", quotes, median, p95


def _trade_row(trade: BacktestTrade, digits: int) -> tuple[str, ...]:
    end = state_name(trade.state) if trade.reason is None else f"{state_name(trade.state)}: {reason_name(trade.reason)}"
    return (
        f"{trade.number:,}",
        moment(trade.event_time),
        trade.base,
        trade.bought_on,
        trade.sold_on,
        f"{trade.amount:,.{digits}f}",
        with_minus(f"{trade.net_bps:.2f}"),
        end,
        "–" if trade.net is None else money(trade.net),
    )


def _lifetime_row(base: str, buy: str, sell: str, lifetimes: Sequence[Lifetime]) -> tuple[str, ...]:
    row = lifetime_row(lifetimes) or {}
    best = max(one.best_net_bps for one in lifetimes)
    return base, buy, sell, f"{len(lifetimes):,}", f"{row['p50']:,.0f}", f"{row['longest']:,.0f}", f"{best:.2f}"


def _setting(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
