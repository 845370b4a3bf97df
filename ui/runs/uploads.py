"""Files that people upload for a backtest: in pieces, bounded, in a private folder until they are imported.

A piece is a body of its own, so no request is larger or longer than any other; one that was lost is sent again.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from market.time_units import MICROSECONDS
from runtime.clock import wall_now

MOST_BYTES = 256 * 1024**2
PIECE_BYTES = 512 * 1024
MOST_UPLOADS = 4
"""That lie there at a time."""
KEPT_FOR = 24 * 3_600 * MICROSECONDS
ROOM_BYTES = 1024**3
"""Left free on the disk, which the stores of the session need."""
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
    """Those below one folder; every method works on the disk, and raises OSError if it takes nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, name: str, size: int) -> Upload:
        """Make room for a file. Raises UploadError."""
        if not _name.fullmatch(name):
            raise UploadError("A file's name may have letters, digits and . _ + -, at most 120 of them.")
        if not 0 < size <= MOST_BYTES:
            most = f"{MOST_BYTES // 1024**2} MB"
            raise UploadError(f"A file may have {most} at most: import larger ones with `arbitrage import`.")
        self._remove_old()
        if len(self._places()) >= MOST_UPLOADS:
            raise UploadError(f"{MOST_UPLOADS} uploads are not imported yet: import them first, or wait a day.")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if shutil.disk_usage(self._folder).free < size + ROOM_BYTES:
            raise UploadError("There is no room for it on the server's disk.")
        upload_id = uuid4().hex
        place = self._folder / upload_id
        place.mkdir(mode=0o700)
        (place / SIZE).write_text(str(size))
        path = place / name
        path.touch(mode=0o600)
        return Upload(upload_id, name, size, 0)

    def add(self, upload_id: str, offset: int, piece: bytes) -> Upload:
        """Write a piece behind those that there are; one that is there already changes nothing. Raises UploadError,
        NoUploadError."""
        known, path = self._known(upload_id)
        if offset + len(piece) <= known.received:
            return known
        if offset != known.received or known.received + len(piece) > known.size:
            raise UploadError(f"The next piece begins at {known.received}, and the file ends at {known.size}.")
        with path.open("ab") as file:
            file.write(piece)
        return self._known(upload_id)[0]

    def whole(self, upload_id: str) -> Path:
        """Return the file once it is whole. Raises UploadError, NoUploadError."""
        known, path = self._known(upload_id)
        if known.received < known.size:
            raise UploadError(f"Only {known.received} of {known.size} bytes of {known.name} are there.")
        return path

    def _known(self, upload_id: str) -> tuple[Upload, Path]:
        place = self._folder / upload_id
        if not _identity.fullmatch(upload_id) or not (place / SIZE).is_file():
            raise NoUploadError(f"There is no upload {upload_id[:40]!r}.")
        path = next((one for one in place.iterdir() if one.name != SIZE), None)
        if path is None:
            raise NoUploadError(f"The file of upload {upload_id!r} was imported already.")
        return Upload(upload_id, path.name, int((place / SIZE).read_text()), path.stat().st_size), path

    def _places(self) -> list[Path]:
        """Return those with a file."""
        return [place for place in self._folder.glob("*") if len(list(place.glob("*"))) > 1]

    def _remove_old(self) -> None:
        """Remove what was begun long ago, and what was imported."""
        waiting = self._places()
        for place in self._folder.glob("*"):
            began = place.stat().st_mtime_ns // 1_000
            if place not in waiting or wall_now() - began > KEPT_FOR:
                shutil.rmtree(place, ignore_errors=True)
