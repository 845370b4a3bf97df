"""Which withdrawal, and which deposit, of an exchange's lists belongs to a transfer. Pure."""

from collections.abc import Collection, Iterable

from market.accounting.transfer_lifecycle import Deposit, MoneyTransfer, Withdrawal
from market.time_units import MICROSECONDS

CLOCK_MARGIN = 60 * MICROSECONDS
"""An exchange's clock may have moved by so much since it was measured, and the store's be off from ours."""


class AmbiguousWithdrawalError(Exception):
    """Several withdrawals may be this transfer's: a person must look."""


def withdrawal_of(
    transfer: MoneyTransfer, listed: Iterable[Withdrawal], of_others: Collection[str] = ()
) -> Withdrawal | None:
    """Return the transfer's withdrawal: by the exchange's id, by ours, or where the exchange keeps none of ours, the
    one of that amount since it was asked for that is no other transfer's (`of_others`: their ids).

    Raises AmbiguousWithdrawalError.
    """
    found = list(listed)
    if transfer.withdrawal_id is not None:
        return next((one for one in found if one.withdrawal_id == transfer.withdrawal_id), None)
    named = [one for one in found if one.client_id == transfer.transfer_id]
    if not named:
        since = transfer.times["asked"] - CLOCK_MARGIN
        named = [
            one
            for one in found
            if one.client_id is None
            and one.withdrawal_id not in of_others
            and (one.currency, one.left) == (transfer.currency, transfer.amount)
            and one.asked_at >= since
        ]
    if len(named) > 1:
        raise AmbiguousWithdrawalError(
            f"{transfer.source} has {len(named)} withdrawals that may be transfer {transfer.transfer_id}"
        )
    return named[0] if named else None


def deposit_of(transfer: MoneyTransfer, listed: Iterable[Deposit]) -> Deposit | None:
    """Return the deposit with the network's id of the transfer; None until the source has said that id."""
    if transfer.network_id is None:
        return None
    of_it = (one for one in listed if one.network_id == transfer.network_id and one.currency == transfer.currency)
    return next(of_it, None)
