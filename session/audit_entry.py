"""Who changed what, when, from where, and how it ended: one entry for each change that anybody tried."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

AuditOutcome = Literal["begun", "done", "rejected", "failed"]
"""`begun`: under way, or its process ended before it did. `rejected`: nothing was changed. `failed`: it is not known
whether something was."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`at`: microseconds UTC by the store's clock. `before` and `after`: what was changed, by name; no secret."""

    entry_id: str
    who: str
    role: str
    means: str
    address: str
    action: str
    """What was done: `settings.change`, `trading.switch`, `backtest.ask`, `key.add`."""
    target: str
    """To what: `settings`, a backtest's id, a bot's name."""
    outcome: AuditOutcome = "begun"
    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)
    reason: str = ""
    """Why it was rejected or failed."""
    on_behalf: str = ""
    """Who the caller said it is for; nothing checks it."""
    at: int = 0
