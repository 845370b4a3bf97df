"""The port of an exchange account; two adapters pass one contract test: ccxt private API, local paper account."""

from decimal import Decimal
from typing import Protocol

from market.orders import LimitOrder, OrderReport


class TradingAccount(Protocol):
    """One funded account on one exchange. May be slow; loses nothing that it acknowledged."""

    @property
    def exchange(self) -> str: ...

    async def place(self, order: LimitOrder) -> OrderReport:
        """Post the order, once; the report may not be final yet.

        Raises OrderRefusedError (there is no order), OutcomeUnknownError (look it up), AccountRefusedError.
        """
        ...

    async def look_up(self, order: LimitOrder) -> OrderReport | None:
        """What the exchange knows of the order, found by the exchange's own means; None where it knows none.

        Fills carry fees and costs as the exchange reported them. Raises ExchangeUnavailableError, OutcomeUnknownError
        where more than one order may be it (a person must tell), AccountRefusedError.
        """
        ...

    async def balances(self) -> dict[str, Decimal]:
        """Total per currency, to the digit as the exchange reports it.

        Raises ExchangeUnavailableError, AccountRefusedError.
        """
        ...

    async def close(self) -> None: ...
