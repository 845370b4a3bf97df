"""Records of what the customer withdraws and what arrives, and by which terms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from market.accounting.transfer_terms import TransferTerms
from market.money import BoundedDecimal


@dataclass(frozen=True, slots=True)
class SimulatedWithdrawal:
    """`amount` leaves the account, `fee` of it is the exchange's; times in microseconds. It is `done` once it is on the
    network, whose id it then has; one that failed was given back."""

    withdrawal_id: str
    number: int
    client_id: str | None
    currency: str
    amount: BoundedDecimal
    fee: BoundedDecimal
    address: str
    asked_at: int
    state: Literal["pending", "done", "failed"] = "pending"
    network_id: str = ""
    ended_at: int = 0


@dataclass(frozen=True, slots=True)
class SimulatedDeposit:
    """What arrived and was credited."""

    number: int
    currency: str
    amount: BoundedDecimal
    network_id: str
    at: int


@dataclass(frozen=True, slots=True)
class TransferConditions:
    """How networks behave here. Nothing can be withdrawn of a currency without terms."""

    terms: Mapping[tuple[str, str], TransferTerms] = field(default_factory=dict)
    """(exchange, currency) → them."""
    speed: float = 1.0
    """How many times faster than the terms say."""
    returned_share: float = 0.0
    """Of withdrawals, those that the exchange takes and then gives back."""
    closed_share: float = 0.0
    """Of the time, in which a currency cannot be withdrawn from an exchange."""


NO_TRANSFERS = TransferConditions()
