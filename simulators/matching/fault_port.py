"""The port for what goes wrong with orders."""

from typing import Protocol

from simulators.matching.order_records import OrderRequest, SimulatedAccountEvent, SimulatedOrder


class OrderFaultPort(Protocol):
    """What may go wrong with the customer's orders, on command."""

    def admit(self, request: OrderRequest) -> None:
        """Raises where the order is not to come in."""
        ...

    def lots_at_once(self, order: SimulatedOrder, lots: int) -> int:
        """How many may fill now; where fewer than `lots`, the rest hangs until `go_on`."""
        ...

    def take(self, order: SimulatedOrder) -> None:
        """The order has come in and is journalled."""
        ...

    def tellings(self, event: SimulatedAccountEvent) -> int:
        """How often listeners are told of it."""
        ...
