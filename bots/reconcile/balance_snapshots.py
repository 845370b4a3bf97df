"""Takes the exchange's own word for the balances when no order is open there: before the first, after the last."""

from dataclasses import dataclass

from bots.execute.pending_legs import is_open_at
from exchanges.account_port import TradingAccount
from exchanges.errors import ExchangeError
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED, Actor
from store.errors import StoreError
from store.store_port import TradeStore


@dataclass(slots=True)
class BalanceSnapshots:
    """The balances of one exchange at both ends of a session."""

    store: TradeStore
    account: TradingAccount
    by: Actor = UNFENCED
    closed: bool = False

    async def ensure_opening(self) -> bool:
        """Whether the session has its opening balances; takes them, once, where nothing is open at the exchange.

        A bot that comes back in the middle of a session goes on with the rows as they are: the exchange's word may have
        a late fill in it, which would count twice once it is found and booked. Reconciliation compares both.
        Raises StoreUnavailableError, ExchangeUnavailableError.
        """
        before, _ = await self.store.session_balances()
        if self.account.exchange in before:
            return True
        if is_open_at(await self.store.open_arbitrages(), self.account.exchange):
            return False
        await self.store.set_balances(self.account.exchange, await self.account.balances(), "before", self.by)
        return True

    def see(self, arbitrage: Arbitrage) -> None:
        """One that changed, by a late fill too: closing balances of before that are of no use any more."""
        if is_open_at([arbitrage], self.account.exchange):
            self.closed = False

    async def close(self) -> None:
        """Closing balances, again after each change, where nothing is open at the exchange and this bot reserves no
        more.

        Raises StoreUnavailableError, ExchangeUnavailableError.
        """
        if self.closed or is_open_at(await self.store.open_arbitrages(), self.account.exchange):
            return
        # a change while the exchange is asked takes this back
        self.closed = True
        try:
            balances = await self.account.balances()
            await self.store.set_balances(self.account.exchange, balances, "after", self.by)
        except (StoreError, ExchangeError):
            self.closed = False
            raise

    async def record_closing(self) -> None:
        """Closing balances of a bot that goes with nothing open at the exchange, unless it never opened the books.

        Raises StoreError, ExchangeError.
        """
        before, _ = await self.store.session_balances()
        if self.account.exchange in before:
            balances = await self.account.balances()
            await self.store.set_balances(self.account.exchange, balances, "after", self.by)
