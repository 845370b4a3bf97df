"""The error store of stream apps in memory, under the contract of the MongoDB one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from runtime.clock import Clock
from store.records.failed_rows import (
    MOST_ERROR_CHARACTERS,
    MOST_FAILED_ROWS,
    FailedChoice,
    FailedRow,
    kept_values,
    place_of,
)


class MemoryFailedRows:
    """`store.ports.apps.FailedRows`; every method runs without waiting, so each is one step."""

    def __init__(self, clock: Clock, most: int = MOST_FAILED_ROWS) -> None:
        self._clock, self._most = clock, most
        self._rows: dict[str, FailedRow] = {}

    async def add(self, rows: Sequence[FailedRow]) -> int:
        now = self._clock.now()
        for number, row in enumerate(rows):
            occurrence, known = row.occurrence or f"{row.id}@{now}", self._rows.get(row.key)
            if known is not None and known.occurrence == occurrence:
                continue
            values, more = kept_values(row.values)
            first = replace(row, first_at=now, place=place_of(now, number, row), attempts=0) if known is None else known
            self._rows[row.key] = replace(
                first,
                kind=row.kind,
                values=orjson.loads(values),
                error=row.error[:MOST_ERROR_CHARACTERS] + more,
                attempts=first.attempts + 1,
                at=now,
                time=row.time,
                occurrence=occurrence,
                state="waiting",
            )
        dropped = [old.key for app in {row.app for row in rows} for old in self._of(app, FailedChoice())[: -self._most]]
        return await self.drop(dropped)

    async def page(self, app: str, choice: FailedChoice, after: str = "", most: int = 100) -> list[FailedRow]:
        return [one for one in self._of(app, choice) if one.place > after][:most]

    async def count(self, app: str, choice: FailedChoice) -> int:
        return len(self._of(app, choice))

    async def edit(self, key: str, values: Mapping[str, Any], who: str) -> FailedRow | None:
        known = self._rows.get(key)
        if known is None:
            return None
        self._rows[key] = replace(known, values=dict(values), changed_by=who)
        return self._rows[key]

    async def claim(self, row: FailedRow, who: str) -> FailedRow | None:
        known = self._rows.get(row.key)
        if known is None or _claim(known) != _claim(row):
            return None
        self._rows[row.key] = replace(known, state="replayed", changed_by=who, claims=known.claims + 1)
        return self._rows[row.key]

    async def release(self, row: FailedRow, who: str) -> None:
        known = self._rows.get(row.key)
        if known is not None and known.occurrence == row.occurrence:
            self._rows[row.key] = replace(known, state="waiting", changed_by=who)

    async def drop(self, keys: Sequence[str]) -> int:
        return sum(self._rows.pop(key, None) is not None for key in keys)

    def _of(self, app: str, choice: FailedChoice) -> list[FailedRow]:
        found = [one for one in self._rows.values() if one.app == app and choice.fits(one)]
        return sorted(found, key=lambda one: one.place)


def _claim(row: FailedRow) -> tuple[str, str, int]:
    """Return what changes when somebody claims the row."""
    return row.occurrence, row.state, row.claims
