"""Rows of stream apps that failed, and wait in the error store to be given again. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

FailureKind = Literal["row", "delivery", "message"]
"""`row`: the app could not compute it; `delivery`: a sink gave it up; `message`: a source could not read it."""
FailedState = Literal["waiting", "replayed"]
"""`replayed`: it was given again; it waits again if it fails again."""

MOST_FAILED_ROWS = 10_000
"""Of one app; the oldest are dropped for new ones."""
MOST_ROW_BYTES = 65_536
"""Of one row's values as JSON; of a longer one the error alone is kept."""
MOST_ERROR_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class FailedRow:
    """`id`: of the row, the one that it had when it failed first; with `app` and `stream` it is the row's own.
    `values`: by column, as JSON has them. `time`: of the row, by the app's clock, milliseconds. `occurrence`: under
    which id it failed this time: the same again is no other attempt. `at`: when it failed last, `first_at`: when
    first, microseconds by the store's clock. `place`: among all of the app, as they failed first; a text that
    sorts."""

    id: str
    app: str
    stream: str
    kind: FailureKind
    values: Mapping[str, Any]
    error: str
    attempts: int = 1
    at: int = 0
    time: int = 0
    occurrence: str = ""
    state: FailedState = "waiting"
    first_at: int = 0
    place: str = ""
    changed_by: str = ""
    """Who edited the values, or gave the row again."""
    claims: int = 0
    """How often it was claimed to be given again."""

    @property
    def key(self) -> str:
        return f"{self.app}|{self.stream}|{self.id}"


@dataclass(frozen=True, slots=True)
class FailedChoice:
    """Which rows of an app: all that fit what is named. `contains`: in the error or the values, whatever the case."""

    stream: str | None = None
    kind: FailureKind | None = None
    state: FailedState | None = None
    contains: str = ""
    keys: Sequence[str] | None = field(default=None)

    def fits(self, row: FailedRow) -> bool:
        text = f"{row.error}\n{orjson.dumps(row.values).decode()}".lower()
        return (
            self.stream in (None, row.stream)
            and self.kind in (None, row.kind)
            and self.state in (None, row.state)
            and (self.keys is None or row.key in self.keys)
            and self.contains.lower() in text
        )


def kept_values(values: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return the values as JSON, and what the error has to say of them: too long ones are not kept."""
    written = orjson.dumps(values, default=str)
    if len(written) <= MOST_ROW_BYTES:
        return written, ""
    return b"{}", f" (the row has {len(written):,} bytes, and is not kept)"


def place_of(at: int, number: int, row: FailedRow) -> str:
    """Return the place of a row that fails for the first time, as the `number`th of those that are stored at once."""
    return f"{at:020d}|{number:06d}|{row.key}"
