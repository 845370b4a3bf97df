"""Watches the room on the data folder's disk while a session runs, because mongod aborts on a full disk."""

import logging
from collections.abc import Callable

from launch.errors import CannotStartError
from market.decide.kill_switch import reduced
from market.decide.settings import Settings
from runtime.clock import SystemClock
from runtime.disk_space import free_bytes, megabytes
from session.disk_bounds import DiskLevel
from session.session import Session
from store.errors import StoreError
from store.mongo.store import open_store

LOOK_SECONDS = 3.0
"""Seconds between two looks. Even at a hundred megabytes a second, which no part writes, one look comes between the
last bound and a full disk."""

log = logging.getLogger("launch")


class DiskWatch:
    """Reduces or ends the whole session by what it finds. `stop` ends it; `echo` tells the user."""

    def __init__(self, session: Session, stop: Callable[[], None], echo: Callable[[str], None]) -> None:
        self._session = session
        self._stop = stop
        self._say = echo
        self._level: DiskLevel = "enough"
        self.has_stopped = False

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                await self.look()
            except (OSError, StoreError) as error:
                # the next look tries again
                log.info("the disk cannot be acted on yet", extra={"error": str(error)})
            await SystemClock().sleep(LOOK_SECONDS)

    async def look(self) -> DiskLevel:
        """Look once. Raises OSError if the disk cannot be asked, StoreError if MongoDB does not take the change."""
        free = free_bytes(self._session.home)
        level = self._session.upkeep.disk.level(free)
        if level != self._level:
            self._level = level
            self._say(f"disk of {self._session.home}: {megabytes(free)} free; {_MEANING[level]}")
        if level == "stop" and not self.has_stopped:
            self.has_stopped = True
            self._stop()
        if level in ("reduce_only", "stop"):
            async with await open_store(self._session) as store:
                # again at each look: whoever resumes trading must make room first
                await store.settings.amend(_reduced, f"disk ({megabytes(free)} free)")
        return level


_MEANING: dict[DiskLevel, str] = {
    "enough": "that is enough; if trading was reduced for it, resume it on the page Bots & thresholds",
    "low": "make room soon",
    "reduce_only": "nothing new is traded until there is room and somebody resumes trading",
    "stop": "the session ends now, before MongoDB has no room",
}


def _reduced(current: Settings) -> Settings:
    return current.model_copy(update={"trading_state": reduced(current.trading_state)})


def check_room(session: Session) -> None:
    """Raise CannotStartError if a session would be reduced at once."""
    free = free_bytes(session.home)
    if session.upkeep.disk.level(free) in ("reduce_only", "stop"):
        raise CannotStartError(
            f"{session.home}: {megabytes(free)} free on its disk, and a session needs "
            f"{megabytes(session.upkeep.disk.reduce)}: make room, or change reduce_mb in [disk]."
        )
