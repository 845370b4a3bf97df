"""Compares the exchanges' withdrawals and deposits with the decisions to make them. Pure."""

from collections.abc import Iterator, Sequence

from launch.chaos.audit.records import Evidence, Violation
from market.accounting.transfer_lifecycle import MoneyTransfer
from simulators.matching.transfer_records import SimulatedWithdrawal


def transfer_violations(evidence: Evidence) -> Iterator[Violation]:
    """Return violations: each withdrawal belongs to one decision, each decision has at most one, and what the books say
    left or arrived did."""
    decisions = evidence.snapshot.transfers
    made: dict[str, list[SimulatedWithdrawal]] = {one.transfer_id: [] for one in decisions}
    for exchange, account in evidence.accounts.items():
        for withdrawal in account.withdrawals:
            owner = _owner(exchange, withdrawal, decisions)
            if owner is None:
                what = f"{exchange}: {withdrawal.withdrawal_id} of {withdrawal.amount} {withdrawal.currency}"
                yield Violation("withdrawal_unknown", f"{what} belongs to no decision")
            else:
                made[owner.transfer_id].append(withdrawal)
    for decision in decisions:
        yield from _of_decision(decision, made[decision.transfer_id], evidence)


def _owner(exchange: str, withdrawal: SimulatedWithdrawal, decisions: Sequence[MoneyTransfer]) -> MoneyTransfer | None:
    """Return the decision by our id, by the exchange's, or by what no other has: its amount."""
    own = [one for one in decisions if one.source == exchange and "asked" in one.times]
    named = [one for one in own if withdrawal.client_id == one.transfer_id]
    listed = [one for one in own if one.withdrawal_id == withdrawal.withdrawal_id]
    alike = [one for one in own if (one.currency, one.amount) == (withdrawal.currency, withdrawal.amount)]
    return next(iter([*named, *listed, *alike]), None)


def _of_decision(
    decision: MoneyTransfer, made: Sequence[SimulatedWithdrawal], evidence: Evidence
) -> Iterator[Violation]:
    name = f"transfer {decision.transfer_id} of {decision.amount} {decision.currency} from {decision.source}"
    if len(made) > 1:
        yield Violation("withdrawal_twice", f"{name}: {len(made)} withdrawals came to the exchange")
        return
    if decision.is_open:
        yield Violation("transfer_left_open", f"{name} is {decision.state} at rest")
        return
    was_sent = bool(made) and made[0].state != "failed"
    if was_sent != (decision.state == "arrived"):
        there = made[0].state if made else "not there"
        yield Violation("transfer_differs", f"{name} is {decision.state}, its withdrawal {there}")
    if decision.state == "arrived" and was_sent and made:
        account = evidence.accounts.get(decision.destination)
        arrived = [] if account is None else [one for one in account.deposits if one.network_id == made[0].network_id]
        if [one.amount for one in arrived] != [decision.arrived] or made[0].amount != decision.left:
            yield Violation("transfer_differs", f"{name}: {decision.arrived} booked, not as the exchange credited it")
