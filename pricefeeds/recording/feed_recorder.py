"""Records the frames and rows of one exchange's feeds, without ever blocking them."""

import contextlib
import logging
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from market.time_units import MICROSECONDS
from pricefeeds.quoting.symbol_feed import Row
from pricefeeds.recording.feed_recording import (
    GZIP,
    SUFFIX,
    EndReason,
    RecordedEvent,
    RecordedEventKind,
    RecordingHeader,
    end_line,
    event_line,
    header_line,
    part_path,
    parts_of,
    row_text,
)

if TYPE_CHECKING:
    # who only asks where recordings lie has none
    from session.session import Session

FLUSH_SECONDS = 1.0
"""At most this much is lost by a kill: events wait so long in memory before they are written."""
CLOSE_SECONDS = 5.0
MEGABYTE = 1_000_000
LOG_SUFFIX = ".parquet"
"""Suffix of the log's files, which are recorded beside the feeds."""
EVENT_BYTES, ROW_BYTES = 200, 1_000
"""Approximate memory of an event and of a published row; a row shares its levels with the feed's book."""

log = logging.getLogger("pricefeeds")


class Recorder(Protocol):
    """Records the events of one exchange's feeds, in order. Both calls return at once and never raise."""

    def record(self, symbol: str, kind: RecordedEventKind, now: int, data: str | bytes = b"") -> None:
        """`now` in microseconds UTC: the same value that Conversation and SymbolFeed were called with."""

    def record_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        """Rows that are published next, after the event that produced them."""


class NoRecorder:
    """Records nothing."""

    def record(self, symbol: str, kind: RecordedEventKind, now: int, data: str | bytes = b"") -> None:
        pass

    def record_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class RecordingLimits:
    """When a new file is started, and when recording stops while the feed continues."""

    part_bytes: int = 32 * MEGABYTE
    """Size of one file, compressed."""
    part_seconds: float = 900.0
    pending_bytes: int = 64 * MEGABYTE
    """Events in memory that are not on disk yet; at a sixteenth of this they are written early."""
    total_bytes: int = 1_000 * MEGABYTE
    """Size of all recordings in the data folder. Nothing is deleted: at this size recording stops."""


@dataclass(frozen=True, slots=True)
class _Published:
    """Rows not encoded yet; the writer thread does that."""

    symbol: str
    now: int
    rows: tuple[Row, ...]


class FileRecorder:
    """Buffers events in memory; a thread writes them to rotated gzip files.

    A full disk, a reached limit or a disk slower than the feed ends the recording with one log message; the files
    so far stay readable, and the feed continues.
    """

    def __init__(
        self, root: Path, header: RecordingHeader, limits: RecordingLimits, flush_seconds: float = FLUSH_SECONDS
    ) -> None:
        self._limits = limits
        self._flush_seconds = flush_seconds
        self._parts = _Parts(root, header, limits)
        self._lock = threading.Lock()
        self._pending: list[RecordedEvent | _Published] = []
        self._pending_bytes = 0
        self._is_closing = False
        self._due = threading.Event()
        self.stopped: str | None = None
        """Why recording stopped; None while it is running."""
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def record(self, symbol: str, kind: RecordedEventKind, now: int, data: str | bytes = b"") -> None:
        self._add(RecordedEvent(symbol, kind, now, data), EVENT_BYTES + len(data))

    def record_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        if rows:
            self._add(_Published(symbol, now, tuple(rows)), ROW_BYTES * len(rows))

    def close(self) -> None:
        """Write what is pending and end the file; waits at most CLOSE_SECONDS for the disk."""
        self._is_closing = True
        self._due.set()
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            self._stop("the last events could not be written in time")

    def _add(self, entry: RecordedEvent | _Published, size: int) -> None:
        if self.stopped is not None:
            return
        with self._lock:
            self._pending.append(entry)
            self._pending_bytes += size
            pending = self._pending_bytes
        if pending > self._limits.pending_bytes:
            self._stop("the disk is slower than the feed")
        elif pending > self._limits.pending_bytes // 16:
            self._due.set()

    def _run(self) -> None:
        try:
            self._parts.open_next(now=0)
            while self.stopped is None:
                self._due.wait(self._flush_seconds)
                self._due.clear()
                is_last = self._is_closing
                self._write(self._taken())
                if is_last:
                    break
            self._parts.end("closed" if self.stopped is None else "stopped")
        except (OSError, TypeError) as error:
            self._stop(f"writing failed ({error})")
            self._parts.abandon()

    def _write(self, entries: list[RecordedEvent | _Published]) -> None:
        """Raise OSError if the disk fails, TypeError for a text that cannot be encoded."""
        for entry in entries:
            self._parts.make_room(entry.now)
            for event in _events_of(entry):
                self._parts.write(event_line(event))
        self._parts.flush()
        used = recorded_bytes(self._parts.root)
        if used >= self._limits.total_bytes:
            megabytes = self._limits.total_bytes // MEGABYTE
            self._stop(f"all recordings together reached recordings_mb = {megabytes}; delete some, or raise it")

    def _taken(self) -> list[RecordedEvent | _Published]:
        with self._lock:
            entries, self._pending, self._pending_bytes = self._pending, [], 0
        return entries

    def _stop(self, reason: str) -> None:
        if self.stopped is not None:
            return
        self.stopped = reason
        self._taken()
        self._due.set()
        where = {"exchange": self._parts.header.exchange, "folder": str(self._parts.folder), "reason": reason}
        log.error("recording stopped; the feed goes on without it", extra=where)


class _Parts:
    """The files of one exchange's recording, one of them open."""

    def __init__(self, root: Path, header: RecordingHeader, limits: RecordingLimits) -> None:
        self.root = root
        self.header = header
        self.folder = root / header.session_id / header.exchange
        self._limits = limits
        self._file: FileIO | None = None
        self._packer = zlib.compressobj()
        self._size = 0
        self._ends_at: int | None = None

    def open_next(self, now: int) -> None:
        """Open the file after the last one, which an earlier process of the same session may have written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = len(parts_of(self.folder)) + 1
        # unbuffered, so that a full disk fails the write and not the close
        path = part_path(self.folder, self.header.exchange, part)
        self._file = path.open("xb", buffering=0)
        path.chmod(0o600)
        self._packer, self._size, self._ends_at = zlib.compressobj(wbits=GZIP), 0, None
        self.write(header_line(replace(self.header, part=part, opened_at=now)))
        self.flush()

    def make_room(self, now: int) -> None:
        """Start a new file if this one is old or large enough; `now` is the next event's time."""
        if self._ends_at is not None and (self._size >= self._limits.part_bytes or now >= self._ends_at):
            self.end("continued")
            self.open_next(now)
        if self._ends_at is None:
            self._ends_at = now + int(self._limits.part_seconds * MICROSECONDS)

    def write(self, line: bytes) -> None:
        self._put(self._packer.compress(line))

    def flush(self) -> None:
        """Make everything written so far readable, even if the process is killed right after."""
        self._put(self._packer.flush(zlib.Z_SYNC_FLUSH))

    def end(self, reason: EndReason) -> None:
        self.write(end_line(reason))
        self._put(self._packer.flush(zlib.Z_FINISH))
        self.abandon()

    def abandon(self) -> None:
        """Close the file as it is: it is read like the file of a killed process."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _put(self, packed: bytes) -> None:
        """Write all of `packed`: a nearly full disk writes a part first and raises OSError on the next write."""
        rest = memoryview(packed)
        while self._file is not None and rest:
            rest = rest[self._file.write(rest) :]
        self._size += len(packed)


@contextmanager
def recording(session: "Session", exchange: str, settings: dict[str, str] | None = None) -> Iterator[Recorder]:
    """Return the recorder of one exchange's feeder; a NoRecorder if the session does not record."""
    if session.upkeep.recordings_mb is None:
        yield NoRecorder()
        return
    entry = session.entry_of(exchange)
    settings = {**(settings or {}), "adapter": entry.adapter, "ccxt": entry.ccxt}
    header = RecordingHeader(session.session_id, exchange, session.markets_of(exchange), settings)
    limits = RecordingLimits(total_bytes=session.upkeep.recordings_mb * MEGABYTE)
    recorder = FileRecorder(recordings_folder(session.home), header, limits)
    try:
        yield recorder
    finally:
        recorder.close()


def recordings_folder(home: Path) -> Path:
    return home / "recordings"


def recorded_bytes(root: Path) -> int:
    """Disk usage of all recordings below `root`."""
    total = 0
    for path in root.rglob("*"):
        if path.name.endswith((SUFFIX, LOG_SUFFIX)):
            with contextlib.suppress(FileNotFoundError):  # its owner may delete it meanwhile
                total += path.stat().st_size
    return total


def _events_of(entry: RecordedEvent | _Published) -> Iterator[RecordedEvent]:
    if isinstance(entry, RecordedEvent):
        yield entry
    else:
        yield from (RecordedEvent(entry.symbol, "row", entry.now, row_text(row)) for row in entry.rows)
