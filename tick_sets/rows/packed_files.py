"""Unpacks files of any common kind as one stream of bytes with bounded memory; errors are one sentence."""

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, cast

import pyarrow as pa

from tick_sets.errors import ImportRejectedError, reject
from tick_sets.rows.special_files import check_file

MARK_BYTES = 4
_KIND_BYTES = 6
_MARKS = (
    # the longer first: one begins as the other
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
XZ_MEMORY = 256_000_000
"""Bytes. `xz -9` takes 65 million; a file may ask for four gigabytes, whatever its size."""
_READ_BYTES = 65_536
_DAMAGED = (zlib.error, zipfile.BadZipFile, lzma.LZMAError)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Return the file's content, unpacked: plain, gzip, bzip2, xz, Zstandard, or a zip with one member; UTF-16 and
    UTF-32 with their mark at the start as UTF-8, whose own mark is left out. Raises ImportRejectedError, reading
    too."""
    check_file(path)
    kind = None
    try:
        with path.open("rb") as file:
            kind = _kind_of(file.read(_KIND_BYTES))
            file.seek(0)
            with _unpacked(path, kind, file) as content:
                yield _in_utf8(content)
    except UnicodeError as error:
        raise ImportRejectedError(f"{path}: is damaged as text ({error})") from error
    except (EOFError, OSError, RuntimeError, *_DAMAGED) as error:
        raise ImportRejectedError(f"{path}: {_why(kind, error)}") from error


@contextmanager
def _unpacked(path: Path, kind: str | None, file: IO[bytes]) -> Iterator[IO[bytes]]:
    if kind == "zip":
        with zipfile.ZipFile(file) as archive, archive.open(_only_member(path, archive)) as member:
            yield member
    elif kind is not None:
        with _UNPACKED[kind](file) as content:
            yield content
    else:
        yield file


def _why(kind: str | None, error: Exception) -> str:
    # zipfile's words for a password that it lacks, and for a way of packing that it does not know
    if isinstance(error, RuntimeError) or (kind == "zip" and isinstance(error, lzma.LZMAError)):
        return f"is a zip file that cannot be unpacked ({error})"
    # bz2 and Arrow have no error of their own; one of the system has a number
    is_of_system = isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile)
    if is_of_system and (kind not in ("bz2", "zst") or getattr(error, "errno", None) is not None):
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return f"is not a valid {kind} file; it is damaged or was cut off ({error})"


def _kind_of(start: bytes) -> str | None:
    """Return the kind by the first bytes; None for a file that is not packed."""
    if start[1:4] == b"\x2a\x4d\x18" and 0x50 <= start[0] < 0x60:
        # a frame of Zstandard that has no content, as pzstd writes one first (RFC 8878, 3.1.2)
        return "zst"
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def _zst(file: IO[bytes]) -> IO[bytes]:
    """Open it with Arrow, which rejects a window above 128 MiB, so no file decides how much memory it takes."""
    stream = pa.CompressedInputStream(pa.PythonFile(cast("io.IOBase", file), mode="r"), "zstd")
    return io.BufferedReader(cast("io.RawIOBase", stream))


class _Streams(io.RawIOBase):
    """Compressed streams one after the other, as several writers at once make them.

    The modules' own files pass over what follows a stream and is none, so that a file damaged there would lose its rest
    without an error; and that of xz has no bound of memory.
    """

    def __init__(
        self, file: IO[bytes], new_stream: "Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]"
    ) -> None:
        self._file = file
        self._new_stream = new_stream
        self._stream = new_stream()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # the stub's Buffer has no length
        """Read some bytes. Raises LZMAError, OSError, EOFError."""
        while True:
            if self._stream.eof:
                # between two streams there may be zeros
                rest = (self._stream.unused_data or self._file.read(_READ_BYTES)).lstrip(b"\0")
                if not rest and not (rest := self._file.read(_READ_BYTES).lstrip(b"\0")):
                    return 0
                self._stream = self._new_stream()
            else:
                rest = self._file.read(_READ_BYTES) if self._stream.needs_input else b""
                if not rest and self._stream.needs_input:
                    raise EOFError("it ends within a stream")
            data = self._stream.decompress(rest, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PK": "zip",
    **{b"BZh%d1A" % level: "bz2" for level in range(1, 10)},
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
_UNPACKED: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    "gzip": lambda file: io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=file))),
    "bz2": lambda file: io.BufferedReader(_Streams(file, bz2.BZ2Decompressor)),
    "xz": lambda file: io.BufferedReader(_Streams(file, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, XZ_MEMORY))),
    "zst": _zst,
}


def _in_utf8(file: IO[bytes]) -> IO[bytes]:
    start = file.peek(MARK_BYTES)[:MARK_BYTES]  # type: ignore[attr-defined]  # all kinds can
    for mark, name in _MARKS:
        if start.startswith(mark):
            return cast("IO[bytes]", codecs.EncodedFile(file, "utf-8", name))
    if start.startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
    return file


def _only_member(path: Path, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not is_passed_over(PurePosixPath(name))]
    if len(names) != 1:
        reject(path, None, f"must hold one file, not {len(names)}")
    return names[0]


def is_passed_over(path: PurePath) -> bool:
    """Return whether a file below a folder, or of an archive, is no data: hidden, or one that macOS adds to
    archives."""
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
