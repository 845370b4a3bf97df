"""What a feeder knows of its feed."""

from dataclasses import dataclass, field
from typing import Literal

FeedStatus = Literal["live", "stale", "resyncing", "down"]


@dataclass(frozen=True, slots=True)
class FeedState:
    """State and counters of one feed since its process started; times in microseconds UTC."""

    exchange: str
    region: str
    symbol: str
    status: FeedStatus
    changed_at: int
    last_received: int
    quotes: int = 0
    reconnects: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
