"""How far a bot has read, as it reports it, for monitoring only."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConsumerPosition:
    """One bot's consumer offsets and change stream lag, reported every few seconds."""

    part: str
    exchange: str
    reported_at: int
    """By the server's clock, microseconds."""
    change_lag: int | None
    """Microseconds by which the change streams were behind the server's; None before their first answer."""
    offsets: dict[str, int] = field(default_factory=dict)
    """`topic/partition` → the next row to read."""
    lost_streams: int = 0
    """How often a change stream could not be resumed, which takes a resync."""
