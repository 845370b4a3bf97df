"""The test account's ledger: each change of a balance, from the opening deposits on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from heapq import merge

from market.money import ZERO
from simulators.matching.funded_account import FundedAccount
from simulators.matching.listings import Listing
from simulators.matching.order_records import SimulatedFill


@dataclass(frozen=True, slots=True)
class LedgerChange:
    """One change: an opening deposit, one currency of a `fill`, a withdrawal, its return, or a deposit, by what it is
    of. `number` counts from 1, `at` in microseconds."""

    number: int
    at: int
    currency: str
    amount: Decimal
    """With its sign, and without the fee."""
    fee: Decimal
    balance: Decimal
    """The balance after it."""
    fill: SimulatedFill | None = None
    withdrawal_id: str = ""
    deposit_number: int | None = None
    """As the list of deposits has it; those that opened the account count from 0."""

    @property
    def is_withdrawal(self) -> bool:
        return self.fill is None and self.amount < 0


def ledger_of(account: FundedAccount, listings: Mapping[str, Listing]) -> list[LedgerChange]:
    """Return the changes, oldest first. A row keeps its number."""
    balances, rows = dict.fromkeys(account.balances, ZERO), list[LedgerChange]()

    def book(change: _Change) -> None:
        currency, fee = change.currency, change.fee
        balances[currency] = balances.get(currency, ZERO) + change.amount - fee
        rows.append(
            LedgerChange(
                len(rows) + 1,
                change.at,
                currency,
                change.amount,
                fee,
                balances[currency],
                change.fill,
                change.withdrawal_id,
                change.deposit_number,
            )
        )

    for number, (currency, amount) in enumerate(account.opening.items()):
        book(_Change(account.opened_at, currency, amount, deposit_number=number))
    transfers = sorted(_transfers(account), key=lambda one: one.at)
    for change in merge(_trades(account, listings), transfers, key=lambda one: one.at):
        book(change)
    return rows


@dataclass(frozen=True, slots=True)
class _Change:
    at: int
    currency: str
    amount: Decimal
    fee: Decimal = ZERO
    fill: SimulatedFill | None = None
    withdrawal_id: str = ""
    deposit_number: int | None = None


def _trades(account: FundedAccount, listings: Mapping[str, Listing]) -> Iterator[_Change]:
    for fill in account.orders.oldest_fills():
        market, sign = listings[fill.symbol].market, 1 if fill.side == "buy" else -1
        for currency, amount in ((market.base, sign * fill.amount), (market.quote_currency, -sign * fill.cost)):
            fee = fill.fee if fill.fee_currency == currency else ZERO
            yield _Change(fill.filled_at, currency, amount, fee, fill)


def _transfers(account: FundedAccount) -> Iterator[_Change]:
    for one in account.withdrawals.values():
        # with the fee apart, as in a fill
        net = one.amount - one.fee
        yield _Change(one.asked_at, one.currency, -net, one.fee, withdrawal_id=one.withdrawal_id)
        if one.state == "failed":
            yield _Change(one.ended_at, one.currency, net, -one.fee, withdrawal_id=one.withdrawal_id)
    for arrived in account.deposits.values():
        yield _Change(arrived.at, arrived.currency, arrived.amount, deposit_number=arrived.number)
