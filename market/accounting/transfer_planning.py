"""What to transfer next: the rebalancing plan over what is free, what is on its way, and what may be spent. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from market.accounting.inventory import Amounts, Target, Values, inventory_of
from market.accounting.rebalancing import TOLERANCE, RebalancingPlan, Transfer, rebalancing_plan
from market.accounting.transfer_lifecycle import PROPOSAL_SECONDS, MoneyTransfer, costs_of, is_taken
from market.accounting.transfer_terms import TransferTerms
from market.money import ZERO, BoundedDecimal
from market.time_units import MICROSECONDS
from market.trade.reservation_state import BalanceRow

PAPER = "paper"
"""Who confirms transfers between simulated exchanges, if the configuration says so."""


@dataclass(frozen=True, slots=True)
class TransferRules:
    """Whether and when transfers are made. `is_on`: on paper they are carried out; with money they are proposed, and an
    operator confirms each."""

    is_on: bool = False
    every_seconds: int = 300
    tolerance: BoundedDecimal = TOLERANCE
    target: Target = "opening"


OFF = TransferRules()


def rows_with_arriving(rows: Iterable[BalanceRow], transfers: Iterable[MoneyTransfer]) -> list[BalanceRow]:
    """Return the rows with what is on its way as held where it will arrive: it counts as there, and cannot be sent."""
    arriving: dict[tuple[str, str], Decimal] = {}
    for one in transfers:
        if one.arriving:
            key = (one.destination, one.currency)
            arriving[key] = arriving.get(key, ZERO) + one.arriving
    return [replace(row, held=row.held + arriving.get((row.exchange, row.currency), ZERO)) for row in rows]


def usable_rows(rows: Iterable[BalanceRow]) -> list[BalanceRow]:
    """Return the rows with no more free than the exchange has, too."""
    return [replace(row, free=row.usable) for row in rows]


def counted_rows(rows: Iterable[BalanceRow], transfers: Iterable[MoneyTransfer]) -> list[BalanceRow]:
    """Return the rows as the plan counts them."""
    return rows_with_arriving(usable_rows(rows), transfers)


def plan_of(
    rows: Sequence[BalanceRow],
    opening: Amounts,
    transfers: Sequence[MoneyTransfer],
    terms: Mapping[tuple[str, str], TransferTerms],
    values: Values,
    net: Decimal,
    rules: TransferRules = OFF,
    session_id: str = "",
) -> RebalancingPlan:
    """Return the plan from where money is now and will be. `net`: realised since the session's opening, of which its
    own `transfers` have spent some; they are all that are open, and all of the session."""
    counted = counted_rows(rows, transfers)
    holdings = inventory_of(counted, opening, (), values, (), rules.target).holdings
    return rebalancing_plan(holdings, terms, values, net - costs_of(transfers, session_id), rules.tolerance)


def next_transfers(plan: RebalancingPlan, transfers: Sequence[MoneyTransfer]) -> tuple[Transfer, ...]:
    """Return those of the plan that can begin now, no balance in two of them."""
    begun: list[Transfer] = []
    ends: set[tuple[str, str]] = set()
    for one in plan.transfers:
        if not is_taken(one.ends, transfers) and ends.isdisjoint(one.ends):
            begun.append(one)
            ends |= one.ends
    return tuple(begun)


def with_own_amount(transfer: Transfer, known: Iterable[MoneyTransfer], terms: TransferTerms) -> Transfer | None:
    """Return the transfer with an amount that no other known withdrawal of the currency from that exchange has: where
    an exchange keeps no id of ours, the amount tells whose it is. None if none is left that may be sent."""
    used = {one.amount for one in known if (one.source, one.currency) == (transfer.source, transfer.currency)}
    amount = transfer.amount
    while amount in used:
        amount -= terms.step
    return None if amount < terms.minimum or amount <= terms.fee else replace(transfer, amount=amount)


def is_outdated(proposal: MoneyTransfer, now: int) -> bool:
    """Whether nobody confirmed it for so long that its amount and fee are guesses."""
    waits = proposal.state == "proposed" and not proposal.confirmed_by
    return waits and now - proposal.times["proposed"] >= PROPOSAL_SECONDS * MICROSECONDS
