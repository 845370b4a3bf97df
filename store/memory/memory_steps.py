"""The record of decisions in memory; not kept for backtests, which can be run again."""

from market.trade.decisions import Cause, step_by, step_text
from market.trade.reservation_state import ReservationState


class MemorySteps:
    """Arbitrage → its steps, as the store on MongoDB keeps them."""

    def __init__(self) -> None:
        self.are_recorded = False
        self.kept: dict[str, list[str]] = {}

    def record(self, before: ReservationState, arbitrage_id: str, cause: Cause) -> None:
        if self.are_recorded:
            self.kept.setdefault(arbitrage_id, []).append(step_text(step_by(cause, before)))
