"""Writes process states to the store and reads the users' orders, without ever blocking the supervisor.

MongoDB is one of the processes: while it is down nothing is written, and the orders read last stay in force.
"""

import logging
import os

from launch.supervisor.process_states import ProcessStates
from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.errors import StoreError
from store.operations.processes import MongoProcesses, open_processes

ROUND_SECONDS = 0.5
LONGEST_WAIT = 2.0
"""Longest pause between two attempts to reach an unavailable store."""
QUIET_SECONDS = 60.0
"""Shorter outages are not worth a warning: MongoDB is just starting, or restarting after a crash."""

log = logging.getLogger("launch")


class StatusWriter:
    """Synchronises `states` with the store of `session`."""

    def __init__(self, session: Session, states: ProcessStates, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._session = session
        self._states = states
        self._quiet_us = int(quiet_seconds * MICROSECONDS)
        self._written: dict[str, int] = {}
        """The version of each process that the store has."""
        self._outage_since: int | None = None
        self._is_logged = False

    async def run(self) -> None:
        """Write and read until cancelled."""
        delays = backoff(longest=LONGEST_WAIT)
        while True:
            try:
                async with open_processes(self._session) as processes:
                    # what was written before an outage may be lost
                    self._written = {}
                    while True:
                        await self.round(processes)
                        delays = backoff(longest=LONGEST_WAIT)
                        await SystemClock().sleep(ROUND_SECONDS)
            except StoreError as error:
                self._log_outage(error)
            await SystemClock().sleep(next(delays))

    async def round(self, processes: MongoProcesses) -> None:
        """Do one round: heartbeat, changed states, orders. Raises StoreError."""
        now = await processes.beat(os.getpid())
        versions = self._states.versions()
        changed = [name for name, version in versions.items() if self._written.get(name) != version]
        await processes.report(self._states.reports(changed), now)
        self._written = versions
        self._states.apply_orders(await processes.orders())
        self._outage_since, self._is_logged = None, False

    def _log_outage(self, error: StoreError) -> None:
        """Log an outage once, and warn only if it lasts."""
        now = wall_now()
        if self._outage_since is None:
            self._outage_since = now
            log.info("process states not written yet", extra={"error": str(error)})
        elif not self._is_logged and now - self._outage_since > self._quiet_us:
            self._is_logged = True
            log.warning("MongoDB does not answer; the dashboard shows stale process states: %s", error)
