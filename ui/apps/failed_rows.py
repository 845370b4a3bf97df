"""Rows of apps that failed: one set of functions for all routes. Each change leaves an entry in the audit log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError
from store.ports.apps import FailedRows
from store.records.failed_rows import MOST_ROW_BYTES, FailedChoice, FailedRow, kept_values
from ui.apps.stored_apps import AppAnswerError, AppDesk
from ui.auth.callers import Caller
from ui.services.change_audit import auditing

MOST_AT_ONCE = 1_000
"""Rows that one request gives again or drops."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """`problem`: why the row with the key `stopped_at` was not given again, nor those behind it; a sentence."""

    count: int
    stopped_at: FailedRow | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FailedDesk:
    """Rows of one app."""

    desk: AppDesk
    app: str

    @property
    def _rows(self) -> FailedRows:
        return self.desk.dashboard.reader.failed_rows

    async def page(self, choice: FailedChoice, after: str, most: int) -> tuple[Sequence[FailedRow], int]:
        """Return the rows, and how many there are of all pages. Raises StoreError."""
        return await self._rows.page(self.app, choice, after, most), await self._rows.count(self.app, choice)

    async def row(self, key: str) -> FailedRow:
        """Raise AppAnswerError 404 if there is none."""
        found = await self._rows.page(self.app, FailedChoice(keys=(key,)), most=1)
        if not found:
            raise AppAnswerError(404, f"The app {self.app} has no such failed row; it may have been dropped.")
        return found[0]

    async def edit(self, key: str, values: Mapping[str, Any], caller: Caller) -> FailedRow:
        """Set a row's values. Raises AppAnswerError, StoreError."""
        async with auditing(self.desk.dashboard, caller, "app.error.edit", self.app) as note:
            before = await self.row(key)
            note.before, note.after = {"id": before.id, **before.values}, {"id": before.id, **values}
            if kept_values(values)[1]:
                raise AppAnswerError(422, f"A failed row has at most {MOST_ROW_BYTES:,} bytes; write shorter values.")
            return await self._rows.edit(key, values, caller.name) or before

    async def replay(self, choice: FailedChoice, caller: Caller) -> Replayed:
        """Give rows to the running app again, in their order, until one is refused; one that somebody else gives at the
        same time is left to him. Raises AppAnswerError, StoreError; AppDoorSilentError if nobody answers."""
        async with auditing(self.desk.dashboard, caller, "app.error.replay", self.app) as note:
            self.desk.check_may_write(self.app, caller)
            count = 0
            try:
                for row in await self._rows.page(self.app, choice, most=MOST_AT_ONCE):
                    claimed = await self._rows.claim(row, caller.name)
                    if claimed is None:
                        continue
                    try:
                        await self._give(claimed, caller)
                    except AppDoorRefusedError as error:
                        return Replayed(count, row, str(error))
                    count += 1
            finally:
                note.after = {"rows": count}
            return Replayed(count)

    async def _give(self, row: FailedRow, caller: Caller) -> None:
        """Give a claimed row to the app; it waits again if that fails. Raises AppDoorRefusedError,
        AppDoorSilentError."""
        try:
            door = AppDoor(self.desk.dashboard.session.home)
            await door.replay(self.app, row.stream, dict(row.values), row.id)
        except (AppDoorRefusedError, AppDoorSilentError):
            # who did not answer may have it: rather twice, with one id, than never
            await self._rows.release(row, caller.name)
            raise

    async def drop(self, choice: FailedChoice, caller: Caller) -> int:
        """Remove rows; return how many. Raises AppAnswerError, StoreError."""
        async with auditing(self.desk.dashboard, caller, "app.error.drop", self.app) as note:
            self.desk.check_may_write(self.app, caller)
            keys = [row.key for row in await self._rows.page(self.app, choice, most=MOST_AT_ONCE)]
            dropped = await self._rows.drop(keys)
            note.after = {"rows": dropped}
            return dropped
