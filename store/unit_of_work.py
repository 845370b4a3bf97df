"""The steps of an arbitrage, once for both adapters: the rows that a step needs are read, it is decided in
`market.trade`, and the rows that changed are written, in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from market.prices.opportunities import Opportunity
from market.trade import leg_lifecycle, reservations
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.decision_record import StepRequest, reserve_request
from market.trade.fast_replace import replace
from market.trade.leases import Actor
from market.trade.leg_lifecycle import Advance
from market.trade.order_results import OrderResult
from market.trade.reservation_state import ReservationState, reported_fill_keys, rows_read_to_reserve
from market.trade.reservations import Reservation, ReservationResult
from store.errors import StoreError
from store.preconditions import in_force

Result = TypeVar("Result")


class UnitOfWork(Protocol):
    """The rows of one transaction: at most one `write`, last."""

    def begin(self, arbitrage_id: str, by: Actor) -> ReservationState | None:
        """Return the arbitrage and the settings, without any other row; None if there is no arbitrage. Raises
        FencedOutError if a later process acts for the actor's exchange."""
        ...

    def results(self, arbitrage_id: str) -> list[OrderResult]:
        """Return what became of its orders and is not booked yet, as it was reported."""
        ...

    def rows(self, opportunity: Opportunity, by: Actor, fill_keys: Iterable[str] = ()) -> ReservationState:
        """All rows of the opportunity, its arbitrage among them; `fill_keys` are looked up in the ledger. Raises
        FencedOutError."""
        ...

    def write(self, before: ReservationState, after: ReservationState, request: StepRequest) -> None:
        """Write what changed, what was granted, and the step in the record of decisions; nothing if `after` is
        `before`. The results in `request` are booked."""
        ...


Work = Callable[[UnitOfWork], Result]


class TradeSteps(ABC):
    """The part of `TradeStore` that takes arbitrages from reservation to end."""

    @abstractmethod
    async def in_unit_of_work(self, work: Work[Result]) -> Result:
        """Return what `work` returns, once all that it wrote is stored; it may run more than once."""

    @abstractmethod
    async def report_order(self, result: OrderResult, by: Actor) -> None:
        """Write what became of an order, to be booked."""

    async def reserve(self, reservation: Reservation, by: Actor) -> ReservationResult:
        def work(unit: UnitOfWork) -> ReservationResult:
            before = unit.rows(reservation.opportunity, by)
            after, result = reservations.reserved(before, reservation)
            unit.write(before, after, reserve_request(reservation))
            return result if result.rejection is None else replace(result, read=rows_read_to_reserve(before))

        return await self.in_unit_of_work(work)

    async def grant(self, arbitrage_id: str, role: LegRole, by: Actor) -> Leg | None:
        def work(unit: UnitOfWork) -> Leg | None:
            rows, _ = _known(unit.begin(arbitrage_id, by), arbitrage_id)
            before = unit.rows(rows.opportunity, by)
            after = leg_lifecycle.granted(before, role)
            unit.write(before, after, StepRequest("grant", role))
            leg = None if after is before or after.arbitrage is None else after.arbitrage.leg(role)
            return leg if leg is not None and leg.state == "granted" else None

        return await self.in_unit_of_work(work)

    async def book(self, arbitrage_id: str, advance: Advance, by: Actor) -> Arbitrage:
        def work(unit: UnitOfWork) -> Arbitrage:
            rows, known = _known(unit.begin(arbitrage_id, by), arbitrage_id)
            settings = in_force(rows.settings)
            results = tuple(unit.results(arbitrage_id))
            before = unit.rows(rows.opportunity, by, reported_fill_keys(results))
            after = leg_lifecycle.booked(before, results, settings, advance)
            unit.write(before, after, StepRequest("book", results=results))
            return after.arbitrage or known

        return await self.in_unit_of_work(work)

    async def resume(self, arbitrage_id: str, advance: Advance, by: Actor) -> bool:
        def work(unit: UnitOfWork) -> bool:
            rows, _ = _known(unit.begin(arbitrage_id, by), arbitrage_id)
            settings = in_force(rows.settings)
            before = unit.rows(rows.opportunity, by)
            after = leg_lifecycle.resumed(before, settings, advance)
            unit.write(before, after, StepRequest("resume"))
            return after is not before

        return await self.in_unit_of_work(work)


def _known(rows: ReservationState | None, arbitrage_id: str) -> tuple[ReservationState, Arbitrage]:
    """Raise StoreError if there is no such arbitrage."""
    if rows is None or rows.arbitrage is None:
        raise StoreError(f"there is no arbitrage {arbitrage_id}")
    return rows, rows.arbitrage
