"""Reads packed or plain files block by block, and says in one sentence what is wrong with one."""

import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from pricefeeds.errors import ImportRefusedError
from pricefeeds.importers.rows import refuse

BLOCK_BYTES = 8_000_000
HEAD_BYTES = 65_536
LONGEST_LINE = 64_000_000
"""Bytes. A packed file of a few megabytes may hold one line of many gigabytes, which no memory would hold."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK"


class Block(NamedTuple):
    """Whole lines, the first of which is line `line` of the file."""

    line: int
    data: bytes


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's content, unpacked: plain, gzip, or a zip with one member. Raises ImportRefusedError, reading too."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
            file.seek(0)
            if start == _GZIP:
                with gzip.open(file) as unpacked:
                    yield io.BufferedReader(unpacked)
            elif start == _ZIP:
                with zipfile.ZipFile(file) as archive, archive.open(_only_member(path, archive)) as member:
                    yield member
            else:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        kind = "gzip" if start == _GZIP else "zip"
        raise ImportRefusedError(f"{path}: is no sound {kind} file; it is damaged or was cut off ({error})") from error
    except (RuntimeError, lzma.LZMAError) as error:
        # zipfile's words for a password that it lacks, and for a way of packing that it does not know
        raise ImportRefusedError(f"{path}: is a zip file that cannot be unpacked ({error})") from error
    except OSError as error:
        raise ImportRefusedError(f"{path}: cannot be read ({error.strerror or error})") from error


def _only_member(path: Path, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        refuse(path, None, f"must hold one file, not {len(names)}")
    return names[0]


def blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The lines of a file, so many bytes at a time. Raises ImportRefusedError; an empty file is refused, too."""
    line, rest = 1, b""
    with opened(path) as file:
        while data := file.read(size):
            whole, newline, behind = data.rpartition(b"\n")
            if not newline and len(rest) + len(data) > LONGEST_LINE:
                refuse(path, line, f"is longer than {LONGEST_LINE:,} bytes")
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
        refuse(path, None, "is empty")


def head_of(path: Path) -> bytes:
    """The first bytes, unpacked. Raises ImportRefusedError."""
    with opened(path) as file:
        return file.read(HEAD_BYTES)
