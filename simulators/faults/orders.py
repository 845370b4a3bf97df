"""Injected faults of orders: rejected without a reason, partly filled and stuck, reported twice, disconnected."""

from contextvars import ContextVar
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from simulators.faults.fault_kinds import ActiveFault, ExchangeFaults
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedAccountEvent, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange

_HALTED = "Orders limit exceeded"
"""The detail, for exchanges that name a cause."""
_HOLD_SECONDS = 10.0
_SHARE = 0.5


class DisconnectedError(Exception):
    """The connection breaks before the order arrives."""


@dataclass(slots=True)
class OrderCall:
    """State of the order of one HTTP request."""

    order: SimulatedOrder | None = None
    is_disconnected: bool = False
    is_withdrawal: bool = False
    """Whether the request made a withdrawal."""


ORDER_CALL: ContextVar[OrderCall | None] = ContextVar("order_call", default=None)
"""The order of the HTTP request that is being answered; the exchange core does not know requests."""


@dataclass(slots=True)
class OrderFaults:
    """The faults of one exchange's `place`."""

    faults: ExchangeFaults
    exchange: SimulatedExchange
    _stuck: list[tuple[int, ActiveFault, str]] = field(default_factory=list)
    """Per stuck order: when it continues, the fault, and its id."""

    def admit(self, request: OrderRequest) -> None:
        """Admit the order, or raise RequestRejectedError or DisconnectedError: then there is no order."""
        if self.faults.is_quiet:
            return
        if self.faults.inject("rejected_order", request.symbol) is not None:
            raise RequestRejectedError("order_rejected", _HALTED)
        call = ORDER_CALL.get()
        active = None if call is None else self.faults.inject("disconnect_during_order", request.symbol)
        if call is not None and active is not None:
            call.is_disconnected = True
            is_taken = self.faults.flip_coin() if active.fault.taken is None else active.fault.taken
            if not is_taken:
                raise DisconnectedError

    def lots_at_once(self, order: SimulatedOrder, lots: int) -> int:
        """Return how many lots may fill now; fewer than `lots` if the rest gets stuck."""
        if self.faults.is_quiet or order.whole:
            return lots
        active = self.faults.inject("partial_fill_then_nothing", order.symbol)
        if active is None:
            return lots
        now = self.faults.clock.now()
        until = now + round(_HOLD_SECONDS * MICROSECONDS) if active.ends_at is None else active.ends_at
        if active.fault.hold_seconds is not None:
            until = now + round(active.fault.hold_seconds * MICROSECONDS)
        self._stuck.append((until, active, order.order_id))
        share = _SHARE if active.fault.share is None else active.fault.share
        return min(int(lots * share), lots - 1)

    def take(self, order: SimulatedOrder) -> None:
        """Note that the order was accepted."""
        call = ORDER_CALL.get()
        if call is not None:
            call.order = order

    def note_withdrawal(self) -> None:
        """Note that a withdrawal was made."""
        call = ORDER_CALL.get()
        if call is not None:
            call.is_withdrawal = True

    def report_count(self, event: SimulatedAccountEvent) -> int:
        """Return how often the private stream reports the event."""
        if self.faults.is_quiet or event.kind != "filled":
            return 1
        return 1 if self.faults.inject("duplicate_fill_report") is None else 2

    def release(self) -> None:
        """Release orders whose time of being stuck is over."""
        if not self._stuck:
            return
        now = self.faults.clock.now()
        due = [row for row in self._stuck if row[1].is_cleared or now >= row[0]]
        self._stuck = [row for row in self._stuck if row not in due]
        for _, _, order_id in due:
            self.exchange.resume(order_id)
