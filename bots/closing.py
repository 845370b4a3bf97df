"""Takes the exchange's own word for the balances when no order is open there: before the first, after the last."""

from dataclasses import dataclass

from bots.reconciling import is_open_at
from exchanges.port import TradingAccount
from market.leases import UNFENCED, Actor
from store.port import TradeStore


@dataclass(slots=True)
class Books:
    """The balances of one exchange at both ends of a session."""

    store: TradeStore
    account: TradingAccount
    by: Actor = UNFENCED
    closed: bool = False

    async def opened(self) -> bool:
        """Whether the session has its opening balances; takes them where nothing is open at the exchange.

        A bot that comes back in the middle of a session does not wait for its open orders.
        Raises StoreUnavailableError, ExchangeUnavailableError.
        """
        if is_open_at(await self.store.open_arbitrages(), self.account.exchange):
            before, _ = await self.store.session_balances()
            return self.account.exchange in before
        await self.store.set_balances(self.account.exchange, await self.account.balances(), "before", self.by)
        return True

    async def close(self) -> None:
        """Closing balances, once, where nothing is open at the exchange and this bot reserves no more.

        Raises StoreUnavailableError, ExchangeUnavailableError.
        """
        if self.closed or is_open_at(await self.store.open_arbitrages(), self.account.exchange):
            return
        await self.store.set_balances(self.account.exchange, await self.account.balances(), "after", self.by)
        self.closed = True
