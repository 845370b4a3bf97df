"""Withdrawals and deposits of one account of a simulated exchange: taken, journalled, given back."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal

from market.accounting.transfer_terms import TransferTerms
from runtime.clock import Clock
from simulators.matching.exchange_journal import Entry, EntryLog
from simulators.matching.funded_account import FundedAccount
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.transfer_records import SimulatedDeposit, SimulatedWithdrawal


class WithdrawalRejectedError(RequestRejectedError):
    """No withdrawal was made; each exchange has its own words for `why`: `no_right`, `closed`, `unknown_address`,
    `too_little`, `too_much`, `id_used`."""

    def __init__(self, why: str, currency: str) -> None:
        super().__init__("invalid_request", f"withdrawal of {currency}: {why}")
        self.why = why


class Funding:
    """Whether anything can be withdrawn, `terms_of` says, as the network has it; by default nothing can."""

    def __init__(
        self, customer: FundedAccount, journal: EntryLog, clock: Clock, next_number: Callable[[], int]
    ) -> None:
        self._customer, self._journal, self._clock, self._next_number = customer, journal, clock, next_number
        self.may_withdraw = False
        """Whether the API key has the right to; each exchange says it of the key."""
        self.terms_of: Callable[[str], TransferTerms | None] = lambda _currency: None
        self.is_address: Callable[[str], bool] = lambda _address: False
        self.note_withdrawal: Callable[[], None] = lambda: None
        """Called once a withdrawal is journalled, before it is answered."""

    @property
    def withdrawals(self) -> Iterable[SimulatedWithdrawal]:
        """Oldest first."""
        return self._customer.withdrawals.values()

    @property
    def deposits(self) -> Iterable[SimulatedDeposit]:
        """What arrived since the account was opened, oldest first."""
        return self._customer.deposits.values()

    def withdraw(
        self,
        currency: str,
        amount: Decimal,
        address: str,
        name: Callable[[int, int], str],
        client_id: str | None = None,
    ) -> SimulatedWithdrawal:
        """Take the amount from the account and journal the withdrawal; `name`: (number, microseconds) → its id.

        Raises WithdrawalRejectedError: then there is none.
        """
        if not self.may_withdraw:
            raise WithdrawalRejectedError("no_right", currency)
        terms = self.terms_of(currency)
        if terms is None:
            raise WithdrawalRejectedError("closed", currency)
        if not self.is_address(address):
            raise WithdrawalRejectedError("unknown_address", currency)
        if amount < terms.minimum or amount <= terms.fee:
            raise WithdrawalRejectedError("too_little", currency)
        if amount > self._customer.available(currency):
            raise WithdrawalRejectedError("too_much", currency)
        if client_id is not None and any(one.client_id == client_id for one in self.withdrawals):
            raise WithdrawalRejectedError("id_used", currency)
        number, now = self._next_number(), self._clock.now()
        made = SimulatedWithdrawal(
            name(number, now), number, client_id, currency, amount, terms.fee, address, asked_at=now
        )
        self._book(made)
        self.note_withdrawal()
        return made

    def send(self, withdrawal: SimulatedWithdrawal, network_id: str) -> None:
        """Hand it to the network."""
        self._book(replace(withdrawal, state="done", network_id=network_id, ended_at=self._clock.now()))

    def give_back(self, withdrawal: SimulatedWithdrawal) -> None:
        self._book(replace(withdrawal, state="failed", ended_at=self._clock.now()))

    def receive(self, currency: str, amount: Decimal, network_id: str) -> None:
        """Credit what arrived; what the network delivers a second time changes nothing."""
        if network_id not in self._customer.deposits:
            deposit = SimulatedDeposit(self._next_number(), currency, amount, network_id, self._clock.now())
            self._customer.store_deposit(deposit)
            self._journal.write(Entry(deposits=(deposit,)))

    def _book(self, withdrawal: SimulatedWithdrawal) -> None:
        self._customer.store_withdrawal(withdrawal)
        self._journal.write(Entry(withdrawals=(withdrawal,)))
