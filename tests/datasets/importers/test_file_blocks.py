import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from datasets.errors import ImportRejectedError
from datasets.rows.file_blocks import LONGEST_LINE, blocks
from tests.datasets.importers.read_files import zipped

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
    """A few kilobytes that are far more once unpacked."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"x,y\n")
        for _ in range(LONGEST_LINE // 8_000_000 + 2):
            file.write(b"0" * 8_000_000)
    return path


CASES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "password": (with_password, "is a zip file that cannot be unpacked (File 'a.csv' is encrypted"),
    "unknown packing": (packed_strangely, "is a zip file that cannot be unpacked (That compression method"),
    "damaged lzma": (damaged_lzma, "is a zip file that cannot be unpacked (Corrupt"),
    "one long line": (one_long_line, ", line 2: is longer than 64,000,000 bytes"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_unpacked_gets_one_sentence(tmp_path: Path, case: str) -> None:
    make, reported = CASES[case]
    with pytest.raises(ImportRejectedError) as rejected:
        list(blocks(make(tmp_path / "a.packed")))
    assert reported in str(rejected.value)
