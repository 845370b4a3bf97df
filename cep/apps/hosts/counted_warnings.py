"""Warnings of what may happen a thousand times a second: the first of each kind at once, the others counted."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from runtime.clock import steady_now

REPEAT_AFTER = 60 * MICROSECONDS
"""Minimum time between two warnings of one kind."""
MOST_KINDS = 100
"""At most so many of one source; what comes beyond is of one kind."""

_NUMBER = re.compile(r"\d[\d,]*")

log = logging.getLogger("cep")


@dataclass(slots=True)
class CountedWarnings:
    """`clock`: monotonic microseconds. `noted`: stands beside each warning."""

    noted: dict[str, object]
    clock: Callable[[], int] = steady_now
    counts: dict[str, int] = field(default_factory=dict)
    """Kind → how often it came."""
    _logged_at: dict[str, int] = field(default_factory=dict)

    def tell(self, message: str, reason: str, kind: str | None = None, **noted: object) -> None:
        """`kind`: what is counted together; if it is None, `message` with `reason`, whatever the numbers in it."""
        found = f"{message}: {kind or _NUMBER.sub('#', reason)}"
        if found not in self.counts and len(self.counts) >= MOST_KINDS:
            found = message
        self.counts[found] = count = self.counts.get(found, 0) + 1
        logged_at, now = self._logged_at.get(found), self.clock()
        if logged_at is None or now - logged_at >= REPEAT_AFTER:
            self._logged_at[found] = now
            often: dict[str, object] = {"so far": count} if count > 1 else {}
            log.warning(message, extra=self.noted | {"reason": reason} | noted | often)
