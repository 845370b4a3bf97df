"""Reads packed or plain files block by block; errors are one sentence."""

import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from datasets.errors import ImportRejectedError
from datasets.rows.parquet_columns import is_parquet, parquet_head
from datasets.rows.quote_rows import reject
from datasets.rows.special_files import check_file

BLOCK_BYTES = 8_000_000
HEAD_BYTES = 65_536
LONGEST_LINE = 64_000_000
"""Bytes. A packed file of a few megabytes may hold one line of many gigabytes, which no memory would hold."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_MARK_BYTES = 4
_MARKS = (
    # the longer first: one begins as the other
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Block(NamedTuple):
    """Whole lines, the first of which is line `line` of the file."""

    line: int
    data: bytes


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's content, unpacked: plain, gzip, or a zip with one member; UTF-16 and UTF-32 with their mark at the
    start as UTF-8, whose own mark is left out. Raises ImportRejectedError, reading too."""
    check_file(path)
    try:
        with path.open("rb") as file:
            start = file.read(2)
            file.seek(0)
            if start == _GZIP:
                with gzip.open(file) as unpacked:
                    yield _in_utf8(io.BufferedReader(unpacked))
            elif start == _ZIP:
                with zipfile.ZipFile(file) as archive, archive.open(_only_member(path, archive)) as member:
                    yield _in_utf8(member)
            else:
                yield _in_utf8(file)
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        kind = "gzip" if start == _GZIP else "zip"
        raise ImportRejectedError(
            f"{path}: is not a valid {kind} file; it is damaged or was cut off ({error})"
        ) from error
    except UnicodeError as error:
        raise ImportRejectedError(f"{path}: is damaged as text ({error})") from error
    except (RuntimeError, lzma.LZMAError) as error:
        # zipfile's words for a password that it lacks, and for a way of packing that it does not know
        raise ImportRejectedError(f"{path}: is a zip file that cannot be unpacked ({error})") from error
    except OSError as error:
        raise ImportRejectedError(f"{path}: cannot be read ({error.strerror or error})") from error


def _in_utf8(file: IO[bytes]) -> IO[bytes]:
    start = file.peek(_MARK_BYTES)[:_MARK_BYTES]  # type: ignore[attr-defined]  # all three kinds can
    for mark, name in _MARKS:
        if start.startswith(mark):
            return cast("IO[bytes]", codecs.EncodedFile(file, "utf-8", name))
    if start.startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
    return file


def _only_member(path: Path, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        reject(path, None, f"must hold one file, not {len(names)}")
    return names[0]


def blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The lines of a file, so many bytes at a time. Raises ImportRejectedError; an empty file is rejected, too."""
    line, rest = 1, b""
    with opened(path) as file:
        while data := file.read(size):
            whole, newline, behind = data.rpartition(b"\n")
            if not newline and len(rest) + len(data) > LONGEST_LINE:
                reject(path, line, f"is longer than {LONGEST_LINE:,} bytes")
            if not newline:
                rest += data
                continue
            block = rest + whole + newline
            yield Block(line, block)
            line += block.count(b"\n")
            rest = behind
    if rest:
        yield Block(line, rest)
    elif line == 1:
        reject(path, None, "is empty")


def start_of(path: Path) -> bytes:
    """The first four bytes, unpacked. Raises ImportRejectedError."""
    with opened(path) as file:
        return file.read(_MARK_BYTES)


def head_of(path: Path) -> bytes:
    """The first bytes, unpacked; of Parquet the names of its columns. Raises ImportRejectedError."""
    with opened(path) as file:
        head = file.read(HEAD_BYTES)
    return parquet_head(path) if is_parquet(head) else head
