"""What a bot has seen lately: a cache that saves round trips. Nothing is right or wrong by it; the store decides."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from market.arbitrages import OPEN_STATES, Arbitrage
from market.opportunities import Opportunity
from market.settings import Settings
from market.spreads import SpreadWindow
from store.port import BalanceRow

PERSISTENCE_SECONDS = 10


@dataclass(slots=True)
class Knowledge:
    """Newest settings, windows, balances and open arbitrages."""

    settings: Settings
    free: dict[tuple[str, str], Decimal] = field(default_factory=dict)
    """(exchange, currency) → amount that may still be used."""
    open: dict[str, Arbitrage] = field(default_factory=dict)
    stopping: bool = False
    """No new reservation from now on; never taken back."""
    _windows: dict[tuple[str, str, str], SpreadWindow] = field(default_factory=dict)

    def see_window(self, window: SpreadWindow) -> None:
        """Keeps the newest 10 s window of each pair."""
        pair = (window.base, window.buy_exchange, window.sell_exchange)
        known = self._windows.get(pair)
        if window.length_seconds == PERSISTENCE_SECONDS and (known is None or window.end > known.end):
            self._windows[pair] = window

    def window_of(self, opportunity: Opportunity) -> SpreadWindow | None:
        return self._windows.get((opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange))

    def see_balances(self, rows: Iterable[BalanceRow]) -> None:
        self.free = {(row.exchange, row.currency): row.free for row in rows}

    def see_arbitrage(self, arbitrage: Arbitrage) -> None:
        if arbitrage.state in OPEN_STATES:
            self.open[arbitrage.arbitrage_id] = arbitrage
        else:
            self.open.pop(arbitrage.arbitrage_id, None)

    def see_open(self, arbitrages: Iterable[Arbitrage]) -> None:
        """These and no others are open."""
        self.open = {arbitrage.arbitrage_id: arbitrage for arbitrage in arbitrages}

    def is_busy(self, opportunity: Opportunity) -> bool:
        """Whether another opportunity of the same pair is being traded."""
        pair = (opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange)
        return any(
            (one.base, one.opportunity.buy.exchange, one.opportunity.sell.exchange) == pair
            for one in self.open.values()
            if one.arbitrage_id != opportunity.opportunity_id
        )
