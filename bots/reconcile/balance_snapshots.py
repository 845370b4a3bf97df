"""Stores the balances that the exchange reports before the session's first order and after its last."""

from dataclasses import dataclass, field

from bots.execute.due_actions import has_leg_at
from bots.reconcile.money_in_transit import MoneyInTransit, NothingInTransit
from exchanges.errors import ExchangeError
from exchanges.ports.account import TradingAccount
from exchanges.requests.rate_budget import requests_for
from market.trade.leases import Actor
from store.errors import StoreError
from store.ports.trading import OrderStore


@dataclass(slots=True)
class BalanceSnapshots:
    """The opening and closing balances of one exchange."""

    store: OrderStore
    account: TradingAccount
    by: Actor
    closed: bool = False
    transit: MoneyInTransit = field(default_factory=NothingInTransit)

    async def ensure_opening(self) -> bool:
        """Whether the opening balances are stored; fetches and stores them, once, while nothing is open at the
        exchange.

        A bot that restarts during a session keeps the stored rows: the exchange's balances may include a late fill,
        which would be counted again once it is booked. Reconciliation compares both.
        Raises StoreUnavailableError, ExchangeUnavailableError.
        """
        before, _ = await self.store.balances.of_session()
        if self.account.exchange in before:
            return True
        exchange = self.account.exchange
        # results first: one that is booked in between may have opened its arbitrage again
        if any(result.exchange == exchange for result in await self.store.order_results()):
            # the exchange's balances have it in them, and it would be booked on top of them
            return False
        if has_leg_at(await self.store.open_trades(), exchange):
            return False
        # what arrived before is in the balances, so it is booked before; what arrived meanwhile may be in them or not
        await self.transit.settle("")
        balances = await self.account.balances()
        # nor is it known what is in them while a withdrawal was neither answered nor listed
        if await self.transit.settle("") or await self.transit.in_question():
            return False
        await self.store.balances.replace(exchange, balances, "before", self.by)
        return True

    def record_change(self) -> None:
        """Record that an order or a late fill was reported: closing balances taken before it are outdated."""
        self.closed = False

    async def close(self) -> None:
        """Store the closing balances, again after each change, once nothing is open at the exchange.

        Raises StoreUnavailableError, ExchangeUnavailableError.
        """
        if self.closed or has_leg_at(await self.store.open_trades(), self.account.exchange):
            return
        # a change during the request resets this
        self.closed = True
        try:
            await self._store_closing()
        except (StoreError, ExchangeError):
            self.closed = False
            raise

    async def record_closing(self) -> None:
        """Store the closing balances of a bot that exits with nothing open, if it stored opening ones.

        Raises StoreError, ExchangeError.
        """
        before, _ = await self.store.balances.of_session()
        if self.account.exchange in before:
            await self._store_closing()

    async def _store_closing(self) -> None:
        with requests_for("close"):
            await self.transit.settle()
            balances = await self.account.balances()
            if await self.transit.settle() or await self.transit.in_question():
                # they are stored all the same, and again once it is known what is in them
                self.closed = False
        await self.store.balances.replace(self.account.exchange, balances, "after", self.by)
