"""What a step of a transfer is decided on, and what it writes, whatever keeps it. Pure."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Literal

from market.accounting.transfer_lifecycle import (
    NOT_FOUND,
    MoneyTransfer,
    asked,
    changed_row,
    changes_between,
    costs_of,
    dropped,
    is_taken,
)
from market.trade.leases import Actor
from market.trade.reservation_state import BalanceRow

Step = Callable[[MoneyTransfer, int], MoneyTransfer]
"""A transfer as it is stored, and the server's time → as it is next; the same if nothing follows."""
RowOf = Callable[[str, str], BalanceRow]
NotProposed = Literal["taken", "costs_more_than_earned"]
TURNED_UP_DAYS = 1
"""How long a withdrawal that counts as never made is looked for."""


def refusal(wanted: MoneyTransfer, known: Iterable[MoneyTransfer], net: Decimal) -> NotProposed | None:
    """Why a proposal is not stored: a balance of it is in another transfer, or it would cost more than is left of the
    session's realised net."""
    others = list(known)
    if is_taken(wanted.ends, others):
        return "taken"
    if wanted.cost and costs_of([*others, wanted], wanted.session_id) > net:
        return "costs_more_than_earned"
    return None


def asked_step(row_of: RowOf, by: Actor) -> Step:
    """Return the step to `asked`, or to `dropped` if the source has too little by now; a transfer that somebody asked
    for before stays as it is."""

    def step(known: MoneyTransfer, now: int) -> MoneyTransfer:
        if known.state != "proposed" or not known.confirmed_by:
            return known
        if row_of(known.source, known.currency).usable < known.amount:
            return dropped(known, "not_free", now)
        return asked(known, by.token, now)

    return step


def changed_rows(before: MoneyTransfer, after: MoneyTransfer, row_of: RowOf) -> list[BalanceRow]:
    """Return the balance rows that a step changes, as they are after it."""
    return [changed_row(row_of(*change[:2]), change) for change in changes_between(before, after)]


def may_turn_up(transfer: MoneyTransfer) -> bool:
    return transfer.state == "failed" and transfer.reason == NOT_FOUND
