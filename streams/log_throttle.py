"""Logs connection errors of Kafka without repetition: an outage produces dozens of equal messages a second."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from runtime.clock import steady_now

REPEAT_AFTER = 10 * MICROSECONDS
"""Minimum time between two messages of one cause."""

log = logging.getLogger("streams")


@dataclass(slots=True)
class LogThrottle:
    """The throttle of one client; its callbacks come one at a time."""

    address: str
    clock: Callable[[], int] = steady_now
    """Monotonic microseconds."""
    _logged_at: dict[str, int] = field(default_factory=dict)
    _suppressed: dict[str, int] = field(default_factory=dict)

    def log_cause(self, cause: str) -> None:
        """Log `cause`, or count it if it was logged within REPEAT_AFTER."""
        now = self.clock()
        logged_at = self._logged_at.get(cause)
        if logged_at is not None and now - logged_at < REPEAT_AFTER:
            self._suppressed[cause] = self._suppressed.get(cause, 0) + 1
            return
        self._logged_at[cause] = now
        suppressed = self._suppressed.pop(cause, 0)
        # address and cause stand in the text, since a terminal shows no more
        words = {"address": self.address, "cause": cause, "suppressed": suppressed}
        log.warning("kafka connection to %s: %s", self.address, cause, extra=words)
