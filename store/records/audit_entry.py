"""The audit log: one entry per attempted change, with who, what, when, from where and the outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

AuditOutcome = Literal["started", "done", "rejected", "failed"]
"""`started`: under way, or interrupted. `rejected`: nothing was changed. `failed`: it is unknown whether something
was."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`at`: microseconds UTC by the store's clock: when it was begun, of a change of the settings that was made that of
    its version. `before` and `after`: what was changed, by name; no secret."""

    entry_id: str
    who: str
    role: str
    means: str
    address: str
    action: str
    """What was done: `settings.change`, `trading.switch`, `backtest.ask`, `key.add`."""
    target: str
    """To what: `settings`, a backtest's id, a bot's name."""
    outcome: AuditOutcome = "started"
    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)
    reason: str = ""
    """Why it was rejected or failed."""
    on_behalf: str = ""
    """On whose behalf, as the caller states it; unverified."""
    at: int = 0
