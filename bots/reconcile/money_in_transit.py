"""Who knows what is on its way to and from an exchange, so that its balances can be compared without it."""

from typing import Protocol


class MoneyInTransit(Protocol):
    async def settle(self, session_id: str | None = None) -> int:
        """Book what the exchange says of withdrawals and deposits by now; return how many there were. `session_id`: ""
        while no session's books are open. Raises StoreError, ExchangeError."""
        ...

    async def in_question(self) -> frozenset[str]:
        """Return the currencies of which some may have left or arrived, and nobody knows. Raises
        StoreUnavailableError."""
        ...


class NothingInTransit:
    """Of accounts between which nothing is sent."""

    async def settle(self, session_id: str | None = None) -> int:
        return 0

    async def in_question(self) -> frozenset[str]:
        return frozenset()
