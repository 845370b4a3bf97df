"""What parts keep for each of very many keys, written apart from an app's snapshots: what has changed, in slices.

Entries go to segments, files that only grow. A snapshot names each segment with how many of its bytes count, so what is
written behind them later says nothing to it, and a process may be killed between any two slices. The newest entry of a
key is the one that counts; before a snapshot is taken all keys have one that have changed, so entries may be written
between any two rows. When segments have far more entries than there are keys, all keys are written again into a new
one, a few at a time too, and the older ones are dropped.
"""

import gc
import hashlib
import pickle
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO, Protocol

from cep.apps.engine.engine_state import EngineState
from cep.apps.engine.snapshots import KeysApart, Segment, Segments, SnapshotError, unpickled
from cep.apps.parts.app_context import KeyedState, Stateful

LENGTH_BYTES = 8
BLOCK = 1024**2


@dataclass(frozen=True, slots=True)
class LogSizes:
    slice_keys: int = 5_000
    """At most so many keys are written at once: some 20 ms of CPU."""
    slice_bytes: int = 1024**2
    """About so much is written at once, if a key has much."""
    first_keys: int = 100
    """While nobody knows how much a key has."""
    walk_slices: int = 20
    """When all keys are written again, within one call of `walk`."""
    entries: int = 2
    """As many for each key, and the spare ones, before all keys are written again."""
    spare_entries: int = 20_000
    segments: int = 8
    """Each process begins one."""


SIZES = LogSizes()


class KeyFiles(Protocol):
    """Where segments are, by number. All raise OSError."""

    def numbers(self) -> list[int]: ...

    def append(self, number: int, data: bytes) -> None: ...

    def open(self, number: int) -> BinaryIO: ...

    def drop_before(self, number: int) -> None: ...


@dataclass(slots=True)
class _OpenSegment:
    number: int
    length: int = 0
    entries: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def add(self, data: bytes, entries: int) -> None:
        self.digest.update(data)
        self.length += len(data)
        self.entries += entries

    def mark(self) -> Segment:
        return Segment(self.number, self.length, self.digest.digest(), self.entries)


class KeyLog:
    """Of one partition of an app."""

    def __init__(
        self, files: KeyFiles, state: EngineState, segments: Sequence[Segment] = (), sizes: LogSizes = SIZES
    ) -> None:
        """`segments`: those of the snapshot from which the app goes on. Without them all that it has is written before
        a snapshot can be taken. Raises OSError."""
        self._files, self._state, self._parts = files, state, state.keyed
        self._sizes = sizes
        self._closed = list(segments)
        self._bytes, self._entries = sum(one.length for one in segments), sum(one.entries for one in segments)
        """Of all entries that were written so far."""
        self._open = _OpenSegment(max(files.numbers(), default=-1) + 1)
        self._left: dict[int, list[Hashable]] = {}
        """Keys that are still to be written again, by part."""
        self._walked_from: int | None = None
        """The segment in which all keys are there once none is left."""
        for part in self._parts.values():
            part.changed = set()
        self.first_segment = 0
        """The first one that the newest snapshot names, or would: older ones can be dropped once that is saved."""
        self._is_whole = bool(segments)
        if not self._is_whole or self._is_long:
            self._begin_walk()

    @property
    def key_count(self) -> int:
        return sum(part.key_count for part in self._parts.values())

    @property
    def state_bytes(self) -> int:
        """About as much as all keys take, written once."""
        return self._bytes * self.key_count // max(1, self._entries)

    def write_changed(self) -> None:
        """To be called between rows: write what has changed once that is a slice, so that a snapshot finds little.
        Raises OSError."""
        for rank, part in self._parts.items():
            if part.changed is not None and len(part.changed) >= self._slice:
                self._write(rank, part, list(part.changed))

    def walk(self) -> Iterator[None]:
        """Write some of the keys that are to be written again, and before the first snapshot all: a slice a step,
        between which rows may be taken. Raises OSError."""
        count = 0
        while self._left and (count < self._sizes.walk_slices or not self._is_whole):
            self._walk_slice()
            count += 1
            yield

    def taken(self) -> KeysApart:
        """Write what has changed, and return the state without its keys. Raises OSError."""
        while self._left and not self._is_whole:
            self._walk_slice()
        for rank, part in self._parts.items():
            self._write(rank, part, list(part.changed or ()))
        marks = self._marks()
        self.first_segment = marks[0].number if marks else self._open.number
        if self._is_long:
            self._begin_walk()
        return KeysApart(self._state.saved(_without_keys), marks)

    def _marks(self) -> Segments:
        return (*self._closed, *([self._open.mark()] if self._open.entries else []))

    @property
    def _is_long(self) -> bool:
        marks, most = self._marks(), self._sizes.entries * self.key_count + self._sizes.spare_entries
        return sum(one.entries for one in marks) > most or len(marks) > self._sizes.segments

    @property
    def _slice(self) -> int:
        sizes = self._sizes
        if not self._entries:
            return sizes.first_keys
        return max(1, min(sizes.slice_keys, sizes.slice_bytes * self._entries // self._bytes))

    def _begin_walk(self) -> None:
        if self._left:
            return
        if self._open.entries:
            self._closed.append(self._open.mark())
            self._open = _OpenSegment(self._open.number + 1)
        self._walked_from = self._open.number
        self._left = {rank: keys for rank, part in self._parts.items() if (keys := part.keys())}
        self._end_walk()

    def _walk_slice(self) -> None:
        rank, left = next(iter(self._left.items()))
        part, count = self._parts[rank], self._slice
        # what has changed is written before the next snapshot anyway
        self._write(rank, part, [key for key in left[-count:] if key not in (part.changed or ())])
        del left[-count:]
        if not left:
            del self._left[rank]
            self._end_walk()

    def _end_walk(self) -> None:
        if not self._left and self._walked_from is not None:
            self._closed = [one for one in self._closed if one.number >= self._walked_from]
            self._walked_from, self._is_whole = None, True

    def _write(self, rank: int, part: KeyedState, keys: Sequence[Hashable]) -> None:
        done = 0
        while done < len(keys):
            now = keys[done : done + self._slice]
            body = pickle.dumps((rank, [(key, part.entry(key)) for key in now]), protocol=5)
            data = len(body).to_bytes(LENGTH_BYTES) + body
            self._files.append(self._open.number, data)
            self._open.add(data, len(now))
            self._bytes += len(data)
            self._entries += len(now)
            if part.changed:
                part.changed.difference_update(now)
            done += len(now)


def restored(engine: EngineState, state: Any, files: KeyFiles | None) -> Segments:
    """Let an engine that has seen no row go on from a state, with its keys from `files` if they are apart; return the
    segments that they are in. Raises SnapshotError, OSError."""
    if not isinstance(state, KeysApart):
        engine.restore(state)
        return ()
    if files is None:
        raise SnapshotError("the snapshot has its keys in other files")
    engine.restore(state.state)
    parts = engine.keyed
    with _no_collector():
        for rank, entries in chain.from_iterable(_entries(one, files) for one in state.segments):
            parts[rank].put(entries)
        for part in parts.values():
            part.settle()
    return state.segments


@contextmanager
def _no_collector() -> Iterator[None]:
    """Python would look for rings of objects again and again in all that was read so far: most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _entries(segment: Segment, files: KeyFiles) -> Iterator[tuple[int, list[tuple[Hashable, object]]]]:
    try:
        file = files.open(segment.number)
    except FileNotFoundError:
        raise SnapshotError(f"segment {segment.number} of its keys is gone") from None
    with file:
        _check(segment, file)
        file.seek(0)
        while file.tell() < segment.length:
            length = int.from_bytes(file.read(LENGTH_BYTES))
            found = unpickled(file.read(length))
            if not isinstance(found, tuple):
                raise SnapshotError(f"segment {segment.number} of its keys cannot be read")
            rank, entries = found
            yield rank, entries


def _check(segment: Segment, file: BinaryIO) -> None:
    digest, left = hashlib.sha256(), segment.length
    while left and (block := file.read(min(left, BLOCK))):
        digest.update(block)
        left -= len(block)
    if digest.digest() != segment.digest:
        raise SnapshotError(f"segment {segment.number} of its keys is torn or was changed")


def _without_keys(part: Stateful) -> object:
    return part.head() if isinstance(part, KeyedState) else part.state()
