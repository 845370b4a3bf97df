"""A notice: one thing that happened, for people and programs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from session.notice_destinations import NoticeKind


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that happened. The same event always has the same id.

    `line` is for people; `facts` for programs, its money exact, as decimal strings. `at` in microseconds UTC.
    """

    notice_id: str
    kind: NoticeKind
    event: str
    """As `trade_closed` or `single_leg_opened`; docs/notices.md lists them."""
    at: int
    line: str
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_urgent(self) -> bool:
        """Only trades are batched; everything else is sent at once."""
        return self.kind != "trades"
