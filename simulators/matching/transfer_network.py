"""The networks between the simulated exchanges: what becomes of each withdrawal, and when. Deterministic."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from random import Random

from exchanges.simulated_addresses import account_at
from market.accounting.transfer_terms import TransferTerms
from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.transfer_records import NO_TRANSFERS, SimulatedWithdrawal, TransferConditions

_LEAST_SECONDS = 1.0
_CLOSING_SECONDS = 60
"""A currency is closed for whole minutes."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a withdrawal: seconds until the exchange has handed it on, or given it back, and until it
    arrives."""

    handled_after: float
    arrives_after: float
    is_returned: bool


def fate_of(seed: int, account: str, place: int, terms: TransferTerms, conditions: TransferConditions) -> Fate:
    """Return the fate of an account's withdrawal at that `place`, counted from 0: the same in every run."""
    random = Random(f"{seed}:{account}:withdrawal:{place}")  # noqa: S311 – a network's delay, no secret
    seconds = max(_LEAST_SECONDS, terms.seconds * random.uniform(0.7, 1.3) / conditions.speed)
    return Fate(seconds / 3, seconds, random.random() < conditions.returned_share)


@dataclass(slots=True)
class TransferNetwork:
    """Carries withdrawals between `accounts`, each by its own name."""

    accounts: Mapping[str, SimulatedExchange]
    clock: Clock
    conditions: TransferConditions = NO_TRANSFERS
    seed: int = 1
    _ended: dict[str, set[int]] = field(default_factory=dict)
    """Account → the places of its withdrawals that nothing more becomes of."""

    def connect(self) -> None:
        """Let the accounts withdraw by the conditions."""
        for name, exchange in self.accounts.items():
            exchange.funding.may_withdraw = any(of in (name, exchange.name) for of, _ in self.conditions.terms)
            exchange.funding.terms_of = partial(self.terms_now, name)
            exchange.funding.is_address = self._is_address

    def terms_now(self, account: str, currency: str) -> TransferTerms | None:
        """Return what a withdrawal costs; None if the currency cannot be withdrawn now."""
        minute = self.clock.now() // (_CLOSING_SECONDS * MICROSECONDS)
        random = Random(f"{self.seed}:{account}:{currency}:closed:{minute}")  # noqa: S311 – as above
        is_closed = random.random() < self.conditions.closed_share
        return None if is_closed else self._terms(account, currency)

    def step(self, venue: str) -> None:
        """Carry on with whatever left an exchange's accounts and is due."""
        for name, exchange in self.accounts.items():
            if exchange.name != venue:
                continue
            ended = self._ended.setdefault(name, set())
            for place, withdrawal in self._under_way(name):
                terms = self._terms(name, withdrawal.currency)
                if terms is None or not self._is_address(withdrawal.address):
                    # of an earlier session with other exchanges, it waits for one that has them
                    continue
                if self._has_ended(exchange, name, place, withdrawal, terms):
                    ended.add(place)

    def _under_way(self, account: str) -> Iterator[tuple[int, SimulatedWithdrawal]]:
        ended = self._ended[account]
        for place, withdrawal in enumerate(tuple(self.accounts[account].funding.withdrawals)):
            if place not in ended:
                yield place, withdrawal

    def _has_ended(
        self,
        exchange: SimulatedExchange,
        account: str,
        place: int,
        withdrawal: SimulatedWithdrawal,
        terms: TransferTerms,
    ) -> bool:
        """Take the step that is due; return whether it was the last."""
        fate = fate_of(self.seed, account, place, terms, self.conditions)
        # by the clock that it was dated by, which a fault may skew
        age = (exchange.clock.now() - withdrawal.asked_at) / MICROSECONDS
        if withdrawal.state == "failed":
            return True
        if withdrawal.state == "pending":
            if age >= fate.handled_after and fate.is_returned:
                exchange.funding.give_back(withdrawal)
                return True
            if age >= fate.handled_after:
                exchange.funding.send(withdrawal, _network_id(account, withdrawal))
            return False
        if age < fate.arrives_after:
            return False
        destination = self.accounts[account_at(withdrawal.address)]
        destination.funding.receive(withdrawal.currency, withdrawal.amount - withdrawal.fee, withdrawal.network_id)
        return True

    def _terms(self, account: str, currency: str) -> TransferTerms | None:
        known = self.conditions.terms
        return known.get((account, currency)) or known.get((self.accounts[account].name, currency))

    def _is_address(self, address: str) -> bool:
        return account_at(address) in self.accounts


def _network_id(account: str, withdrawal: SimulatedWithdrawal) -> str:
    return sha256(f"{account}:{withdrawal.withdrawal_id}".encode()).hexdigest()
