"""The port for injected faults of orders."""

from typing import Protocol

from simulators.matching.order_records import OrderRequest, SimulatedAccountEvent, SimulatedOrder


class OrderFaultPort(Protocol):
    """Injected faults of the customer's orders."""

    def admit(self, request: OrderRequest) -> None:
        """Raises where the order must not be accepted."""
        ...

    def lots_at_once(self, order: SimulatedOrder, lots: int) -> int:
        """How many may fill now; where fewer than `lots`, the rest hangs until `go_on`."""
        ...

    def take(self, order: SimulatedOrder) -> None:
        """The order was accepted and journalled."""
        ...

    def report_count(self, event: SimulatedAccountEvent) -> int:
        """How often listeners get the event."""
        ...
