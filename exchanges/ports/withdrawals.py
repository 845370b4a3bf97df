"""The port of an exchange's withdrawals and deposits."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from market.accounting.transfer_lifecycle import Deposit, Withdrawal


@dataclass(frozen=True, slots=True)
class WithdrawalAddress:
    """Where a withdrawal goes. `key`: the name under which the exchange knows the address, where it asks for one."""

    address: str
    key: str = ""
    network: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True)
class WithdrawalOrder:
    """One withdrawal to make; the fee is taken from `amount`. `client_id` is ours, for exchanges that keep one."""

    client_id: str
    currency: str
    amount: Decimal
    to: WithdrawalAddress


class TransferApi(Protocol):
    """One exchange's funding API; raises ccxt's errors and AnswerNotUnderstoodError. Currencies are our codes."""

    async def withdraw(self, order: WithdrawalOrder) -> str:
        """Post it, once; return the exchange's id of it."""
        ...

    async def withdrawals(self, currency: str, since: int) -> list[Withdrawal]:
        """All of the currency since then (microseconds of our clock), and maybe earlier ones."""
        ...

    async def deposits(self, currency: str, since: int) -> list[Deposit]:
        """Likewise."""
        ...


MakeTransferApi = Callable[[Any, Any], TransferApi]
"""Of ccxt's client and the exchange's order API on it: TRANSFERS in the `transfers` of an exchange's folder."""
