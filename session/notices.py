"""What people are told about, and where: a notice, and a destination without its secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from market.money import ZERO, BoundedDecimal

NoticeKind = Literal["trades", "single_legs", "venues", "trading", "limits", "bots", "notifier"]
"""What a destination chooses by. `notifier`, what is said about the notices themselves, goes to all."""
KINDS: tuple[NoticeKind, ...] = ("trades", "single_legs", "venues", "trading", "limits", "bots")
DestinationKind = Literal["webhook", "telegram"]

TELEGRAM_URL = "https://api.telegram.org"


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that happened. The same thing has the same id whoever notices it, and however often.

    `line` is for people; `facts` for programs, its money exact, as decimal strings. `at` in microseconds UTC.
    """

    notice_id: str
    kind: NoticeKind
    event: str
    """As `trade_closed` or `single_leg_begun`; docs/notices.md lists them."""
    at: int
    line: str
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_urgent(self) -> bool:
        """Trades are many and can wait to be gathered; nothing else is and can."""
        return self.kind != "trades"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where notices go and which of them. Its addresses and keys lie in the environment, or in a file named here."""

    name: str
    kind: DestinationKind
    events: tuple[NoticeKind, ...] = KINDS
    assets: tuple[str, ...] = ()
    """Base assets whose trades and single legs it is told of; none named means all."""
    pairs: tuple[str, ...] = ()
    """`kraken/bitflyer`: the same for pairs of exchanges, whichever of them sells."""
    least_profit: BoundedDecimal = ZERO
    """Trades that brought less are left out; in the settlement currency."""
    least_loss: BoundedDecimal = ZERO
    """Trades that lost less are left out."""
    secrets_file: Path | None = None
    telegram_url: str = TELEGRAM_URL
    per_minute: int = 20
    """So many messages at most within any minute."""
    gather_seconds: float = 10.0
    """How long a trade waits for others that go into the same message."""
    single_leg_seconds: float = 10.0
    """A single leg that is resolved sooner is no alarm; 0: each is told at once."""
    give_up_minutes: float = 60.0
    """How old a message that could not be delivered grows before it is given up."""
