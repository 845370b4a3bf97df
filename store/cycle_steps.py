"""The steps of a cycle's trade, once for both adapters, as `unit_of_work` has those of an arbitrage: the rows that a
step needs are read, it is decided in `market.trade`, and the rows that changed are written, in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from market.instruments.cycles import Cycle
from market.trade.cycle_lifecycle import cycle_booked, cycle_resumed
from market.trade.cycle_reservations import CycleRequest, CycleRows, cycle_reserved, liquidity_keys
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import Actor
from market.trade.order_results import OrderResult
from market.trade.reservation_state import reported_fill_keys
from store.errors import StoreError
from store.records.cycle_step import CycleStepRequest

Result = TypeVar("Result")


class CycleUnit(Protocol):
    """The rows of one transaction: at most one `write_cycle`, last."""

    def begin_cycle(self, trade_id: str, by: Actor) -> CycleTrade | None:
        """Return the trade; None if there is none. Raises FencedOutError if a later process acts for the actor's
        exchange."""
        ...

    def results(self, trade_id: str) -> list[OrderResult]:
        """Return what became of its orders and is not booked yet, as it was reported."""
        ...

    def cycle_rows(
        self, trade_id: str, cycle: Cycle, by: Actor, used: Iterable[str] = (), fill_keys: Iterable[str] = ()
    ) -> CycleRows:
        """Return all rows of a trade on that cycle, the trade among them; `used`: the liquidity that it asks for;
        `fill_keys` are looked up in the ledger. Raises FencedOutError; StoreError if there are no settings yet."""
        ...

    def write_cycle(self, before: CycleRows, after: CycleRows, request: CycleStepRequest) -> None:
        """Write what changed, what was granted, and the step in the record of decisions; nothing if `after` is
        `before`. The results in `request` are booked."""
        ...


CycleWork = Callable[[CycleUnit], Result]


class CycleSteps(ABC):
    """The part of the store that takes trades of cycles from reservation to end."""

    @abstractmethod
    async def in_cycle_unit(self, work: CycleWork[Result]) -> Result:
        """Return what `work` returns, once all that it wrote is stored; it may run more than once."""

    async def reserve_cycle(self, request: CycleRequest, by: Actor) -> tuple[CycleTrade | None, str | None]:
        def work(unit: CycleUnit) -> tuple[CycleTrade | None, str | None]:
            before = unit.cycle_rows(request.trade_id, request.cycle, by, liquidity_keys(request))
            after, reason = cycle_reserved(before, request)
            unit.write_cycle(before, after, CycleStepRequest("reserve", request=request))
            return (after.trade if reason is None else None), reason

        return await self.in_cycle_unit(work)

    async def book_cycle(self, trade_id: str, by: Actor) -> CycleTrade:
        def work(unit: CycleUnit) -> CycleTrade:
            known = _known(unit.begin_cycle(trade_id, by), trade_id)
            results = tuple(unit.results(trade_id))
            before = unit.cycle_rows(trade_id, known.cycle, by, fill_keys=reported_fill_keys(results))
            after = cycle_booked(before, results)
            unit.write_cycle(before, after, CycleStepRequest("book", results))
            return after.trade or known

        return await self.in_cycle_unit(work)

    async def resume_cycle(self, trade_id: str, by: Actor) -> bool:
        def work(unit: CycleUnit) -> bool:
            known = _known(unit.begin_cycle(trade_id, by), trade_id)
            before = unit.cycle_rows(trade_id, known.cycle, by)
            after = cycle_resumed(before)
            unit.write_cycle(before, after, CycleStepRequest("resume"))
            return after is not before

        return await self.in_cycle_unit(work)


def _known(trade: CycleTrade | None, trade_id: str) -> CycleTrade:
    """Raise StoreError if there is no such trade."""
    if trade is None:
        raise StoreError(f"there is no trade {trade_id} on a cycle")
    return trade
