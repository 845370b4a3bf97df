"""The port of the store, as bots, feeds and replays use it. Both adapters pass the same contract test.

Every write is idempotent by its id. Changes arrive at least once, in the order of one document's changes; after a lost
connection the newest state is delivered again, states in between may be skipped.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from market.accounting.transfer_lifecycle import MoneyTransfer
from market.decide.circuit_breaker import Health
from market.instruments.orders import Fill
from market.prices.episodes import Episode
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, LegRole, Rejection, TradeOfLegs
from market.trade.cycle_reservations import CycleRequest
from market.trade.cycle_trades import CycleTrade
from market.trade.grants import Grant
from market.trade.leases import Actor, Lease
from market.trade.leg_lifecycle import Advance
from market.trade.order_results import OrderResult
from market.trade.reservation_state import BalanceRow
from market.trade.reservations import Reservation, ReservationResult
from store.ports.parts import Balances, StoreParts
from store.records.cycle_rejection import CycleRejection


@dataclass(frozen=True, slots=True)
class Overview:
    """What a bot looks at in each round, read at once."""

    now: int
    """The server's time, microseconds."""
    reservations_open: bool
    open_arbitrages: tuple[Arbitrage, ...] = ()
    open_cycles: tuple[CycleTrade, ...] = ()
    resumable: tuple[Arbitrage, ...] = ()
    """The oldest of those that `BooksView.resumable_arbitrages` has."""
    resumable_cycles: tuple[CycleTrade, ...] = ()
    """Likewise, of trades of cycles."""
    results: tuple[OrderResult, ...] = ()
    """As `OrderReports.order_results` has them."""
    balances: tuple[BalanceRow, ...] = ()
    opening: Balances = field(default_factory=dict)
    """What the exchanges reported before the session."""
    health: tuple[Health, ...] = ()
    """The health of each exchange that ever failed."""
    leases: tuple[Lease, ...] = ()
    transfers: tuple[MoneyTransfer, ...] = ()
    """Those that are proposed or under way, and those that left in one session's books and ended in another's."""

    @property
    def open_trades(self) -> tuple[TradeOfLegs, ...]:
        """Return all that is open, of pairs and of cycles."""
        return *self.open_arbitrages, *self.open_cycles


class BooksView(Protocol):
    """What the books say now, for whoever only reads them."""

    async def server_now(self) -> int:
        """Return the store's own clock, microseconds; the only one for leases, holds and deadlines."""
        ...

    async def overview(self) -> Overview:
        """All of it in one read; what is booked meanwhile may be in one part of it and not in another."""
        ...

    async def arbitrage(self, arbitrage_id: str) -> Arbitrage | None: ...

    async def cycle_trade(self, trade_id: str) -> CycleTrade | None: ...

    async def open_cycles(self) -> list[CycleTrade]:
        """Oldest first, also those that were opened again."""
        ...

    async def open_trades(self) -> list[TradeOfLegs]:
        """All that is open: of pairs, then of cycles."""
        ...

    async def resumable_cycles(self) -> list[CycleTrade]:
        """Residual ones that `resume_cycle` can continue, oldest first."""
        ...

    async def open_arbitrages(self) -> list[Arbitrage]:
        """Oldest first, also those that were opened again."""
        ...

    async def traded(self, opportunity_ids: Collection[str]) -> frozenset[str]:
        """Those of which there is an arbitrage, or a trade of a cycle, open or ended."""
        ...

    async def resumable_arbitrages(self) -> list[Arbitrage]:
        """Residual arbitrages that `resume` can continue, oldest first: halted, or with an order not posted."""
        ...

    async def unconfirmed_legs(self, exchange: str, since: int) -> list[tuple[str, Leg]]:
        """Legs of `exchange`, of cycles too, whose order was unknown to it at or after `since` (the server's time),
        with their trade's id: the order may still appear."""
        ...

    async def reservations_open(self) -> bool: ...

    async def fills(self) -> list[Fill]:
        """Return the ledger of this session."""
        ...


class OrderReports(Protocol):
    """What became of orders: reported by the bots of their exchanges, read by whoever books."""

    async def report_order(self, result: OrderResult, by: Actor) -> None:
        """Record what became of an order, by the bot of its exchange; `book` books it. Idempotent."""
        ...

    async def order_results(self, arbitrage_id: str | None = None) -> list[OrderResult]:
        """Those not booked yet, as they were reported; of one arbitrage or of all."""
        ...

    def watch_order_results(self) -> AsyncIterator[OrderResult]:
        """First those not booked yet, then each new one."""
        ...


class DecisionStore(BooksView, OrderReports, Protocol):
    """For the process that decides: it reserves, grants and books."""

    async def reserve(self, reservation: Reservation, by: Actor) -> ReservationResult:
        """All legs in one transaction, or none, over balances, liquidity, counters, the open pair and the leases of
        their exchanges: each must have a bot without a veto.

        This and every later step raises FencedOutError if another process acts for the exchange of `by`.
        """
        ...

    async def grant(self, arbitrage_id: str, role: LegRole, by: Actor) -> Leg | None:
        """Return the step reserved → granted, for a leg that was not granted when it was reserved. None if it was
        before, cannot be yet, is too late (`send_by`) or trading is halted: then the leg is `not_sent` and `book`
        follows."""
        ...

    async def book(self, arbitrage_id: str, advance: Advance, by: Actor) -> Arbitrage:
        """Book in one transaction whatever was reported of its orders: fills (by fill id, once), balances and ledger;
        if no leg is open any more, `advance`. Legs that were too late to be granted end as well. A fill that is new
        to the books after the end opens the arbitrage again. Idempotent."""
        ...

    async def resume(self, arbitrage_id: str, advance: Advance, by: Actor) -> bool:
        """Resume a single leg that was stopped by a halt or whose order was not posted; False if there is none, or
        trading is still halted."""
        ...

    async def stop_reservations(self) -> None:
        """No new arbitrage in this session from now on (`stopping`); open ones continue."""
        ...


class CycleStore(Protocol):
    """Trades of cycles, for the process that decides; what their orders are granted and reported as is a leg's."""

    async def reserve_cycle(self, request: CycleRequest, by: Actor) -> tuple[CycleTrade | None, str | None]:
        """Return the trade, with all legs reserved in one transaction, as it stands; or None and why not. Every leg
        that has its balance is granted.

        This and every later step raises FencedOutError if another process acts for the exchange of `by`.
        """
        ...

    async def book_cycle(self, trade_id: str, by: Actor) -> CycleTrade:
        """Book in one transaction whatever was reported of its orders, and take what follows by now: legs that waited,
        further orders, the end. A fill that is new to the books after the end opens the trade again. Idempotent."""
        ...

    async def resume_cycle(self, trade_id: str, by: Actor) -> bool:
        """Resume a trade that was stopped by a halt or whose order was not posted; False if it cannot be."""
        ...


class OrderStore(BooksView, OrderReports, StoreParts, Protocol):
    """For the bot of an exchange: it posts what is granted to it, looks orders up and reports them."""

    def watch_grants(self, exchange: str) -> AsyncIterator[Grant]:
        """Follow the grants of legs at `exchange`: first those granted in open arbitrages, then each as it is granted.
        Only what the store will not lose."""
        ...


class ObservationStore(Protocol):
    """For whoever stores what was seen and not traded."""

    async def save_opportunities(self, opportunities: Sequence[Opportunity]) -> None:
        """Store those whose id is not known."""
        ...

    async def reject(self, rejections: Sequence[Rejection]) -> None:
        """Store the first of each (pair, exchange, reason) per second in full, count the rest; each id once."""
        ...

    async def reject_cycles(self, rejections: Sequence[CycleRejection]) -> None:
        """Store each once, with the highest count that was reported of it."""
        ...

    async def save_episodes(self, episodes: Sequence[Episode]) -> None:
        """Each as a whole, as it is now; an episode is its session's, its pair's and its start's. No field of one goes
        back (`market.prices.episodes.merged`), so that a repeat, or an older state, changes nothing."""
        ...

    async def running_episodes(self, now: int) -> list[Episode]:
        """Those of this session that a sighting at `now` (event time) could belong to."""
        ...

    async def save_feed_states(self, states: Sequence[FeedState]) -> None: ...


class TradeStore(DecisionStore, CycleStore, OrderStore, ObservationStore, Protocol):
    """Shared state of all bots of one session."""

    async def close(self) -> None: ...
