"""The tables of a backtest's report: from a result to rows of words. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from backtest.outcome import Lifetime
from backtest.result import BacktestResult
from backtest.result_document import lifetime_row
from market.arbitrages import PROFIT_PARTS, Arbitrage
from market.clock import MICROSECONDS
from market.money import text_of

MOST_TRADES = 300
"""In the page; all of them stand in the JSON."""


@dataclass(frozen=True, slots=True)
class Table:
    """`numbers`: which columns are set to the right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


def trade_table(arbitrages: Sequence[Arbitrage]) -> Table:
    """Those of which anything was filled, by time; where there are too many, the first ones."""
    traded = [one for one in arbitrages if any(leg.fills for leg in one.legs)]
    head = ("time, UTC", "asset", "bought on", "sold on", "amount", "seen, net bps", "end", "net")
    return Table(head, tuple(_trade_row(one) for one in traded[:MOST_TRADES]), frozenset({4, 5, 7}))


def refusal_table(result: BacktestResult) -> Table:
    """Reason, how many, expected profit forgone; the dearest first."""
    ordered = sorted(result.trading.refusals.items(), key=lambda item: (-item[1].forgone, item[0]))
    rows = tuple((reason.replace("_", " "), f"{one.count:,}", money(one.forgone)) for reason, one in ordered)
    return Table(("reason", "opportunities", f"forgone, {result.trading.profit.currency}"), rows, frozenset({1, 2}))


def profit_table(result: BacktestResult) -> Table:
    profit = result.trading.profit
    rows = tuple((part.replace("_", " "), money(getattr(profit, part))) for part in PROFIT_PARTS)
    return Table(("part", profit.currency), rows, frozenset({1}))


def latency_table(result: BacktestResult) -> Table:
    head = ("added, ms", f"net, {result.trading.profit.currency}", "trades")
    rows = tuple((f"{cost.added_ms:g}", money(cost.net), f"{cost.trades:,}") for cost in result.latency_costs)
    return Table(head, rows, frozenset({0, 1, 2}))


def lifetime_table(lifetimes: Sequence[Lifetime]) -> Table:
    """By pair of exchanges and asset: how many, and how long they lived."""
    by_pair: dict[tuple[str, str, str], list[Lifetime]] = {}
    for one in lifetimes:
        by_pair.setdefault((one.base, one.buy_exchange, one.sell_exchange), []).append(one)
    rows = tuple(_lifetime_row(*pair, by_pair[pair]) for pair in sorted(by_pair))
    head = ("asset", "bought on", "sold on", "times", "median, ms", "longest, ms", "best, bps")
    return Table(head, rows, frozenset({3, 4, 5, 6}))


def quality_table(result: BacktestResult) -> Table:
    """Of each market: how much there is of it, and where nothing was heard."""
    head = ("market", "quotes", "first, UTC", "last, UTC", "withdrawn", "holes", "longest silences")
    rows = tuple(
        (
            f"{one.exchange} {one.symbol}",
            f"{one.quotes:,}",
            moment(one.first_time),
            moment(one.last_time),
            f"{one.withdrawals:,}",
            f"{one.holes:,}",
            ", ".join(f"{silence.seconds:,.1f} s from {moment(silence.start)}" for silence in one.silences) or "–",
        )
        for one in result.quality
    )
    return Table(head, rows, frozenset({1, 4, 5}))


def rejected_table(result: BacktestResult) -> Table:
    """Rows of the sources that are no usable quotes."""
    rows = [
        (source.name, reason.replace("_", " "), f"{count:,}")
        for source in result.manifest.sources
        for reason, count in sorted(source.rejected.items())
    ]
    return Table(("source", "reason", "rows"), tuple(rows), frozenset({2}))


def balance_table(result: BacktestResult) -> Table:
    """Before and after, by exchange and currency."""
    before, after = result.trading.before, result.trading.after
    rows = [
        (exchange, currency, text_of(amount), text_of(after.get(exchange, {}).get(currency, amount)))
        for exchange, row in sorted(before.items())
        for currency, amount in sorted(row.items())
    ]
    return Table(("exchange", "currency", "before", "after"), tuple(rows), frozenset({2, 3}))


def version_table(result: BacktestResult) -> Table:
    return Table(("what", "version"), tuple(result.versions.items()))


def setting_table(result: BacktestResult) -> Table:
    told = result.parameters.settings.model_dump(mode="json", exclude={"version", "taker_fees"})
    return Table(("setting", "value"), tuple((name, _setting(value)) for name, value in told.items()))


def moment(time: int | None) -> str:
    """Of microseconds UTC, to the second."""
    return "–" if time is None else f"{datetime.fromtimestamp(time / MICROSECONDS, UTC):%Y-%m-%d %H:%M:%S}"


def money(amount: Decimal) -> str:
    """To the cent, with a true minus sign; less than half a cent has none."""
    return f"{amount:z,.2f}".replace("-", "−")


def _trade_row(arbitrage: Arbitrage) -> tuple[str, ...]:
    opportunity = arbitrage.opportunity
    end = arbitrage.state if arbitrage.reason is None else f"{arbitrage.state}: {arbitrage.reason}"
    return (
        moment(opportunity.event_time),
        arbitrage.base,
        f"{opportunity.buy.exchange} {opportunity.buy.symbol}",
        f"{opportunity.sell.exchange} {opportunity.sell.symbol}",
        text_of(arbitrage.amount),
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
