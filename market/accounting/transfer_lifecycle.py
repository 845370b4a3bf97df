"""One transfer of a currency between two exchanges, step by step, from a proposal to its arrival. Pure.

proposed → asked → sent → arrived, or dropped, failed, unknown. It is stored as `asked` before the exchange is asked,
once, by the process with that `token`; whoever comes later only looks up what became of it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from hashlib import sha256
from typing import Literal

from market.accounting.rebalancing import Transfer
from market.money import ZERO, BoundedDecimal, total
from market.time_units import MICROSECONDS
from market.trade.reservation_state import BalanceRow

TransferState = Literal["proposed", "asked", "sent", "arrived", "failed", "unknown", "dropped"]
OPEN_TRANSFERS: tuple[TransferState, ...] = ("asked", "sent", "unknown")
"""Money of these is on its way, or may be."""

NOT_FOUND = "not_found"
"""Why a transfer failed: the exchange lists no such withdrawal. It may still turn up: then the transfer goes on."""
REJECTED, NOT_ASKED = "rejected", "not_asked"
RETURNED = "returned"
"""The exchange took the withdrawal and gave the money back."""
SETTLED = "settled"
"""A person said that it never left."""
NO_ANSWER, LATE, AMBIGUOUS = "no_answer", "late", "ambiguous"
"""Why it is unknown. `ambiguous`: several withdrawals may be it."""
DropReason = Literal["not_confirmed", "not_wanted", "not_free", "declined", "no_address"]
"""`not_wanted`: another session proposed it, or transfers are off."""

SEARCH_SECONDS = 60
"""How long a withdrawal must be missing from the exchange's list until it counts as never made. The request is posted
within seconds of the step `asked`, or not at all."""
POST_SECONDS = 5
"""Time from the step `asked` within which it is posted, or not at all."""
LATE_FACTOR, LATE_SECONDS = 4, 900
"""Overdue after so many times what its terms say, and so many seconds."""
PROPOSAL_SECONDS = 3_600
"""A proposal that nobody confirmed by then is dropped: balances and fees are others."""

WithdrawalState = Literal["pending", "done", "failed"]
DepositState = Literal["pending", "credited", "failed"]
BalanceChange = tuple[str, str, Decimal, Decimal]
"""Exchange, currency, by how much free and held change."""


class TransferStepError(Exception):
    """A transfer cannot take this step from where it is."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """One withdrawal as its exchange lists it; `left`: what the account has less by it, its fee included."""

    withdrawal_id: str
    currency: str
    left: Decimal
    state: WithdrawalState
    asked_at: int
    """By our clock, microseconds, as far as the exchange's was measured."""
    client_id: str | None = None
    """Ours, where the exchange keeps one."""
    network_id: str | None = None
    """The transaction's, once it is on its way: the deposit has the same."""


@dataclass(frozen=True, slots=True)
class Deposit:
    """One deposit as its exchange lists it."""

    deposit_id: str
    currency: str
    amount: Decimal
    state: DepositState
    network_id: str | None = None


@dataclass(frozen=True, slots=True)
class MoneyTransfer:
    """One decision, which makes at most one withdrawal. `fee` is expected; `cost` is the same in the settlement
    currency. Times by the store's clock, microseconds, by state."""

    transfer_id: str
    currency: str
    source: str
    destination: str
    amount: BoundedDecimal
    fee: BoundedDecimal
    cost: BoundedDecimal
    seconds: int
    session_id: str = ""
    """The session that decided on it, whose realised net pays for it."""
    state: TransferState = "proposed"
    reason: str = ""
    times: Mapping[str, int] = field(default_factory=dict)
    confirmed_by: str = ""
    """Who let it go: an operator, or the configuration on paper. Nothing is asked of an exchange before."""
    token: int = 0
    """Of the lease of the process that asked."""
    withdrawal_id: str | None = None
    network_id: str | None = None
    left: BoundedDecimal | None = None
    """What the source has less by it, as the exchange says. None: nothing left it, as far as is known."""
    arrived: BoundedDecimal | None = None
    sessions: Mapping[str, str] = field(default_factory=dict)
    """`left`, `returned`, `arrived` → the session in whose books it is."""

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_TRANSFERS

    @property
    def is_wanted(self) -> bool:
        """Whether it is proposed or under way: no other takes its place."""
        return self.is_open or self.state == "proposed"

    @property
    def ends(self) -> frozenset[tuple[str, str]]:
        """Return the balances that it is about, by exchange and currency."""
        return frozenset({(self.source, self.currency), (self.destination, self.currency)})

    @property
    def is_across(self) -> bool:
        """Whether it left in one session's books and ended in another's, so that neither's balances have all of it."""
        return len(set(self.sessions.values())) > 1

    @property
    def arriving(self) -> Decimal:
        """How much is on its way; it belongs to neither exchange."""
        if not self.is_open or self.left is None:
            return ZERO
        return self.left - self.fee

    @property
    def lost(self) -> Decimal:
        """What it cost, in its own currency, as far as is known: what left and neither arrives nor came back."""
        if self.left is None or self.state == "failed":
            return ZERO
        return self.left - self.arrived if self.arrived is not None else self.fee

    @property
    def spent(self) -> Decimal:
        """What it costs of the realised net, or may."""
        return self.cost if self.is_wanted or self.state == "arrived" else ZERO


def proposed(transfer: Transfer, session_id: str, at: int, confirmed_by: str = "") -> MoneyTransfer:
    """Return the transfer of a plan as a proposal; `confirmed_by`: who lets all of them go."""
    parts = (session_id, transfer.currency, transfer.source, transfer.destination, str(at))
    return MoneyTransfer(
        transfer_id=sha256("\n".join(parts).encode()).hexdigest()[:32],
        currency=transfer.currency,
        source=transfer.source,
        destination=transfer.destination,
        amount=transfer.amount,
        fee=transfer.fee,
        cost=transfer.cost,
        seconds=transfer.seconds,
        session_id=session_id,
        times={"proposed": at},
        confirmed_by=confirmed_by,
    )


def confirmed(known: MoneyTransfer, who: str, at: int) -> MoneyTransfer:
    """Return the proposal, which may now be asked for. The same if it was confirmed before."""
    if known.confirmed_by:
        return known
    _check(known, "proposed")
    return replace(known, confirmed_by=who, times={**known.times, "confirmed": at})


def dropped(known: MoneyTransfer, reason: DropReason, at: int) -> MoneyTransfer:
    _check(known, "proposed")
    return _at(known, "dropped", at, reason)


def asked(known: MoneyTransfer, token: int, at: int) -> MoneyTransfer:
    """Return the step that allows one withdrawal: its process posts it now, once."""
    _check(known, "proposed")
    if not known.confirmed_by:
        raise TransferStepError(f"transfer {known.transfer_id} was not confirmed")
    return replace(_at(known, "asked", at), token=token)


def rejected(known: MoneyTransfer, at: int, reason: str = REJECTED) -> MoneyTransfer:
    """Return it failed: the exchange said no, in words, so nothing left."""
    _check(known, "asked", "unknown")
    _check_not_left(known)
    return _at(known, "failed", at, reason)


def not_found(known: MoneyTransfer, at: int) -> MoneyTransfer:
    """Return it failed if the exchange's list, asked for at `at`, had no such withdrawal and should have had it; else
    the same."""
    _check(known, "asked", "unknown")
    _check_not_left(known)
    return _at(known, "failed", at, NOT_FOUND) if is_searched(known, at) else known


def is_searched(known: MoneyTransfer, at: int) -> bool:
    """Whether a list of withdrawals of `at` must have it if it was ever made."""
    return at - known.times["asked"] >= (POST_SECONDS + SEARCH_SECONDS) * MICROSECONDS


def overdue(known: MoneyTransfer, at: int) -> MoneyTransfer:
    """Return it as unknown if it should have been answered, or have arrived, long ago; else the same."""
    if known.state == "asked" and is_searched(known, at):
        return _at(known, "unknown", at, NO_ANSWER)
    if known.state == "sent":
        patience = known.seconds * LATE_FACTOR + LATE_SECONDS
        if at - known.times["sent"] >= patience * MICROSECONDS:
            return _at(known, "unknown", at, LATE)
    return known


def with_withdrawal(known: MoneyTransfer, there: Withdrawal, at: int, session_id: str) -> MoneyTransfer:
    """Return what the exchange's own entry makes of it; the same if it says nothing new. A transfer that counted as
    never made goes on if it turns up."""
    turned_up = known.state == "failed" and known.reason == NOT_FOUND
    if not known.is_open and not turned_up:
        return known
    named = replace(known, withdrawal_id=there.withdrawal_id, network_id=there.network_id or known.network_id)
    if there.state == "failed":
        if known.left is None:
            return known if turned_up else _at(named, "failed", at, REJECTED)
        return _in_session(_at(named, "failed", at, RETURNED), "returned", session_id)
    if known.left is not None:
        # what the answer to the request left open, such as a fee on top
        return replace(named, left=there.left)
    return _in_session(replace(_at(named, "sent", at), left=there.left), "left", session_id)


def with_deposit(known: MoneyTransfer, there: Deposit, at: int, session_id: str) -> MoneyTransfer:
    """Return it arrived if the destination has credited it; else the same."""
    if not known.is_open or known.left is None or there.state != "credited":
        return known
    return _in_session(replace(_at(known, "arrived", at), arrived=there.amount), "arrived", session_id)


def ambiguous(known: MoneyTransfer, at: int) -> MoneyTransfer:
    """Return it as unknown if several withdrawals may be it."""
    return _at(known, "unknown", at, AMBIGUOUS) if known.state == "asked" else overdue(known, at)


def settled(
    known: MoneyTransfer, left: Decimal | None, arrived: Decimal | None, at: int, session_at: Callable[[str], str]
) -> MoneyTransfer:
    """Return what a person says became of a transfer that is unknown: what its source has less by it (None: nothing
    left, or it came back), and what its destination got (None: nothing yet; 0: it is lost). `session_at`: exchange →
    the session whose books are open there.

    Raises TransferStepError.
    """
    late = overdue(known, at)
    _check(late, "unknown")
    if left is None and arrived is None:
        if late.left is None:
            return _at(late, "failed", at, SETTLED)
        return _in_session(_at(late, "failed", at, RETURNED), "returned", session_at(late.source))
    if left is None or left <= 0 or not 0 <= (arrived or ZERO) <= left:
        raise TransferStepError(
            f"transfer {late.transfer_id} left with more than 0, and arrived with no more than left"
        )
    if late.left not in (None, left):
        raise TransferStepError(f"transfer {late.transfer_id} left {late.source} with {late.left}, as that says")
    gone = replace(_at(late, "sent", at), left=left)
    if late.left is None:
        gone = _in_session(gone, "left", session_at(late.source))
    if arrived is None:
        return gone
    return _in_session(replace(_at(gone, "arrived", at), arrived=arrived), "arrived", session_at(late.destination))


def positions(known: MoneyTransfer) -> dict[tuple[str, str], tuple[Decimal, Decimal]]:
    """Return (exchange, currency) → by how much free and held differ because of the transfer as it stands.

    What may leave is held; what left belongs to nobody until it arrives, so that nothing counts on it.
    """
    source, destination = (known.source, known.currency), (known.destination, known.currency)
    if known.is_open and known.left is None:
        return {source: (-known.amount, known.amount)}
    if known.left is None or known.state == "failed":
        return {}
    gone = {source: (-known.left, ZERO)}
    return gone if known.arrived is None else gone | {destination: (known.arrived, ZERO)}


def changes_between(before: MoneyTransfer, after: MoneyTransfer) -> list[BalanceChange]:
    """Return what a step changes in the balance rows."""
    old, new = positions(before), positions(after)
    nothing = (ZERO, ZERO)
    changes = [
        (*key, new.get(key, nothing)[0] - old.get(key, nothing)[0], new.get(key, nothing)[1] - old.get(key, nothing)[1])
        for key in dict.fromkeys((*old, *new))
    ]
    return [change for change in changes if change[2] or change[3]]


def changed_row(row: BalanceRow, change: BalanceChange) -> BalanceRow:
    return replace(row, free=row.free + change[2], held=row.held + change[3])


def booked_in(transfers: Iterable[MoneyTransfer], session_id: str) -> dict[tuple[str, str], Decimal]:
    """Return (exchange, currency) → what transfers moved in the books of that session; between two exchanges a fee
    goes missing, which is their cost."""
    moved: dict[tuple[str, str], Decimal] = {}
    for one in transfers:
        left, arrived = one.left or ZERO, one.arrived or ZERO
        for step, exchange, amount in (
            ("left", one.source, -left),
            ("returned", one.source, left),
            ("arrived", one.destination, arrived),
        ):
            if one.sessions.get(step) == session_id:
                key = (exchange, one.currency)
                moved[key] = moved.get(key, ZERO) + amount
    return {key: amount for key, amount in moved.items() if amount}


def still_ours(transfers: Iterable[MoneyTransfer], session_id: str) -> dict[str, Decimal]:
    """Return currency → what the session's balances do not have for what is on its way, and less what arrived of an
    earlier session's: with it all exchanges together have as much more or less than at the opening as trades and fees
    made."""
    known, sums = list(transfers), dict[str, Decimal]()
    for (_, currency), amount in booked_in(known, session_id).items():
        sums[currency] = sums.get(currency, ZERO) - amount
    for one in known:
        if one.lost and one.sessions.get("left") == session_id:
            sums[one.currency] = sums.get(one.currency, ZERO) - one.lost
    return {currency: amount for currency, amount in sums.items() if amount}


def is_taken(ends: frozenset[tuple[str, str]], transfers: Iterable[MoneyTransfer]) -> bool:
    """Whether one of these balances, by exchange and currency, is in a transfer that is wanted: then no other one
    begins, so that whatever an exchange says of a balance is explained by one transfer."""
    return any(one.is_wanted and not ends.isdisjoint(one.ends) for one in transfers)


def costs_of(transfers: Iterable[MoneyTransfer], session_id: str = "") -> Decimal:
    """Return what those that the session decided on cost in the settlement currency, as valued when each was proposed:
    those that are under way or proposed count, since they may be spent."""
    return total(one.spent for one in transfers if one.session_id == session_id)


def _check(known: MoneyTransfer, *states: TransferState) -> None:
    if known.state not in states:
        raise TransferStepError(f"transfer {known.transfer_id} is {known.state}, not {' or '.join(states)}")


def _check_not_left(known: MoneyTransfer) -> None:
    if known.left is not None:
        raise TransferStepError(f"transfer {known.transfer_id} has left {known.source}")


def _at(known: MoneyTransfer, state: TransferState, at: int, reason: str = "") -> MoneyTransfer:
    return replace(known, state=state, reason=reason, times={**known.times, state: at})


def _in_session(known: MoneyTransfer, step: str, session_id: str) -> MoneyTransfer:
    return replace(known, sessions={**known.sessions, step: session_id})
