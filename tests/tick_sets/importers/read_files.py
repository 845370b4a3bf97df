"""Small files in other people's formats, and what a format makes of them."""

import gzip
import zipfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from market.instruments.contracts import known_contract
from market.instruments.markets import Market
from tests.pricefeeds.samples import MARKET
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.checks import Judge
from tick_sets.rows.import_format import READ_SCHEMA, FileOptions


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Rows as they came from the format, those that can be used, and why the others cannot."""

    rows: list[dict[str, Any]]
    usable: list[dict[str, Any]]
    rejected: dict[str, int]


def read_as(name: str, path: Path, options: FileOptions, fx: tuple[str, ...] = ()) -> ReadFile:
    judge = Judge(lambda key: market_of(*key, is_fx=key[1] in fx))
    rows: list[dict[str, Any]] = []
    usable: list[dict[str, Any]] = []
    rejected: Counter[str] = Counter()
    for chunk in FORMATS[name].read(path, options):
        assert chunk.rows.schema == READ_SCHEMA
        assert chunk.originals.num_rows == chunk.rows.num_rows
        rows += chunk.rows.to_pylist()
        rejected.update(row.reason for row in chunk.rejected)
        for judged in judge.judged(chunk):
            usable += judged.rows.to_pylist()
            rejected.update(row.reason for row in judged.rejected)
    return ReadFile(rows, usable, dict(rejected))


def market_of(exchange: str, symbol: str, *, is_fx: bool = False) -> Market:
    return replace(MARKET, exchange=exchange, symbol=symbol, is_fx=is_fx, contract=known_contract(exchange, symbol))


def rejection(name: str, path: Path, options: FileOptions) -> str:
    """Return the one sentence that names the file."""
    with pytest.raises(ImportRejectedError) as rejected:
        read_as(name, path, options)
    sentence = str(rejected.value)
    assert str(path.parent) in sentence
    assert "\n" not in sentence
    return sentence


def gzipped(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path


def of_version_99(path: Path) -> Path:
    """Return the same zip, whose one member asks for a version of zip that nobody has."""
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 99
    path.write_bytes(data)
    return path


def zipped(path: Path, member: str, text: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text)
    return path


def cut(path: Path, share: float = 0.6) -> Path:
    """Truncate the file, as if its download had been broken off."""
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path
