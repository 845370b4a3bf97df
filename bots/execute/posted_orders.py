"""What this process has begun to post. A leg is posted once: whoever finds it granted again looks its order up."""

from collections.abc import Callable
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from runtime.clock import steady_now

REMEMBER_SECONDS = 600
"""How long an order is remembered after its result is stored: longer than anybody works on what was read before."""


@dataclass(slots=True)
class PostedOrders:
    """Client order ids; forgotten only some time after their result is stored."""

    steady_clock: Callable[[], int] = steady_now
    _forget_at: dict[str, int | None] = field(default_factory=dict)
    """None before there is a result."""

    def __contains__(self, client_order_id: object) -> bool:
        return client_order_id in self._forget_at

    def begin(self, client_order_id: str) -> bool:
        """Remember it; False if it was begun before."""
        if client_order_id in self._forget_at:
            return False
        self._forget_at[client_order_id] = None
        return True

    def end(self, client_order_id: str) -> None:
        """Its result is stored."""
        self._forget_at[client_order_id] = self.steady_clock() + REMEMBER_SECONDS * MICROSECONDS

    def is_reported(self, client_order_id: str) -> bool:
        """Whether its result is stored."""
        return self._forget_at.get(client_order_id) is not None

    def forget_old(self) -> None:
        now = self.steady_clock()
        old = [name for name, at in self._forget_at.items() if at is not None and at < now]
        for name in old:
            del self._forget_at[name]
