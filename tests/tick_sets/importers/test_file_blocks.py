import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.tick_sets.importers.read_files import zipped
from tick_sets.errors import ImportRejectedError
from tick_sets.rows.file_blocks import HEAD_BYTES, LONGEST_LINE, blocks, blocks_behind, head_of

CENTRAL = b"PK\x01\x02"
TEXT = "x,y\n" * 1_000


def with_password(path: Path) -> Path:
    content = bytearray(zipped(path, "a.csv", TEXT).read_bytes())
    for place in (6, content.index(CENTRAL) + 8):
        content[place] |= 1
    path.write_bytes(content)
    return path


def packed_strangely(path: Path) -> Path:
    content = bytearray(zipped(path, "a.csv", TEXT).read_bytes())
    for place in (8, content.index(CENTRAL) + 10):
        content[place] = 99
    path.write_bytes(content)
    return path


def damaged_lzma(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.csv", TEXT)
    content = bytearray(path.read_bytes())
    content[45:60] = b"\xff" * 15
    path.write_bytes(content)
    return path


def one_long_line(path: Path) -> Path:
    """Return a few kilobytes that are far more once unpacked."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"x,y\n")
        for _ in range(LONGEST_LINE // 8_000_000 + 2):
            file.write(b"0" * 8_000_000)
    return path


def xz_of_much_memory(path: Path) -> Path:
    """Return a file that asks for a quarter of a gigabyte before it has given a byte."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 28, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3}]
    path.write_bytes(lzma.compress(b"x", filters=filters))
    return path


def zst(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


def written(content: Callable[[], bytes]) -> Callable[[Path], Path]:
    """`content` is packed for its own test: it takes a second, which each process that collects tests would wait."""

    def write(path: Path) -> Path:
        path.write_bytes(content())
        return path

    return write


LINES = b"".join(b"%d,x\n" % number for number in range(100_000))
NO_CONTENT = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
"""A frame of Zstandard without content, as pzstd writes one first."""
PACKED: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(LINES),
    "bz2": lambda: bz2.compress(LINES),
    "bz2 in two streams": lambda: bz2.compress(LINES[:999]) + bz2.compress(LINES[999:]),
    "xz": lambda: lzma.compress(LINES),
    "xz in two streams": lambda: lzma.compress(LINES[:999]) + b"\0" * 8 + lzma.compress(LINES[999:]) + b"\0" * 4,
    "zst": lambda: zst(LINES),
    "zst in two frames": lambda: NO_CONTENT + zst(LINES[:999]) + NO_CONTENT + zst(LINES[999:]),
    "lines that end in CR": lambda: LINES.replace(b"\n", b"\r"),
    "lines that end in CR, as xz": lambda: lzma.compress(LINES.replace(b"\n", b"\r")),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_file_is_read_however_it_is_packed(tmp_path: Path, name: str) -> None:
    path = written(PACKED[name])(tmp_path / "a.csv")
    assert b"".join(block.data for block in blocks(path, 1_000)) == LINES
    assert head_of(path) == LINES[:HEAD_BYTES]


def test_what_macos_adds_to_a_zip_is_passed_over(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("a.csv", "__MACOSX/._a.csv", ".DS_Store"):
            archive.writestr(name, TEXT if name == "a.csv" else "Mac OS X")
    assert b"".join(block.data for block in blocks(tmp_path / "a.zip")) == TEXT.encode()


CASES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "password": (with_password, "is a zip file that cannot be unpacked (File 'a.csv' is encrypted"),
    "unknown packing": (packed_strangely, "is a zip file that cannot be unpacked (That compression method"),
    "damaged lzma": (damaged_lzma, "is a zip file that cannot be unpacked (Corrupt"),
    "bz2 cut off": (
        written(lambda: bz2.compress(LINES)[:-5]),
        "is not a valid bz2 file; it is damaged or was cut off (",
    ),
    "bz2 damaged between two streams": (
        written(lambda: bz2.compress(LINES) + b"?" + bz2.compress(LINES)[1:]),
        "is not a valid bz2 file; it is damaged or was cut off (Invalid data stream)",
    ),
    "bz2 damaged": (written(lambda: b"BZh91AY" + b"?" * 99), "is not a valid bz2 file; it is damaged or was cut off ("),
    "xz cut off": (
        written(lambda: lzma.compress(LINES)[:-50]),
        "is not a valid xz file; it is damaged or was cut off (",
    ),
    "xz damaged": (
        written(lambda: lzma.compress(LINES) + b"?" * 99),
        "is not a valid xz file; it is damaged or was cut off (",
    ),
    "xz of much memory": (xz_of_much_memory, "is not a valid xz file; it is damaged or was cut off (Memory usage"),
    "zst cut off": (written(lambda: zst(LINES)[:-5]), "is not a valid zst file; it is damaged or was cut off ("),
    "zst damaged": (written(lambda: zst(LINES) + b"?" * 99), "is not a valid zst file; it is damaged or was cut off ("),
    "zst of one long line": (
        written(lambda: zst(b"x,y\n" + b"0" * 80_000_000)),
        ", line 2: is longer than 64,000,000 bytes",
    ),
    "one long line": (one_long_line, ", line 2: is longer than 64,000,000 bytes"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_unpacked_gets_one_sentence(tmp_path: Path, case: str) -> None:
    make, reported = CASES[case]
    with pytest.raises(ImportRejectedError) as rejected:
        list(blocks(make(tmp_path / "a.packed")))
    assert reported in str(rejected.value)


@pytest.mark.parametrize("lines", [0, 1, 2, 199_999])
@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_are_skipped_in_blocks_of_any_number(tmp_path: Path, lines: int, end: str) -> None:
    """Before, each skipped block copied the rest of its block, so that many took minutes; here 10 MB of lines are
    skipped."""
    path = tmp_path / "a.csv"
    every = [f"{number:060}" for number in range(200_000)]
    path.write_text("\n".join(every) + end)
    found = list(blocks_behind(path, lines))
    assert found[0].line == lines + 1
    assert b"".join(block.data for block in found).decode() == "\n".join(every[lines:]) + end
    with pytest.raises(ImportRejectedError, match="has no line behind the 200000 that are to be skipped"):
        list(blocks_behind(path, 200_000))
