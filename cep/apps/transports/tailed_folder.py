"""Follows the files of a folder, and reads nothing outside of it: no link is followed on any step of the way, and only
regular files are opened, to be read.

A file is known by its inode and its first bytes, so that it stays the same one when it is renamed, and is another one
once it was truncated and written again, or its inode was given away. What was read of a file that was renamed to a name
that is not wanted is read to its end. A `.gz` file is read once it stands still; if it is a rotated file that was read
before it was packed, it is gone on with where that was.
"""

import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from cep.apps.transports.ports import IncomingMessage

MARK_BYTES = 1_024
"""First bytes by which a file is known; two files that begin with the same ones differ by their inodes."""
READ_BYTES = 1 << 18
"""Of one file in one step; a line that is longer is left out."""
STEP_BYTES = 8 << 20
"""Of all files in one step, about: the next one goes on with the other files."""
MESSAGE_BYTES = 200
"""What a message takes beside its body, so that short lines count."""
MOST_MESSAGE_BYTES = 1 << 19
"""The longest whole file; what is longer is left out."""
MOST_SKIPPED_BYTES = 1 << 26
"""Of a line without an end, in one step; what is behind them counts as a line of its own."""
MOST_FILES = 10_000
PIECE_BYTES = 1 << 16
GZIP = 31
"""Of zlib: a header and end of gzip, and the largest window."""
_FileVersion = tuple[int, int, int]
"""Inode, size and time of the last change: another file, or another content, is another one, whatever its name."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """How far a file was read. `mark`: digest of its first `marked` bytes; `offset`: behind its last whole line, in
    what a packed file has. `done`: its size when all of it was read, of a file that is read as a whole."""

    inode: int
    marked: int
    mark: str
    offset: int
    done: int = -1


@dataclass(frozen=True, slots=True)
class FolderStep:
    """`messages`: what was read. `places`: where to go on once they are kept."""

    messages: tuple[IncomingMessage, ...]
    places: tuple[FilePlace, ...]
    is_more: bool
    """Whether more can be read at once."""


class _NotNowError(Exception):
    """The file could not be opened, or another one has its name by now: the next step says what is there."""


class _Unpacker:
    """What a gzip file has, from `begin` on. Only what was asked for is held, however much it unpacks to."""

    def __init__(self) -> None:
        self.begin = 0
        self._held = b""
        self._decoder, self._at = zlib.decompressobj(GZIP), 0

    def read(self, file: int, offset: int, most: int) -> bytes:
        """Return bytes from `offset` on, which is not before `begin`. Raises zlib.error, OSError."""
        while self.begin + len(self._held) < offset + most:
            packed = self._decoder.unconsumed_tail or os.pread(file, PIECE_BYTES, self._at)
            if not self._decoder.unconsumed_tail:
                self._at += len(packed)
            if not packed:
                break
            self._held += self._decoder.decompress(packed, PIECE_BYTES)
            if self._decoder.eof:
                # a file may have several members, one behind the other
                self._at -= len(self._decoder.unused_data)
                self._decoder = zlib.decompressobj(GZIP)
            self._forget(offset)
        self._forget(offset)
        return self._held[:most]

    def _forget(self, offset: int) -> None:
        """Drop what is before `offset`."""
        dropped = min(len(self._held), offset - self.begin)
        self._held, self.begin = self._held[dropped:], self.begin + dropped


@dataclass(slots=True)
class TailedFolder:
    """`root`: the operator's folder; `below`: names of folders in it, one in the other. `wanted`: whether a name is one
    of the source's. `by_line`: each line is a message; else each file is one, once it stands still. `is_tailed`:
    whether lines are read while the file grows; else it is read once it stands still, also its last line if that has no
    end. `tell`: called with what is left out, and why."""

    root: Path
    below: Sequence[str]
    wanted: Callable[[str], bool]
    by_line: bool
    is_tailed: bool
    tell: Callable[[str, str], None]
    places: tuple[FilePlace, ...] = ()
    _known: dict[int, FilePlace] = field(default_factory=dict)
    """`places`, by inode."""
    _sizes: dict[int, int] = field(default_factory=dict)
    """Inode → size before the last pause, of files that are read once they stand still."""
    _unpackers: dict[_FileVersion, _Unpacker] = field(default_factory=dict)
    """Of packed files that are half read."""

    def step(self) -> FolderStep:
        """Read what is new, at most READ_BYTES of each file and STEP_BYTES of all. Raises OSError if the folder cannot
        be read."""
        messages: list[IncomingMessage] = []
        after: list[FilePlace] = []
        is_more, size, sizes, half_read = False, 0, dict[int, int](), set[_FileVersion]()
        self._known = {one.inode: one for one in self.places}
        with self._folder() as folder:
            for name, status in self._files(folder):
                if status.st_ino in sizes:
                    # while it is renamed it may have two names
                    continue
                sizes[status.st_ino] = status.st_size
                if size >= STEP_BYTES:
                    is_more = True
                    half_read.add(_version(status))
                    after += [self._known[status.st_ino]] if status.st_ino in self._known else []
                    continue
                try:
                    place = self._place_of(folder, name, status)
                    if place is None:
                        continue
                    found, place, has_more = self._read(folder, name, status, place)
                except _NotNowError:
                    # nothing is forgotten of it: read from its beginning, its rows would come twice
                    half_read.add(_version(status))
                    after += [self._known[status.st_ino]] if status.st_ino in self._known else []
                    continue
                messages += found
                size += sum(len(one.body) + MESSAGE_BYTES for one in found)
                after.append(place)
                is_more = is_more or has_more
                half_read |= {_version(status)} if has_more else set()
        if not is_more:
            # a step that follows at once says nothing about whether a file stands still
            self._sizes = sizes
        self._unpackers = {version: one for version, one in self._unpackers.items() if version in half_read}
        return FolderStep(tuple(messages), tuple(after), is_more)

    @contextmanager
    def _folder(self) -> Iterator[int]:
        """Open folder by folder, each of which must be one and no link."""
        opened = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in self.below:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
                os.close(opened)
                opened = inner
            yield opened
        finally:
            os.close(opened)

    def _files(self, folder: int) -> list[tuple[str, os.stat_result]]:
        """Return the files that are wanted or were read before, the oldest first."""
        known = {one.inode for one in self.places}
        found: list[tuple[str, os.stat_result]] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    is_wanted = self.wanted(entry.name)
                    if not is_wanted and status.st_ino not in known:
                        continue
                    if not stat.S_ISREG(status.st_mode):
                        if is_wanted:
                            self.tell("file left out", f"{entry.name} is no regular file of the folder")
                        continue
                    found.append((entry.name, status))
                if len(found) > MOST_FILES:
                    raise OSError(f"more than {MOST_FILES:,} files")
        return sorted(found, key=lambda one: (one[1].st_mtime_ns, one[0]))

    def _place_of(self, folder: int, name: str, status: os.stat_result) -> FilePlace | None:
        """Return how far the file was read before; None if it is to be left alone."""
        first = self._content(folder, name, status, 0, MARK_BYTES)[0]
        place = self._known.get(status.st_ino)
        if place is not None and first[: place.marked] and _mark(first[: place.marked]) == place.mark:
            return place if _is_packed(name) or status.st_size >= place.offset else _new_place(status)
        if place is not None and place.marked == 0:
            return _new_place(status)
        if not self.wanted(name):
            # its inode was given away
            return None
        if _is_packed(name):
            # the longest mark: a new log that has only a header so far begins like many a packed file
            same = [one for one in self.places if _is_same(one, first)]
            before = max(same, key=lambda one: (one.marked, one.offset), default=None)
            if before is not None:
                return replace(before, inode=status.st_ino)
        return _new_place(status)

    def _read(
        self, folder: int, name: str, status: os.stat_result, place: FilePlace
    ) -> tuple[list[IncomingMessage], FilePlace, bool]:
        """Return the messages, the place behind them, and whether there is more."""
        stands_still = self._sizes.get(status.st_ino) == status.st_size
        is_complete = _is_packed(name) or not (self.is_tailed and self.by_line)
        if is_complete and (not stands_still or place.done == status.st_size):
            return [], place, False
        if not self.by_line:
            return self._read_whole(folder, name, status, replace(place, done=status.st_size))
        data, has_more = self._content(folder, name, status, place.offset, READ_BYTES)
        whole = len(data) if is_complete and not has_more else data.rfind(b"\n") + 1
        first = self._content(folder, name, status, 0, MARK_BYTES)[0] if place.marked < MARK_BYTES else b""
        place = replace(place, **_marked(first, place))
        if whole == 0 and has_more:
            return self._skipped(folder, name, status, place, status.st_size if is_complete else -1)
        done = status.st_size if is_complete and not has_more else -1
        after = replace(place, offset=place.offset + whole, done=done)
        lines = lines_of(data[:whole])
        properties = {"file.name": name, "file.path": "/".join((*self.below, name))}
        return [IncomingMessage(line, properties) for line in lines if line], after, has_more

    def _read_whole(
        self, folder: int, name: str, status: os.stat_result, place: FilePlace
    ) -> tuple[list[IncomingMessage], FilePlace, bool]:
        data, has_more = self._content(folder, name, status, 0, MOST_MESSAGE_BYTES)
        if place.offset == len(data) and not has_more:
            return [], place, False
        first = data[:MARK_BYTES]
        after = replace(place, offset=len(data), marked=len(first), mark=_mark(first))
        if has_more:
            if place.offset != len(data):
                self.tell("file left out", f"{name} has more than {MOST_MESSAGE_BYTES:,} bytes")
            return [], after, False
        properties = {"file.name": name, "file.path": "/".join((*self.below, name))}
        return [IncomingMessage(data, properties)], after, False

    def _skipped(
        self, folder: int, name: str, status: os.stat_result, place: FilePlace, done: int
    ) -> tuple[list[IncomingMessage], FilePlace, bool]:
        """Leave a line out that is too long, once its end is there. `done`: the file's size if the file's end is one
        too."""
        offset, end, has_more = place.offset, 0, True
        while has_more and end == 0 and offset - place.offset < MOST_SKIPPED_BYTES:
            data, has_more = self._content(folder, name, status, offset, READ_BYTES)
            end = data.find(b"\n") + 1
            offset += end or len(data)
        if end == 0 and not has_more and done < 0:
            return [], place, False
        self.tell("line left out", f"a line of {name} has more than {READ_BYTES:,} bytes")
        return [], replace(place, offset=offset, done=-1 if has_more else done), has_more

    def _content(self, folder: int, name: str, seen: os.stat_result, offset: int, most: int) -> tuple[bytes, bool]:
        """Return bytes from `offset` on, and whether there are more. Raises _NotNowError if the file that was `seen`
        cannot be read now, or does not have the name any more."""
        try:
            # a pipe of that name would not be waited for, and a link not be followed
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            raise _NotNowError from None
        except OSError as error:
            self.tell("file waits", f"{name} cannot be opened: {error.strerror}")
            raise _NotNowError from None
        try:
            status = os.fstat(file)
            if status.st_ino != seen.st_ino or not stat.S_ISREG(status.st_mode):
                raise _NotNowError
            if _is_packed(name):
                data = self._unpacker(_version(status), offset).read(file, offset, most + 1)
            else:
                data = os.pread(file, most + 1, offset)
        except OSError as error:
            self.tell("file waits", f"{name} cannot be read: {error.strerror}")
            raise _NotNowError from None
        except zlib.error:
            self._unpackers.clear()
            self.tell("file left out", f"{name} cannot be read")
            return b"", False
        finally:
            os.close(file)
        return data[:most], len(data) > most

    def _unpacker(self, version: _FileVersion, offset: int) -> _Unpacker:
        """Return one that goes on at `offset`, where the last step ended; the file's beginning is looked at with
        another."""
        found = self._unpackers.get(version)
        if found is None or found.begin > offset:
            found = _Unpacker()
            if offset > 0:
                self._unpackers[version] = found
        return found


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines without their ends. A carriage return inside of a line is a part of it."""
    return [line.removesuffix(b"\r") for line in data.split(b"\n")]


def places_as_json(places: Sequence[FilePlace]) -> list[list[Any]]:
    return [[one.inode, one.marked, one.mark, one.offset, one.done] for one in places]


def places_from_json(found: Any) -> tuple[FilePlace, ...]:
    """Raise ValueError, TypeError if it is not what `places_as_json` gave."""
    return tuple(
        FilePlace(int(inode), int(marked), str(mark), int(offset), int(done))
        for inode, marked, mark, offset, done in found
    )


def _version(status: os.stat_result) -> _FileVersion:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _is_packed(name: str) -> bool:
    return name.endswith(".gz")


def _mark(first: bytes) -> str:
    return sha256(first).hexdigest()[:24]


def _marked(first: bytes, place: FilePlace) -> Mapping[str, Any]:
    return {"marked": len(first), "mark": _mark(first)} if len(first) > place.marked else {}


def _is_same(place: FilePlace, first: bytes) -> bool:
    return place.marked > 0 and _mark(first[: place.marked]) == place.mark and len(first) >= place.marked


def _new_place(status: os.stat_result) -> FilePlace:
    return FilePlace(status.st_ino, 0, "", 0)
