"""Statistics of the cross spread of one pair of exchanges over a sliding window."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpreadWindow:
    """Net spread in bps over [start, end), microseconds; `share_above`: rows at or over the trading threshold."""

    base: str
    buy_exchange: str
    sell_exchange: str
    start: int
    end: int
    mean_bps: float
    deviation: float
    max_bps: float
    share_above: float
    rows: int

    @property
    def length_seconds(self) -> int:
        return (self.end - self.start) // 1_000_000
