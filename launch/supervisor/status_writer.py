"""Tells the store how the parts are, and hears what is wanted of them; beside the supervisor, never in its way.

MongoDB is one of the parts. While it is away nothing is told and nothing new is wanted: what the supervisor knows
holds.
"""

import logging
import os

from launch.supervisor.process_states import ProcessStates
from market.time_units import MICROSECONDS
from session.backoff import backoff
from session.clock import SystemClock, wall_now
from session.session import Session
from store.errors import StoreError
from store.operations.mongo_processes import MongoProcesses, open_processes

ROUND_SECONDS = 0.5
LONGEST_WAIT = 2.0
"""Between two attempts to reach a store that is away."""
QUIET_SECONDS = 60.0
"""At a start MongoDB is not up yet, and it comes back from a crash within seconds: both are nobody's concern."""

log = logging.getLogger("launch")


class StatusWriter:
    """The way of one roll into the store of `session`, and of what is wanted back."""

    def __init__(self, session: Session, roll: ProcessStates, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._session = session
        self._roll = roll
        self._quiet_us = int(quiet_seconds * MICROSECONDS)
        self._told: dict[str, int] = {}
        """Which version of each part the store has."""
        self._silent_since: int | None = None
        self._is_said = False

    async def run(self) -> None:
        """Until cancelled."""
        delays = backoff(longest=LONGEST_WAIT)
        while True:
            try:
                async with open_processes(self._session) as processes:
                    # what was written before an outage may be lost, or be of another life of the database
                    self._told = {}
                    while True:
                        await self.round(processes)
                        delays = backoff(longest=LONGEST_WAIT)
                        await SystemClock().sleep(ROUND_SECONDS)
            except StoreError as error:
                self._note_silence(error)
            await SystemClock().sleep(next(delays))

    async def round(self, processes: MongoProcesses) -> None:
        """Once: a sign of life, what is new, what is wanted. Raises StoreError."""
        now = await processes.beat(os.getpid())
        versions = self._roll.versions()
        news = [name for name, version in versions.items() if self._told.get(name) != version]
        await processes.report(self._roll.told(news), now)
        self._told = versions
        self._roll.obey(await processes.orders())
        self._silent_since, self._is_said = None, False

    def _note_silence(self, error: StoreError) -> None:
        """Once an outage, and only of one that lasts."""
        now = wall_now()
        if self._silent_since is None:
            self._silent_since = now
            log.info("the state of the parts is not told yet", extra={"error": str(error)})
        elif not self._is_said and now - self._silent_since > self._quiet_us:
            self._is_said = True
            log.warning("MongoDB does not answer; the dashboard shows old states of the parts: %s", error)
