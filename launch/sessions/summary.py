"""The summary of a session as one JSON document, and whether its ledger reconciles. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from market.accounting.profit_groups import added, profit_of
from market.accounting.transfer_lifecycle import MoneyTransfer, booked_in
from market.instruments.markets import Market
from market.instruments.orders import Fill, changes_of
from market.money import ZERO, text_of, total
from market.prices.episodes import EpisodeOutcome
from market.trade.arbitrages import Arbitrage, ProfitAndLoss
from market.trade.cycle_trades import CycleTrade, states_by_reach
from store.aggregates.month_sums import RemovedTrades

Balances = Mapping[str, Mapping[str, Decimal]]


@dataclass(frozen=True, slots=True)
class Latencies:
    """Milliseconds, one per measured event: from the tick's arrival unless another start is stated."""

    opportunity: Sequence[float] = ()
    reserved: Sequence[float] = ()
    sent: Sequence[float] = ()
    filled: Sequence[float] = ()
    shown: Sequence[float] = ()
    detected_to_sent: Sequence[float] = ()
    """From the opportunity until both legs were sent."""
    filled_to_shown: Sequence[float] = ()
    """From the end of both legs until the page had it."""
    filled_to_ended: Sequence[float] = ()
    """From the end of both legs to the arbitrage's; longer than nothing if further orders closed it."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The data that a session's summary is made from."""

    quotes: Mapping[str, int]
    opportunities: int
    arbitrages: Sequence[Arbitrage]
    rejections: Mapping[str, int]
    rejected_profit: Mapping[str, Decimal]
    fills: Sequence[Fill]
    markets: Sequence[Market]
    before: Balances
    after: Balances
    currency: str
    latencies: Latencies
    seconds_to_first_opportunity: float | None
    cycle_opportunities: int = 0
    """Distinct cycles at distinct quotes that detection found, traded or not."""
    episodes: Mapping[EpisodeOutcome, int] = field(default_factory=dict)
    """Outcome → how many episodes of opportunities."""
    restarts: Mapping[str, int] = field(default_factory=dict)
    seed: int | None = None
    cycles: Sequence[CycleTrade] = ()
    """Trades on cycles."""
    removed: RemovedTrades = field(default_factory=RemovedTrades)
    """The part of the session that is kept only as sums."""
    session_id: str = ""
    transfers: Sequence[MoneyTransfer] = ()
    """All that moved anything in the session, decided in it or before."""

    @property
    def other_changes(self) -> Mapping[tuple[str, str], Decimal]:
        """Return what changed balances beside `fills`: fills kept as sums, and transfers."""
        changes = dict(self.removed.changes)
        for key, change in booked_in(self.transfers, self.session_id).items():
            changes[key] = changes.get(key, ZERO) + change
        return changes


def summary_of(activity: Activity) -> dict[str, object]:
    """Return the document of `--json`: money as decimal strings, null for a latency that was not measured."""
    removed, differences = activity.removed, ledger_differences(activity)
    return {
        "quotes": dict(activity.quotes),
        "opportunities": activity.opportunities,
        "cycle_opportunities": activity.cycle_opportunities,
        "episodes": dict(activity.episodes),
        "decisions": decisions_of(activity),
        "arbitrages": _counted((arbitrage.state for arbitrage in activity.arbitrages), removed.arbitrages),
        "arbitrages_by_legs": _by_legs(activity),
        "cycles_by_reach": states_by_reach(activity.cycles),
        "single_legs": sum(1 for arbitrage in activity.arbitrages if has_unwound(arbitrage)),
        "rejections": dict(activity.rejections),
        "rejected_profit": {
            reason: text_of(missed_profit) for reason, missed_profit in activity.rejected_profit.items()
        },
        "fills": [fill_row(fill) for fill in activity.fills],
        "pnl": profit_row(
            [*activity.arbitrages, *activity.cycles], activity.currency, removed.profits.get(activity.currency)
        ),
        "transfers": transfers_row(activity),
        "balances_before": _balance_rows(activity.before),
        "balances_after": _balance_rows(activity.after),
        "balanced": bool(activity.before) and activity.before.keys() == activity.after.keys() and not differences,
        "balance_differences": differences,
        "latency_ms": _percentiles(activity.latencies, "opportunity", "reserved", "sent", "filled", "shown"),
        "cycle_ms": _cycle_latencies(activity.cycles),
        "step_ms": _percentiles(activity.latencies, "detected_to_sent", "filled_to_shown", "filled_to_ended"),
        "seconds_to_first_opportunity": activity.seconds_to_first_opportunity,
        "restarts": dict(activity.restarts),
        "seed": activity.seed,
    }


def ledger_differences(activity: Activity) -> list[dict[str, str]]:
    """Return where the session's ledger does not reconcile: see `balance_differences`."""
    sources = activity.before, activity.after, activity.fills, activity.markets
    return balance_differences(*sources, activity.other_changes)


def transfers_row(activity: Activity) -> dict[str, object]:
    """Return those that the session decided on by state, and what they cost: in the settlement currency as it was
    valued then, and in each currency what was lost on the way. It is in no part of the P&L."""
    own = [one for one in activity.transfers if one.session_id == activity.session_id]
    lost: dict[str, Decimal] = {}
    for one in own:
        if one.lost:
            lost[one.currency] = lost.get(one.currency, ZERO) + one.lost
    return {
        "by_state": _counted((one.state for one in own), {}),
        "currency": activity.currency,
        "cost": text_of(total(one.cost for one in own if one.lost)),
        "fees": {currency: text_of(amount) for currency, amount in sorted(lost.items())},
    }


def decisions_of(activity: Activity) -> dict[str, int]:
    """Return what became of each opportunity: one that was neither taken nor rejected was over before anybody decided
    on it."""
    taken = sum(1 for one in activity.arbitrages if one.strategy != "ma") + sum(activity.removed.arbitrages.values())
    rejected = sum(activity.rejections.values())
    return {"taken": taken, "rejected": rejected, "expired": max(0, activity.opportunities - taken - rejected)}


def has_unwound(arbitrage: Arbitrage) -> bool:
    """Return whether a single leg was completed, reversed or flattened, in part too: its P&L part is `unwinding`."""
    return any(leg.role != leg.side and leg.fills for leg in arbitrage.legs)


def balance_differences(
    before: Balances,
    after: Balances,
    fills: Iterable[Fill],
    markets: Iterable[Market],
    others: Mapping[tuple[str, str], Decimal] = MappingProxyType({}),
) -> list[dict[str, str]]:
    """Return where `before` + fills − fees + `others`, of fills kept as sums and of transfers, is not `after`, to the
    last digit; both are as the exchanges reported them.

    A currency that an exchange does not name counts as zero. An exchange of which one of the two is unknown is left
    out: it is not checked at all. `markets` say which currencies a symbol moves: a replay may settle BTC/USDT in USD.
    """
    currencies = {(market.exchange, market.symbol): (market.base, market.quote_currency) for market in markets}
    expected = {(exchange, currency): amount for exchange, row in before.items() for currency, amount in row.items()}
    for fill in fills:
        for currency, change in changes_of(fill, *currencies[fill.exchange, fill.symbol]):
            key = (fill.exchange, currency)
            expected[key] = expected.get(key, ZERO) + change
    for key, change in others.items():
        expected[key] = expected.get(key, ZERO) + change
    reported = {(exchange, currency): amount for exchange, row in after.items() for currency, amount in row.items()}
    unchecked = before.keys() ^ after.keys()
    return [
        {
            "exchange": exchange,
            "currency": currency,
            "expected": text_of(expected.get((exchange, currency), ZERO)),
            "reported": text_of(reported.get((exchange, currency), ZERO)),
        }
        for exchange, currency in sorted(expected.keys() | reported.keys())
        if exchange not in unchecked
        and expected.get((exchange, currency), ZERO) != reported.get((exchange, currency), ZERO)
    ]


def percentiles(milliseconds: Sequence[float]) -> dict[str, float] | None:
    """Return p50, p95, p99 by nearest rank; None if nothing was measured."""
    if not milliseconds:
        return None
    ordered = sorted(milliseconds)
    return {f"p{share}": round(ordered[_rank(share, len(ordered))], 3) for share in (50, 95, 99)}


def latencies_of(
    arbitrages: Iterable[Arbitrage], opportunity: Sequence[float], shown: Mapping[str, float]
) -> Latencies:
    """Return the stages of the arbitrages; one that an arbitrage did not reach is left out. `shown`: arbitrage →
    milliseconds from its tick until the page had it."""
    times = {one.arbitrage_id: one.times for one in arbitrages if "event" in one.times}

    def between(first: str, last: str) -> tuple[float, ...]:
        return tuple((row[last] - row[first]) / 1_000 for row in times.values() if first in row and last in row)

    filled = {identity: (row["filled"] - row["event"]) / 1_000 for identity, row in times.items() if "filled" in row}
    return Latencies(
        opportunity,
        between("event", "reserved"),
        between("event", "sent"),
        between("event", "filled"),
        tuple(shown.values()),
        between("detected", "sent"),
        tuple(at - filled[identity] for identity, at in shown.items() if identity in filled),
        between("filled", "ended"),
    )


def profit_row(
    trades: Iterable[Arbitrage | CycleTrade], currency: str, removed: ProfitAndLoss | None = None
) -> dict[str, str]:
    """Return the sum of each part over all trades that have a profit, and of what was `removed`."""
    profit = profit_of(trades, currency)
    profit = profit if removed is None else added(profit, removed)
    return {"currency": currency} | {part: text_of(amount) for part, amount in profit.parts.items()}


def fill_row(fill: Fill) -> dict[str, str | int]:
    return {
        "fill_id": fill.fill_id,
        "exchange": fill.exchange,
        "symbol": fill.symbol,
        "side": fill.side,
        "price": text_of(fill.price),
        "amount": text_of(fill.amount),
        "cost": text_of(fill.cost),
        "fee": text_of(fill.fee),
        "fee_currency": fill.fee_currency,
        "filled_at": fill.filled_at,
    }


def _rank(share: int, count: int) -> int:
    return max(0, -(-share * count // 100) - 1)


def _by_legs(activity: Activity) -> dict[str, dict[str, int]]:
    """Return number of legs → state → how many: of trades on cycles those planned; a moving average trade has one leg.
    What was removed for its age had two."""
    pairs = _counted((one.state for one in activity.arbitrages if one.strategy != "ma"), activity.removed.arbitrages)
    alone = _counted((one.state for one in activity.arbitrages if one.strategy == "ma"), {})
    counts = sorted({len(one.cycle.legs) for one in activity.cycles})
    cycles = {
        str(legs): _counted((one.state for one in activity.cycles if len(one.cycle.legs) == legs), {})
        for legs in counts
    }
    return ({"1": alone} if alone else {}) | {"2": pairs} | cycles


def _percentiles(latencies: Latencies, *stages: str) -> dict[str, dict[str, float] | None]:
    return {stage: percentiles(getattr(latencies, stage)) for stage in stages}


def _cycle_latencies(cycles: Iterable[CycleTrade]) -> dict[str, dict[str, dict[str, float] | None]]:
    """Return number of legs → stage → percentiles of milliseconds from the tick: until all legs were reserved, and
    until all that did not wait for another's proceeds were sent."""
    reserved: dict[str, list[float]] = {}
    sent: dict[str, list[float]] = {}
    for one in cycles:
        legs, event = str(len(one.cycle.legs)), one.times["event"]
        reserved.setdefault(legs, []).append((one.times["reserved"] - event) / 1_000)
        at_once = [order for order in one.orders if order.step == "leg" and not order.waits]
        if all("sent" in order.times for order in at_once):
            sent.setdefault(legs, []).append((max(order.times["sent"] for order in at_once) - event) / 1_000)
    return {
        legs: {"reserved": percentiles(reserved[legs]), "sent": percentiles(sent.get(legs, ()))}
        for legs in sorted(reserved)
    }


def _counted(names: Iterable[str], before: Mapping[str, int]) -> dict[str, int]:
    counts = dict(before)
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _balance_rows(balances: Balances) -> dict[str, dict[str, str]]:
    return {
        exchange: {currency: text_of(amount) for currency, amount in row.items()} for exchange, row in balances.items()
    }
