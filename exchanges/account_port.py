"""The port of an exchange account; two adapters pass one contract test: ccxt private API, local paper account."""

from collections.abc import Collection
from decimal import Decimal
from typing import Protocol

from exchanges.requests.order_permits import ANY_TIME, Permit
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport


class TradingAccount(Protocol):
    """One funded account on one exchange. May be slow; loses nothing that it acknowledged."""

    @property
    def exchange(self) -> str: ...

    async def place(self, order: LimitOrder, permit: Permit = ANY_TIME) -> OrderReport:
        """Post the order, once; the report may not be final yet. `permit` is asked when nothing is left to be waited
        for: what it raises, NotPostedError, comes out, and nothing has left this machine.

        Raises OrderRejectedError (there is no order), OutcomeUnknownError (look it up), AccountRejectedError,
        NotPostedError.
        """
        ...

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        """What the exchange knows of the order, found by the exchange's own means; None where it knows none.

        `others`: the exchange's ids of all orders known to be something else, which an exchange without client ids
        could take for this one: it looks back far, since no two clocks are alike. Fills carry fees and costs as the
        exchange reported them. Raises ExchangeUnavailableError,
        OutcomeUnknownError where more than one order may be it (a person must tell), AccountRejectedError.
        """
        ...

    async def open_orders(self) -> list[OpenOrder]:
        """All that rests on the account's markets, whoever placed it.

        Raises ExchangeUnavailableError, AccountRejectedError.
        """
        ...

    async def fills_since(self, since: int) -> list[AccountFill]:
        """Every fill on the account's markets since `since` (microseconds of our clock), each once, oldest first,
        whoever placed its order; those of some minutes before may be among them, since clocks are not alike. A day is
        the longest that every exchange tells.

        Raises ExchangeUnavailableError, AccountRejectedError.
        """
        ...

    async def balances(self) -> dict[str, Decimal]:
        """Total per currency, to the digit as the exchange reports it.

        Raises ExchangeUnavailableError, AccountRejectedError.
        """
        ...

    async def close(self) -> None: ...
