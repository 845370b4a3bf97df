"""The file of a backup: a gzipped tar with its list of contents last, so that it is written in one pass.

An archive that is read may be torn, altered or somebody else's: nothing in it is trusted before its checksums
match.
"""

import gzip
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import TypeAdapter

from launch.errors import CannotStartError, LaunchError
from launch.setup.data_layout import LAYOUT

FORMAT = 1
"""Raised with each change that an earlier version cannot read."""
CONTENTS = "contents.json"
FILES, DATABASES = "files", "databases"
"""Where an archive has the data folder's files, by their paths there, and its databases: name/collection.bson."""
MOST_CONTENTS = 64_000_000
"""Most bytes of the list of contents."""
LEFT_FREE = 64_000_000
"""Bytes that unpacking leaves free on the disk."""
PACKING = 3
"""Level of gzip: half as long as its default, and 5 % larger."""
CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """One file of an archive; `documents` for a collection."""

    size: int
    sha256: str
    documents: int | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive has."""

    format: int
    layout: int
    program: str
    made_at: int
    """Wall clock, microseconds UTC."""
    was_running: bool = False
    members: dict[str, ArchivedFile] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    """Folder → bytes."""


_CONTENTS = TypeAdapter(Contents)


class ArchiveWriter:
    """Adds members one after the other."""

    def __init__(self, tar: tarfile.TarFile, folder: Path) -> None:
        self._tar = tar
        self.folder = folder
        """Where files are put before they go into the archive."""
        self.members: dict[str, ArchivedFile] = {}

    def add(self, name: str, source: IO[bytes], size: int, documents: int | None = None) -> ArchivedFile:
        """Add `size` bytes of `source`; what a file has grown by meanwhile is left out."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        hashed = _Hashed(source)
        self._tar.addfile(info, hashed)
        self.members[name] = ArchivedFile(size, hashed.digest.hexdigest(), documents)
        return self.members[name]

    def finish(self, contents: Contents) -> None:
        text = _CONTENTS.dump_json(contents)
        info = tarfile.TarInfo(CONTENTS)
        info.size, info.mode = len(text), 0o600
        self._tar.addfile(info, BytesIO(text))


class _Hashed:
    """A file whose checksum is made while it is read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.digest = sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._source.read(size)
        self.digest.update(chunk)
        return chunk


@contextmanager
def scratch_beside(path: Path) -> Iterator[Path]:
    """Return a file beside `path` to write until it has been checked; gone at the end, unless it was put in place."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)


def put_in_place(scratch: Path, path: Path) -> None:
    """Name it `path`, so that a power cut leaves the file before or this one. Raises OSError."""
    scratch.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def new_archive(scratch: Path) -> Iterator[ArchiveWriter]:
    """Return an archive that only its owner can read; at the end it is whole and on the disk. Raises LaunchError if it
    cannot be written."""
    try:
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with (
                gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=PACKING) as packed,
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                yield ArchiveWriter(tar, scratch.parent)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        why = error.strerror or error
        raise LaunchError(f"{scratch}: cannot be written ({why}); nothing is left of it.") from error


def unpack(path: Path, target: Path) -> Contents:
    """Unpack all members below `target`, an empty folder, once each of their checksums is right. Raises
    CannotStartError for a file that is missing, torn, altered, of a newer version or no backup at all."""
    try:
        with gzip.open(path) as packed:
            found, listed = _members(path, packed, target)
            # its checksum follows the last member
            while packed.read(CHUNK):
                pass
    except FileNotFoundError:
        raise CannotStartError(f"{path}: there is no such file.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        raise CannotStartError(
            f"{path}: is torn, altered, or no backup of this program ({error}); use another copy."
        ) from error
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be unpacked ({error.strerror or error}).") from error
    contents = _contents_of(path, listed)
    differing = sorted(
        name
        for name in found.keys() | contents.members.keys()
        if not _agree(found.get(name), contents.members.get(name))
    )
    if differing:
        raise CannotStartError(f"{path}: was altered: {differing[0]} is not as it was written; use another copy.")
    return contents


def _members(path: Path, packed: gzip.GzipFile, target: Path) -> tuple[dict[str, ArchivedFile], bytes | None]:
    """Write the members below `target`, and return the list of contents as it is."""
    found: dict[str, ArchivedFile] = {}
    listed: bytes | None = None
    with tarfile.open(fileobj=packed, mode="r|") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.type == tarfile.REGTYPE else None
            if content is not None and member.name == CONTENTS:
                listed = content.read(MOST_CONTENTS)
                continue
            name = _checked_name(path, member, found)
            if not 0 <= member.size <= shutil.disk_usage(target).free - LEFT_FREE:
                raise CannotStartError(f"{path}: needs more room than {target.parent} has; free some and try again.")
            if content is not None:
                found[name] = _written(content, target / name)
    return found, listed


def _checked_name(path: Path, member: tarfile.TarInfo, found: dict[str, ArchivedFile]) -> str:
    """Return the member's name. Raises CannotStartError for what no backup of ours has: links, devices, paths that lead
    elsewhere."""
    parts = PurePosixPath(member.name).parts
    is_inside = len(parts) > 1 and parts[0] in (FILES, DATABASES) and ".." not in parts
    is_plain = member.type == tarfile.REGTYPE and not member.issparse()
    name = "/".join(parts)
    if not (is_inside and is_plain) or "\0" in name or "\\" in name or name in found:
        raise CannotStartError(
            f"{path}: is no backup of this program, which would have no {member.name[:100]!r}; nothing was restored."
        )
    return name


def _written(content: IO[bytes], target: Path) -> ArchivedFile:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest, size = sha256(), 0
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while chunk := content.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
    return ArchivedFile(size, digest.hexdigest())


def _contents_of(path: Path, listed: bytes | None) -> Contents:
    """Return the contents. Raises CannotStartError if there is no list, or it is of a newer version."""
    if listed is None:
        raise CannotStartError(f"{path}: is no backup of this program: it has no list of contents.")
    try:
        listing = json.loads(listed)
        newer = max(listing["format"] - FORMAT, listing["layout"] - LAYOUT)
        if newer > 0:
            raise CannotStartError(
                f"{path}: was made by a newer version ({listing['program']}); restore it with that one or a later."
            )
        return _CONTENTS.validate_python(listing)
    except (ValueError, KeyError, TypeError) as error:
        raise CannotStartError(f"{path}: is no backup of this program: its list of contents is damaged.") from error


def _agree(found: ArchivedFile | None, listed: ArchivedFile | None) -> bool:
    if found is None or listed is None:
        return False
    return (found.size, found.sha256) == (listed.size, listed.sha256)
