"""The journal of a paper account: one file, one line per step, written before the step is reported."""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter, ValidationError

from exchanges.paper.depth import Taken
from market.instruments.orders import LimitOrder, OrderReport
from market.money import BoundedDecimal
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now

LOCK_SECONDS = 5.0
"""Other processes hold the lock for one line only; one that holds it longer was suspended."""
_LOCK_POLL_SECONDS = 0.002


class PaperJournalError(Exception):
    """The journal cannot be read or written, so the account's state is unknown."""


class JournalBusyError(Exception):
    """Another process holds the journal; the same call may succeed in a moment."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An order that the account accepted; it fills or ends after its latency."""

    order: LimitOrder
    exchange_order_id: str
    fee_rate: BoundedDecimal
    """Applies to all of its fills."""
    accepted_at: int
    """Wall-clock time, microseconds."""
    ends_by: int
    """An order that is not matched by then is abandoned."""
    base: str
    quote_currency: str
    """Currencies of its fills: a replay may count an asset as another one than the symbol says."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The order's final report, and the depth that it took from the shown levels."""

    client_order_id: str
    report: OrderReport
    booked_at: int
    taken: tuple[Taken, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One of the three; the opening balances are always and only the first line."""

    opening: dict[str, BoundedDecimal] | None = None
    accepted: Accepted | None = None
    ended: Ended | None = None


@cache
def _rows() -> TypeAdapter[JournalRow]:
    """Return what reads and writes rows: made on use, because a backtest writes no journal."""
    return TypeAdapter(JournalRow)


class PaperJournal:
    """Append-only, for several processes: a writer holds the file's lock and has read everything before. A line
    reaches the kernel before `append` returns, so a killed process loses nothing; a power cut may. An incomplete last
    line was never reported and is cut off by the next writer."""

    def __init__(self, path: Path, timeout: float = LOCK_SECONDS) -> None:
        """`timeout`: seconds to wait for the lock."""
        self._path = path
        self._timeout = timeout
        self._read = 0
        """Bytes read so far."""
        self._file: BinaryIO | None = None
        """Open while the lock is held."""

    def new_rows(self) -> list[JournalRow]:
        """Complete lines since the last call, from any process. Raises PaperJournalError if one is not a row."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except FileNotFoundError:
            content = b""
        if self._read and not content and (not self._path.exists() or self._path.stat().st_size < self._read):
            raise PaperJournalError(f"{self._path} was truncated or removed while the account was open")
        complete = content[: content.rfind(b"\n") + 1]
        try:
            rows = [_rows().validate_json(line) for line in complete.splitlines()]
        except ValidationError as error:
            raise PaperJournalError(f"{self._path} is not a journal of a paper account") from error
        self._read += len(complete)
        return rows

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Hold the file's lock within the block, which must not wait for anything. Raises JournalBusyError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab", buffering=0) as file:
            await self._lock(file)
            _cut_torn_line(self._path, file)
            self._file = file
            try:
                yield
            finally:
                self._file = None

    def append(self, row: JournalRow) -> None:
        """Within `locked`. Raises PaperJournalError if the line cannot be written; then no part of it is."""
        if self._file is None:
            raise ValueError("append needs the journal's lock")
        line, before = _rows().dump_json(row, exclude_none=True) + b"\n", os.fstat(self._file.fileno()).st_size
        try:
            written = self._file.write(line)
        except OSError as error:
            os.truncate(self._path, before)
            raise PaperJournalError(f"{self._path} cannot be written: {error.strerror}") from error
        if written != len(line):
            os.truncate(self._path, before)
            raise PaperJournalError(f"{self._path} cannot be written: no space left")

    async def _lock(self, file: BinaryIO) -> None:
        """Lock the file; the lock is released when it is closed, by the kernel if the process is killed."""
        until = wall_now() + int(self._timeout * MICROSECONDS)
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if wall_now() > until:
                    raise JournalBusyError(f"{self._path} is locked by another process") from None
            else:
                return
            await SystemClock().sleep(_LOCK_POLL_SECONDS)


def _cut_torn_line(path: Path, file: BinaryIO) -> None:
    """Search the end of the last complete line block by block, backwards."""
    size = end = os.fstat(file.fileno()).st_size
    if size == 0:
        return
    with path.open("rb") as reader:
        while end:
            start = max(0, end - 4_096)
            reader.seek(start)
            newline = reader.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
    if end < size:
        os.truncate(path, end)
