"""The port of an exchange account; two adapters pass one contract test: ccxt private API, local paper account."""

from collections.abc import Collection
from decimal import Decimal
from typing import Protocol

from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport


class TradingAccount(Protocol):
    """One funded account on one exchange. Calls may be slow; an acknowledged order is never lost."""

    @property
    def exchange(self) -> str: ...

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        """Post the order once; the report may not be final yet. `permit` is checked last, right before the request is
        sent.

        Raises OrderRejectedError (there is no order), OutcomeUnknownError (look it up), AccountRejectedError,
        NotPostedError (from `permit`; nothing was sent).
        """
        ...

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        """Return the exchange's report of the order; None if it has no such order.

        `others`: exchange order ids of all other known orders. An exchange without client order ids could mistake one
        of them for this order, since the search goes far back to allow for clock differences. Fills carry fees and
        costs as the exchange reported them. Raises ExchangeUnavailableError, AccountRejectedError,
        OutcomeUnknownError if several orders match (a person must decide).
        """
        ...

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        """Ask the exchange to cancel what is left of an acknowledged order; only a look-up says what became of it.

        Raises ExchangeUnavailableError, at some exchanges also if the order has ended; AccountRejectedError.
        """
        ...

    async def open_orders(self) -> list[OpenOrder]:
        """All open orders on the account's markets, whoever placed them.

        Raises ExchangeUnavailableError, AccountRejectedError.
        """
        ...

    async def fills_since(self, since: int) -> list[AccountFill]:
        """Every fill on the account's markets since `since` (microseconds of our clock), each once, oldest first,
        whoever placed its order. Fills of some minutes before may be included, since clocks differ. Every exchange
        reports at least a day.

        Raises ExchangeUnavailableError, AccountRejectedError.
        """
        ...

    async def balances(self) -> dict[str, Decimal]:
        """Total per currency, with the exchange's own digits.

        Raises ExchangeUnavailableError, AccountRejectedError.
        """
        ...

    async def close(self) -> None: ...
