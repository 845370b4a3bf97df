"""Writes what the feeds of one exchange heard and said into a recording, beside them and never in their way."""

import contextlib
import logging
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Protocol

from market.time_units import MICROSECONDS
from pricefeeds.quoting.symbol_feed import Row
from pricefeeds.recording.feed_recording import (
    GZIP,
    SUFFIX,
    EndReason,
    Note,
    NoteKind,
    RecordingHeader,
    end_line,
    header_line,
    note_line,
    part_path,
    parts_of,
    row_text,
)
from session.session import Session

FLUSH_SECONDS = 1.0
"""What a kill costs at most: notes wait so long in memory before they are on the way to the disk."""
CLOSE_SECONDS = 5.0
MEGABYTE = 1_000_000
LOG_SUFFIX = ".parquet"
"""Of the log that is recorded beside the feeds."""
NOTE_BYTES, ROW_BYTES = 200, 1_000
"""What a note and a published row take in memory, roughly; a row shares its levels with the feed's book."""

log = logging.getLogger("pricefeeds")


class Recorder(Protocol):
    """Takes what happens to the feeds of one exchange, in its order. Both calls return at once and never raise."""

    def note(self, symbol: str, kind: NoteKind, now: int, data: str | bytes = b"") -> None:
        """`now` in microseconds UTC: the very one that the conversation and the feed were called with."""

    def note_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        """Rows that are published next, behind the note of what led to them."""


class NoRecorder:
    """Records nothing."""

    def note(self, symbol: str, kind: NoteKind, now: int, data: str | bytes = b"") -> None:
        pass

    def note_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class RecordingLimits:
    """When a file is followed by the next, and when a recording ends although the feed goes on."""

    part_bytes: int = 32 * MEGABYTE
    """Of one file, compressed."""
    part_seconds: float = 900.0
    pending_bytes: int = 64 * MEGABYTE
    """Of notes in memory that the disk has not taken yet; at a sixteenth of it they are written before their time."""
    total_bytes: int = 1_000 * MEGABYTE
    """Of all recordings in the data folder. Nothing is deleted: at this size recording stops."""


@dataclass(frozen=True, slots=True)
class _Published:
    """Rows not yet encoded: that is the writing thread's work."""

    symbol: str
    now: int
    rows: tuple[Row, ...]


class FileRecorder:
    """Notes go into memory and from there, by a thread of its own, into rotated gzip files.

    A full disk, a limit reached or a disk slower than the feed ends the recording with one logged sentence; the files
    so far stay sound, and the feed goes on.
    """

    def __init__(
        self, root: Path, header: RecordingHeader, limits: RecordingLimits, flush_seconds: float = FLUSH_SECONDS
    ) -> None:
        self._limits = limits
        self._flush_seconds = flush_seconds
        self._parts = _Parts(root, header, limits)
        self._lock = threading.Lock()
        self._pending: list[Note | _Published] = []
        self._pending_bytes = 0
        self._is_closing = False
        self._due = threading.Event()
        self.stopped: str | None = None
        """Why nothing is recorded any more; None while it is."""
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def note(self, symbol: str, kind: NoteKind, now: int, data: str | bytes = b"") -> None:
        self._add(Note(symbol, kind, now, data), NOTE_BYTES + len(data))

    def note_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        if rows:
            self._add(_Published(symbol, now, tuple(rows)), ROW_BYTES * len(rows))

    def close(self) -> None:
        """Write what is pending and end the file; gives up on a disk that hangs after five seconds."""
        self._is_closing = True
        self._due.set()
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            self._stop("the disk did not take the last notes in time")

    def _add(self, entry: Note | _Published, size: int) -> None:
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

    def _write(self, entries: list[Note | _Published]) -> None:
        """Raises OSError where the disk takes no more, TypeError for a text that is no text."""
        for entry in entries:
            self._parts.make_room(entry.now)
            for note in _notes_of(entry):
                self._parts.write(note_line(note))
        self._parts.flush()
        used = recorded_bytes(self._parts.root)
        if used >= self._limits.total_bytes:
            megabytes = self._limits.total_bytes // MEGABYTE
            self._stop(f"all recordings together reached recordings_mb = {megabytes}; delete some, or raise it")

    def _taken(self) -> list[Note | _Published]:
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
        """Behind the last file there is, which an earlier process of the same session may have left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = len(parts_of(self.folder)) + 1
        # unbuffered, so that a full disk is known at the write and nothing is left to be written at the close
        path = part_path(self.folder, self.header.exchange, part)
        self._file = path.open("xb", buffering=0)
        path.chmod(0o600)
        self._packer, self._size, self._ends_at = zlib.compressobj(wbits=GZIP), 0, None
        self.write(header_line(replace(self.header, part=part, opened_at=now)))
        self.flush()

    def make_room(self, now: int) -> None:
        """Go on in a new file where this one is old or large enough; `now` is the next note's time."""
        if self._ends_at is not None and (self._size >= self._limits.part_bytes or now >= self._ends_at):
            self.end("continued")
            self.open_next(now)
        if self._ends_at is None:
            self._ends_at = now + int(self._limits.part_seconds * MICROSECONDS)

    def write(self, line: bytes) -> None:
        self._put(self._packer.compress(line))

    def flush(self) -> None:
        """All that was written can be read, also where the process is killed the moment after."""
        self._put(self._packer.flush(zlib.Z_SYNC_FLUSH))

    def end(self, reason: EndReason) -> None:
        self.write(end_line(reason))
        self._put(self._packer.flush(zlib.Z_FINISH))
        self.abandon()

    def abandon(self) -> None:
        """Leave the file as it is: what the disk took of it is read like the file of a killed process."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _put(self, packed: bytes) -> None:
        """A disk that is nearly full takes a part of it first, and raises OSError at the next."""
        rest = memoryview(packed)
        while self._file is not None and rest:
            rest = rest[self._file.write(rest) :]
        self._size += len(packed)


@contextmanager
def recording(session: Session, exchange: str, settings: dict[str, str] | None = None) -> Iterator[Recorder]:
    """The recorder of one exchange's feeder: to files where the session records, to nowhere otherwise."""
    if session.recordings_mb is None:
        yield NoRecorder()
        return
    header = RecordingHeader(session.session_id, exchange, session.markets_of(exchange), settings or {})
    limits = RecordingLimits(total_bytes=session.recordings_mb * MEGABYTE)
    recorder = FileRecorder(recordings_folder(session.home), header, limits)
    try:
        yield recorder
    finally:
        recorder.close()


def recordings_folder(home: Path) -> Path:
    return home / "recordings"


def recorded_bytes(root: Path) -> int:
    """What all recordings below `root` take on disk."""
    total = 0
    for path in root.rglob("*"):
        if path.name.endswith((SUFFIX, LOG_SUFFIX)):
            with contextlib.suppress(FileNotFoundError):  # its owner may tidy up meanwhile
                total += path.stat().st_size
    return total


def _notes_of(entry: Note | _Published) -> Iterator[Note]:
    if isinstance(entry, Note):
        yield entry
    else:
        yield from (Note(entry.symbol, "row", entry.now, row_text(row)) for row in entry.rows)
