"""Files that people upload for a backtest: in pieces, bounded, in a private folder until they are imported.

A piece is a body of its own, so no request is larger or longer than any other; one that was lost is sent again.
"""

import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from uuid import uuid4

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from runtime.disk_space import ROOM_BYTES, free_bytes

MOST_BYTES = 256 * 1024**2
PIECE_BYTES = 512 * 1024
MOST_UPLOADS = 4
"""That lie there at a time."""
KEPT_FOR = 24 * 3_600 * MICROSECONDS
QUIET_FOR = 600 * MICROSECONDS
"""One without a new piece for so long was given up, and goes if another needs its place."""
UNASKED_FOR = 3_600 * MICROSECONDS
"""The same of one that is whole, since its import was last asked for."""
SIZE = ".size"
"""A file of each upload: how many bytes there will be."""
_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+\-]{0,119}")
_identity = re.compile(r"[0-9a-f]{32}")


class UploadError(Exception):
    """It is not taken; why, in one sentence."""


class NoUploadError(Exception):
    """There is no upload of this id."""


@dataclass(frozen=True, slots=True)
class Upload:
    upload_id: str
    name: str
    size: int
    received: int


class Uploads:
    """Those below one folder; every method works on the disk, and raises OSError if it takes nothing. For threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changing = Lock()

    def begin(self, name: str, size: int) -> Upload:
        """Make room for a file. Raises UploadError."""
        if not _name.fullmatch(name):
            raise UploadError("A file's name may have letters, digits and . _ + -, at most 120 of them.")
        if not 0 < size <= MOST_BYTES:
            most = f"{MOST_BYTES // 1024**2} MB"
            raise UploadError(f"A file may have {most} at most: import larger ones with `arbitrage import`.")
        with self._changing:
            self._make_place()
            missing = sum(one.size - one.received for one in self._waiting().values())
            if free_bytes(self._folder) < size + missing + ROOM_BYTES:
                raise UploadError("There is no room for it on the server's disk.")
            upload_id = uuid4().hex
            place = self._folder / upload_id
            place.mkdir(mode=0o700)
            (place / SIZE).write_text(str(size))
            path = place / name
            path.touch(mode=0o600)
        return Upload(upload_id, name, size, 0)

    def add(self, upload_id: str, offset: int, piece: bytes) -> Upload:
        """Write a piece at its place, which is not behind a gap; one that is there already changes nothing. Raises
        UploadError, NoUploadError."""
        with self._changing:
            known, path = self._known(upload_id)
            end = offset + len(piece)
            if end <= known.received:
                return known
            if offset > known.received or end > known.size:
                raise UploadError(f"The next piece begins at {known.received}, and the file ends at {known.size}.")
            with path.open("r+b") as file:
                # of one that was cut off a part may be there
                file.seek(offset)
                file.write(piece)
            return self._known(upload_id)[0]

    def whole(self, upload_id: str) -> Path:
        """Return the file once it is whole, for its import. Raises UploadError, NoUploadError."""
        with self._changing:
            known, path = self._known(upload_id)
            if known.received < known.size:
                raise UploadError(f"Only {known.received} of {known.size} bytes of {known.name} are there.")
            path.touch()
        return path

    def _known(self, upload_id: str) -> tuple[Upload, Path]:
        place = self._folder / upload_id
        if not _identity.fullmatch(upload_id) or not (place / SIZE).is_file():
            raise NoUploadError(f"There is no upload {upload_id[:40]!r}.")
        path = next((one for one in place.iterdir() if one.name != SIZE), None)
        if path is None:
            raise NoUploadError(f"The file of upload {upload_id!r} was imported already.")
        return Upload(upload_id, path.name, int((place / SIZE).read_text()), path.stat().st_size), path

    def _waiting(self) -> dict[Path, Upload]:
        """Return those with a file, by it."""
        found: dict[Path, Upload] = {}
        for place in self._folder.glob("*"):
            with suppress(NoUploadError):
                upload, path = self._known(place.name)
                found[path] = upload
        return found

    def _make_place(self) -> None:
        """Remove what was begun long ago, what was imported, and, if there is no place, what was given up. Raises
        UploadError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        waiting, now = self._waiting(), wall_now()
        for place in self._folder.glob("*"):
            if now - _changed_at(place) > KEPT_FOR or not any(path.parent == place for path in waiting):
                shutil.rmtree(place, ignore_errors=True)
        waiting = {path: one for path, one in waiting.items() if path.exists()}
        if len(waiting) < MOST_UPLOADS:
            return
        given_up = [
            path
            for path, one in waiting.items()
            if now - _changed_at(path) > (UNASKED_FOR if one.received == one.size else QUIET_FOR)
        ]
        if not given_up:
            raise UploadError(f"{MOST_UPLOADS} uploads are under way or wait for their import: try again in a while.")
        shutil.rmtree(min(given_up, key=_changed_at).parent)


def _changed_at(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000
