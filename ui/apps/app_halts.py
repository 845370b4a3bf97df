"""Rows of stream apps that take an exchange off: those of the stream `Halts`, of the apps that the operator named.

A row can do nothing else: it neither switches an exchange on nor changes another setting. The audit log records what it
did under the row's id. So a row that comes again changes nothing; nor does one from before somebody switched the
exchange on, which may come again too.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, ValidationError

from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from runtime.backoff import retry_on
from runtime.clock import Clock, wall_seconds
from store.app_actions import app_author
from store.errors import StoreUnavailableError
from store.ports.parts import SettingsStore
from store.records.audit_entry import AuditEntry

STREAM = "Halts"
HALT_SECONDS = 60
"""Maximum age of a row, by the app's clock: an app that catches up reports the past, and an operator may have seen
it."""
ACTION = "exchange.halt"

log = logging.getLogger("ui")


class _Exchange(BaseModel):
    exchange: str


class _HaltMessage(BaseModel):
    id: str
    app: str
    time: int
    """Milliseconds."""
    values: _Exchange


class _Origin(BaseModel):
    app: str
    stream: str


@dataclass(frozen=True, slots=True)
class WantedHalt:
    """`at`: microseconds, by the app's clock."""

    row_id: str
    app: str
    exchange: str
    at: int


def halt_in(message: bytes, apps: Collection[str]) -> WantedHalt | None:
    """Return the halt; None if the message is no row of `Halts` of one of these apps, or names no exchange."""
    try:
        origin = _Origin.model_validate_json(message)
        if origin.stream != STREAM or origin.app not in apps:
            return None
        row = _HaltMessage.model_validate_json(message)
    except ValidationError as error:
        log.warning("row of an app not read", extra={"reason": error.errors(include_url=False)[0]["msg"]})
        return None
    return WantedHalt(row.id, row.app, row.values.exchange, row.time * 1_000)


@dataclass(frozen=True, slots=True)
class AppHalts:
    """The halts by apps of one session. `changed` gets the settings in force after each halt."""

    exchanges: Collection[str]
    apps: Collection[str]
    settings: SettingsStore
    clock: Clock
    changed: Callable[[Settings], None]
    waits: Callable[[Exception], None]
    """Hears of outages."""

    async def take(self, message: bytes) -> None:
        """Carry out the halt that a row asks for, also through an outage of the store. Raises StoreError."""
        halt = halt_in(message, self.apps)
        if halt is None:
            return
        if halt.exchange in self.exchanges:
            await retry_on(partial(self._halt, halt), (StoreUnavailableError,), self.waits)
        else:
            place = {"app": halt.app, "row": halt.row_id}
            log.warning("an app halts an exchange that this session does not have", extra=place)

    async def _halt(self, halt: WantedHalt) -> None:
        age = max(0, self.clock.now() - halt.at)
        # with each attempt: an outage may have lasted longer
        if age > HALT_SECONDS * MICROSECONDS:
            log.info("halt of an app is too old", extra={"exchange": halt.exchange, "row": halt.row_id})
            return
        app = app_author(halt.app)
        entry = AuditEntry(f"halt {halt.row_id}", app, "app", "app", "", ACTION, halt.exchange)
        saved = await self.settings.halt_exchange(halt.exchange, entry, int(wall_seconds(self.clock, age)))
        if saved is not None:
            self.changed(saved)
            log.warning("exchange halted", extra={"who": app, "exchange": halt.exchange, "version": saved.version})
