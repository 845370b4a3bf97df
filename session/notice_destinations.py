"""The kinds of notices, and the destinations that a session sends them to, without secrets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from market.money import ZERO, BoundedDecimal

NoticeKind = Literal[
    "trades", "single_legs", "exchanges", "trading", "limits", "bots", "differences", "apps", "alerts", "notifier"
]
"""The kinds that a destination can choose. `notifier`, about the notices themselves, goes to all."""
KINDS: tuple[NoticeKind, ...] = (
    "trades",
    "single_legs",
    "exchanges",
    "trading",
    "limits",
    "bots",
    "differences",
    "apps",
    "alerts",
)
DestinationKind = Literal["webhook", "telegram", "discord", "slack", "email"]

TELEGRAM_URL = "https://api.telegram.org"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where notices go and which of them. Its addresses and keys lie in the environment, or in a file named here."""

    name: str
    kind: DestinationKind
    events: tuple[NoticeKind, ...] = KINDS
    assets: tuple[str, ...] = ()
    """Base assets whose trades and single legs it gets; empty: all."""
    pairs: tuple[str, ...] = ()
    """`kraken/bitflyer`: the same for pairs of exchanges, whichever of them sells."""
    min_profit: BoundedDecimal = ZERO
    """Minimum profit of a trade to be sent, in the settlement currency."""
    min_loss: BoundedDecimal = ZERO
    """Minimum loss of a trade to be sent."""
    secrets_file: Path | None = None
    telegram_url: str = TELEGRAM_URL
    per_minute: int = 20
    """So many messages at most within any minute."""
    batch_seconds: float = 10.0
    """How long a trade waits for others that go into the same message."""
    single_leg_seconds: float = 10.0
    """A single leg resolved sooner is not sent; 0: each is sent at once."""
    drop_after_minutes: float = 60.0
    """How long delivery of a message is retried."""
