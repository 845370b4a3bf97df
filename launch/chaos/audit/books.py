"""Compares the store with the exchanges' own records: every difference is a violation. Pure.

It trusts nothing that the bots computed: orders, fills and balances come from the exchanges' journals, and the rules
are implemented here a second time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from launch.chaos.audit.lateness import late_violations
from launch.chaos.audit.orders import order_violations
from launch.chaos.audit.records import AuditedAccount, Evidence, Stopped, Violation
from launch.chaos.audit.states import state_violations, step_violations
from launch.chaos.audit.transfers import transfer_violations
from market.instruments.markets import Market
from market.money import ZERO, decimal_of_whole, text_of, total
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_trades import CycleTrade
from simulators.matching.exchange_journal import Entry
from simulators.matching.order_records import RejectedOrder, SimulatedFill, SimulatedOrder
from simulators.matching.transfer_records import SimulatedDeposit, SimulatedWithdrawal
from store.queries.store_snapshot import StoreSnapshot


def evidence_of(
    accounts: Iterable[AuditedAccount],
    snapshot: StoreSnapshot,
    markets: Iterable[Market],
    stops: Sequence[Stopped] = (),
) -> Evidence:
    return Evidence(
        accounts={account.exchange: account for account in accounts},
        snapshot=snapshot,
        markets={(market.exchange, market.symbol): market for market in markets},
        stops=stops,
    )


def violations_of(evidence: Evidence) -> list[Violation]:
    """Return all violations, empty if there are none. The system must be at rest: nothing open, nothing in flight."""
    snapshot = evidence.snapshot
    return [
        *order_violations(evidence),
        *late_violations(evidence),
        *state_violations(evidence),
        *step_violations(evidence),
        *transfer_violations(evidence),
        *_reservation_violations(snapshot),
        *_liquidity_violations(snapshot),
        *_day_violations(snapshot),
        *_balance_violations(evidence),
    ]


def account_of(exchange: str, entries: Iterable[Entry]) -> AuditedAccount:
    """Return the account that a journal describes, each order in its last state."""
    opening: Mapping[str, Decimal] = {}
    orders: dict[str, SimulatedOrder] = {}
    fills: list[SimulatedFill] = []
    rejected: list[RejectedOrder] = []
    came_at: dict[str, int] = {}
    filled_since: dict[str, int] = {}
    withdrawals: dict[str, SimulatedWithdrawal] = {}
    deposits: list[SimulatedDeposit] = []
    for entry in entries:
        opening = {**opening, **entry.opening}
        orders.update((order.order_id, order) for order in entry.orders)
        fills += entry.fills
        withdrawals.update((one.withdrawal_id, one) for one in entry.withdrawals)
        deposits += entry.deposits
        rejected += [replace(one, at=entry.at or one.at) for one in entry.rejected]
        for order in entry.orders:
            came_at.setdefault(order.order_id, entry.at or order.placed_at)
        for fill in entry.fills:
            filled_since.setdefault(fill.order_id, entry.at)
    return AuditedAccount(
        exchange,
        opening,
        tuple(orders.values()),
        tuple(fills),
        tuple(rejected),
        came_at,
        filled_since,
        tuple(withdrawals.values()),
        tuple(deposits),
    )


def _reservation_violations(snapshot: StoreSnapshot) -> Iterator[Violation]:
    """Return violations: nothing is open at rest, so nothing may be held, claimed or counted as open."""
    for row in snapshot.balances:
        if row.held != 0:
            yield Violation("reservation_left", f"{text_of(row.held)} {row.currency} held on {row.exchange}")
    for key, arbitrage_id in snapshot.pairs.items():
        if arbitrage_id is not None:
            yield Violation("reservation_left", f"{key} is claimed", arbitrage_id)
    counters = {"arbitrages": decimal_of_whole(snapshot.open_arbitrages), **snapshot.notional}
    for key, counted in counters.items():
        if counted != 0:
            yield Violation("reservation_left", f"{key}: {text_of(counted)} counted as open")


def _liquidity_violations(snapshot: StoreSnapshot) -> Iterator[Violation]:
    for key, used in snapshot.liquidity.items():
        taken = _taken_of(snapshot, key)
        if used != taken:
            yield Violation("liquidity_differs", f"{key}: {text_of(used)} used, legs took {text_of(taken)}")


def _taken_of(snapshot: StoreSnapshot, key: str) -> Decimal:
    """Return the amount that the legs used of one side of one quote: reserved amounts count, filled or not."""
    taken = ZERO
    for arbitrage in snapshot.arbitrages:
        seen = {"buy": arbitrage.opportunity.buy, "sell": arbitrage.opportunity.sell}
        for leg in arbitrage.legs:
            if leg.role in ("buy", "sell") and f"{seen[leg.side].quote_id}|{leg.side}" == key:
                taken += leg.amount
    for cycle in snapshot.cycles:
        of_legs = zip(snapshot.used_by_cycles[cycle.trade_id], cycle.planned.legs, strict=True)
        taken += total(leg.amount for used, leg in of_legs if used == key)
    return taken


def _day_violations(snapshot: StoreSnapshot) -> Iterator[Violation]:
    """Return violations of the daily loss limit's count: it is the realised P&L of the day's arbitrages."""
    if snapshot.day_net is None:
        return
    day, counted = snapshot.day_net
    ended = [one for one in snapshot.trades if "ended" in one.times and _day_of(one.times["ended"]) == day]
    realised = total(_result_of(one) for one in ended)
    if counted != realised:
        yield Violation(
            "day_net_differs", f"{day}: {text_of(counted)} counted, realised P&L of the arbitrages {text_of(realised)}"
        )


def _result_of(arbitrage: Arbitrage | CycleTrade) -> Decimal:
    """Return its result; its whole notional counts as lost if a fee in a currency without a rate leaves it unknown."""
    if arbitrage.profit is not None:
        return arbitrage.profit.net
    is_valued = isinstance(arbitrage, CycleTrade) or arbitrage.strategy == "arbitrage"
    has_result = is_valued and any(leg.fills for leg in arbitrage.legs)
    return -arbitrage.notional if has_result else ZERO


def _day_of(moment: int) -> str:
    return datetime.fromtimestamp(moment // MICROSECONDS, UTC).date().isoformat()


def _balance_violations(evidence: Evidence) -> Iterator[Violation]:
    """Return violations: opening + fills − fees − withdrawals + deposits by the journal, the balance that the exchange
    reports and the store's row must be equal."""
    snapshot = evidence.snapshot
    for exchange, account in evidence.accounts.items():
        if exchange not in evidence.traded:
            continue
        sources = {
            "opening": (account.opening, snapshot.before.get(exchange)),
            "reported": (_balances_by_record(account, evidence), snapshot.after.get(exchange)),
            "stored": (
                _balances_by_record(account, evidence),
                {row.currency: row.free + row.held for row in snapshot.balances if row.exchange == exchange},
            ),
        }
        for name, (expected, found) in sources.items():
            if found is None:
                yield Violation("balance_missing", f"{exchange}: no {name} balances")
                continue
            yield from _differences(f"{exchange} {name}", expected, found)


def _balances_by_record(account: AuditedAccount, evidence: Evidence) -> dict[str, Decimal]:
    balances = dict(account.opening)
    for withdrawal in account.withdrawals:
        if withdrawal.state != "failed":
            balances[withdrawal.currency] = balances.get(withdrawal.currency, ZERO) - withdrawal.amount
    for deposit in account.deposits:
        balances[deposit.currency] = balances.get(deposit.currency, ZERO) + deposit.amount
    for fill in account.fills:
        market = evidence.markets[account.exchange, fill.symbol]
        sign = 1 if fill.side == "buy" else -1
        for currency, change in (
            (market.base, sign * fill.amount),
            (market.quote_currency, -sign * fill.cost),
            (fill.fee_currency, -fill.fee),
        ):
            balances[currency] = balances.get(currency, ZERO) + change
    return balances


def _differences(what: str, expected: Mapping[str, Decimal], found: Mapping[str, Decimal]) -> Iterator[Violation]:
    for currency in sorted(expected.keys() | found.keys()):
        right, recorded = expected.get(currency, ZERO), found.get(currency, ZERO)
        if right != recorded:
            detail = f"{what} {currency}: {text_of(recorded)}, by the exchange's record {text_of(right)}"
            yield Violation("balance_differs", detail)
