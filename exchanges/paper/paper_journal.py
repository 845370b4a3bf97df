"""The memory of a local paper account: one file, one line per step, whole before the step is told to anybody."""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter, ValidationError

from exchanges.paper.paper_depth import Taken
from market.instruments.orders import LimitOrder, OrderReport
from market.money import BoundedDecimal
from market.time_units import MICROSECONDS
from session.clock import SystemClock, wall_now

LOCK_SECONDS = 5.0
"""The others hold it for the time of one line; whoever does not let go was stopped in the middle of it."""
_LOCK_POLL_SECONDS = 0.002


class PaperJournalError(Exception):
    """The journal cannot be read or written; the account cannot be trusted."""


class JournalBusyError(Exception):
    """Another process holds the journal; the same call may succeed in a moment."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An order that the account took: it fills, or ends, once it has travelled."""

    order: LimitOrder
    exchange_order_id: str
    fee_rate: BoundedDecimal
    """In force for all of its fills."""
    accepted_at: int
    """Wall time, microseconds, as is all here that a replay's market time is not."""
    ends_by: int
    """Who has not matched it by then is gone."""
    base: str
    quote_currency: str
    """What its fills are booked in: a replay may count an asset as another one than the symbol says."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of it, and what it took from the levels that were shown."""

    client_order_id: str
    report: OrderReport
    booked_at: int
    taken: tuple[Taken, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One of the three: the opening balances are the first line and no other."""

    opening: dict[str, BoundedDecimal] | None = None
    accepted: Accepted | None = None
    ended: Ended | None = None


_ROW = TypeAdapter(JournalRow)


class PaperJournal:
    """Append-only, for any number of processes: who writes holds the file's lock and has read all before. A line
    reaches the kernel before `append` returns, so a killed process loses none of it; a power cut may. A last line
    without its end was never told to anybody and is cut off by the next writer."""

    def __init__(self, path: Path, patience: float = LOCK_SECONDS) -> None:
        """`patience`: seconds to wait for the lock."""
        self._path = path
        self._patience = patience
        self._read = 0
        """Bytes that were read."""
        self._file: BinaryIO | None = None
        """Open while the lock is held."""

    def new_rows(self) -> list[JournalRow]:
        """Whole lines since the last call, whoever wrote them. Raises PaperJournalError where one is not a row."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except FileNotFoundError:
            content = b""
        if self._read and not content and (not self._path.exists() or self._path.stat().st_size < self._read):
            raise PaperJournalError(f"{self._path} was cut or removed while the account was open")
        whole = content[: content.rfind(b"\n") + 1]
        try:
            rows = [_ROW.validate_json(line) for line in whole.splitlines()]
        except ValidationError as error:
            raise PaperJournalError(f"{self._path} is no journal of a paper account") from error
        self._read += len(whole)
        return rows

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Nobody else writes within the block, which must not wait for anything. Raises JournalBusyError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab", buffering=0) as file:
            await self._locked(file)
            _cut_torn_line(self._path, file)
            self._file = file
            try:
                yield
            finally:
                self._file = None

    def append(self, row: JournalRow) -> None:
        """Within `alone`. Raises PaperJournalError where the line cannot be written whole: then nothing of it is."""
        if self._file is None:
            raise ValueError("a line is written by whoever is alone")
        line, before = _ROW.dump_json(row, exclude_none=True) + b"\n", os.fstat(self._file.fileno()).st_size
        try:
            written = self._file.write(line)
        except OSError as error:
            os.truncate(self._path, before)
            raise PaperJournalError(f"{self._path} cannot be written: {error.strerror}") from error
        if written != len(line):
            os.truncate(self._path, before)
            raise PaperJournalError(f"{self._path} cannot be written: no room left")

    async def _locked(self, file: BinaryIO) -> None:
        """Released when the file is closed, by the kernel where its holder is killed."""
        until = wall_now() + int(self._patience * MICROSECONDS)
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if wall_now() > until:
                    raise JournalBusyError(f"{self._path} is held by another process") from None
            else:
                return
            await SystemClock().sleep(_LOCK_POLL_SECONDS)


def _cut_torn_line(path: Path, file: BinaryIO) -> None:
    """The end of the last whole line is looked for block by block, from behind."""
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
