"""The tables of a backtest's report. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from backtest.report.performance_format import CANNOT_TELL
from backtest.report.result_document import lifetime_row
from backtest.result.backtest_result import BacktestResult
from backtest.result.quote_spacing import MarketSpacing, seconds_words
from backtest.result.trading_outcome import Lifetime
from market.money import text_of
from market.time_units import MICROSECONDS
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage

PAGE_TRADES = 500
"""In one of the page's folded tables."""
MAX_TRADES = 20_000
"""In the page, some 5 MB; all of them stand in the JSON and in `--trades`."""
MAX_DIGITS = 8
"""Of amounts."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """`numbers`: which columns are set to the right; `has_sum`: the last row sums up the others."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    has_sum: bool = False


def traded(arbitrages: Sequence[Arbitrage]) -> list[Arbitrage]:
    """Arbitrages with a fill, by time."""
    return [one for one in arbitrages if any(leg.fills for leg in one.legs)]


def trade_tables(arbitrages: Sequence[Arbitrage]) -> list[ReportTable]:
    """All that were traded, so many in each; no more than fit into a page."""
    found = traded(arbitrages)[:MAX_TRADES]
    head = ("no.", "time, UTC", "asset", "bought on", "sold on", "amount", "net bps", "end state", "net")
    digits = max((_digits(one.amount) for one in found), default=0)
    rows = [_trade_row(number, one, digits) for number, one in enumerate(found, 1)]
    pages = (rows[start : start + PAGE_TRADES] for start in range(0, len(rows), PAGE_TRADES))
    return [ReportTable(head, tuple(page), frozenset({0, 5, 6, 8})) for page in pages]


def rejection_table(result: BacktestResult) -> ReportTable:
    """Rejection reason, sightings, episodes and missed profit; the most missed first, the sum last."""
    rejections = result.trading.rejections
    ordered = sorted(rejections.items(), key=lambda item: (-item[1].missed, item[0]))
    rows = [
        (reason.replace("_", " "), f"{one.count:,}", f"{one.episodes:,}", money(one.missed)) for reason, one in ordered
    ]
    if len(rows) > 1:
        counts = sum(one.count for one in rejections.values()), sum(one.episodes for one in rejections.values())
        rows.append(("all", f"{counts[0]:,}", f"{counts[1]:,}", money(result.trading.missed)))
    head = ("reason", "rejected sightings", "episodes", f"missed profit, {result.trading.profit.currency}")
    return ReportTable(head, tuple(rows), frozenset({1, 2, 3}), has_sum=len(rows) > 1)


def profit_table(result: BacktestResult) -> ReportTable:
    profit = result.trading.profit
    rows = tuple((part.replace("_", " "), money(getattr(profit, part))) for part in PROFIT_PARTS)
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
    """By pair of exchanges and asset: count and duration."""
    by_pair: dict[tuple[str, str, str], list[Lifetime]] = {}
    for one in lifetimes:
        by_pair.setdefault((one.base, one.buy_exchange, one.sell_exchange), []).append(one)
    rows = tuple(_lifetime_row(*pair, by_pair[pair]) for pair in sorted(by_pair))
    head = ("asset", "bought on", "sold on", "times", "median, ms", "longest, ms", "best, bps")
    return ReportTable(head, rows, frozenset({3, 4, 5, 6}))


def quality_table(result: BacktestResult) -> ReportTable:
    """Per market: quotes, spacing and gaps."""
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
    """Rows of the sources that are no usable quotes."""
    rows = [
        (source.name, reason.replace("_", " "), f"{count:,}")
        for source in result.manifest.sources
        for reason, count in sorted(source.rejected.items())
    ]
    return ReportTable(("source", "reason", "rows"), tuple(rows), frozenset({2}))


def balance_table(result: BacktestResult) -> ReportTable:
    """Before and after, by exchange and currency."""
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


def moment(time: int | None) -> str:
    """Of microseconds UTC, to the second."""
    return "–" if time is None else f"{datetime.fromtimestamp(time / MICROSECONDS, UTC):%Y-%m-%d %H:%M:%S}"


def money(amount: Decimal) -> str:
    """To the cent, with a true minus sign; less than half a cent has none."""
    return f"{amount:z,.2f}".replace("-", "−")


def amount(number: Decimal) -> str:
    """Of an asset or currency, to 8 digits at the most, with a true minus sign."""
    return f"{number:z,.{_digits(number)}f}".replace("-", "−")


def _amounts(before: Decimal, after: Decimal) -> tuple[str, str, str]:
    return amount(before), amount(after), amount(after - before)


def _made_of(spacing: MarketSpacing | None, quotes: str) -> tuple[str, str, str, str]:
    if spacing is None:
        return "–", quotes, "–", "–"
    median, p95 = ("–" if one is None else seconds_words(one) for one in (spacing.median, spacing.p95))
    return "bars" if spacing.is_of_bars else "quotes", quotes, median, p95


def _digits(number: Decimal) -> int:
    """Behind the point, without zeros at the end, 8 at the most."""
    return min(len(text_of(number).partition(".")[2]), MAX_DIGITS)


def _trade_row(number: int, arbitrage: Arbitrage, digits: int) -> tuple[str, ...]:
    opportunity = arbitrage.opportunity
    end = arbitrage.state if arbitrage.reason is None else f"{arbitrage.state}: {arbitrage.reason}"
    return (
        f"{number:,}",
        moment(opportunity.event_time),
        arbitrage.base,
        f"{opportunity.buy.exchange} {opportunity.buy.symbol}",
        f"{opportunity.sell.exchange} {opportunity.sell.symbol}",
        f"{arbitrage.amount:,.{digits}f}",
        f"{opportunity.net_bps:.2f}".replace("-", "−"),
        end.replace("_", " "),
        "–" if arbitrage.profit is None else money(arbitrage.profit.net),
    )


def _lifetime_row(base: str, buy: str, sell: str, lifetimes: Sequence[Lifetime]) -> tuple[str, ...]:
    row = lifetime_row(lifetimes) or {}
    best = max(one.best_net_bps for one in lifetimes)
    return base, buy, sell, f"{len(lifetimes):,}", f"{row['p50']:,.0f}", f"{row['longest']:,.0f}", f"{best:.2f}"


def _setting(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
