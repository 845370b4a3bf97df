"""Says what ails a connection to Kafka without repeating itself: an outage brings dozens of like lines a second."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from session.clock import steady_now

QUIET = 10 * MICROSECONDS
"""Between two lines of one cause."""

log = logging.getLogger("streams")


@dataclass(slots=True)
class LogThrottle:
    """Of one client; its callbacks come one at a time."""

    address: str
    clock: Callable[[], int] = steady_now
    """Microseconds; for how long something took."""
    _said_at: dict[str, int] = field(default_factory=dict)
    _kept_back: dict[str, int] = field(default_factory=dict)

    def note(self, cause: str) -> None:
        """Log `cause`, or count it where it was logged moments ago."""
        now = self.clock()
        said_at = self._said_at.get(cause)
        if said_at is not None and now - said_at < QUIET:
            self._kept_back[cause] = self._kept_back.get(cause, 0) + 1
            return
        self._said_at[cause] = now
        again = self._kept_back.pop(cause, 0)
        log.warning("kafka connection", extra={"address": self.address, "cause": cause, "times_before": again})
