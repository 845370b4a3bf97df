"""Where the recordings lie, beside the checkout; and small files like them that tests write themselves."""

import gzip
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TICKS = SHARED / "ticks" / "hftbacktest"
MINUTES = SHARED / "minute" / "lean"
BINANCE_FILES = (
    TICKS / "spot" / "btcusdt_20240808.gz",
    TICKS / "usdm" / "btcusdt_20240808.gz",
    TICKS / "cm" / "btcusd_perp_20240808.gz",
)
LEAN_FILES = (
    MINUTES / "coinbase" / "btcusd" / "20180404_quote.zip",
    MINUTES / "coinbase" / "btceur" / "20180404_quote.zip",
    MINUTES / "fxcm" / "eurusd" / "20180403_quote.zip",
    MINUTES / "fxcm" / "eurusd" / "20180404_quote.zip",
)


def recordings_or_skip(files: Sequence[Path]) -> tuple[Path, ...]:
    for path in files:
        if not path.exists():
            pytest.skip(f"the recording {path.name} is not beside the checkout ({path})")
    return tuple(files)


def write_tickers(path: Path, symbol: str, *rows: tuple[int, str, str]) -> Path:
    """Write `rows`: microseconds, bid, ask; update ids count from 1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        for number, (time, bid, ask) in enumerate(rows, start=1):
            data = {"u": number, "s": symbol, "b": bid, "B": "1", "a": ask, "A": "2"}
            message = json.dumps({"stream": "x@bookTicker", "data": data}, separators=(",", ":"))
            file.write(f"{time * 1_000} {message}\n")
    return path


def write_bars(path: Path, *rows: tuple[int, str, str], amount: str = "1") -> Path:
    """Write `rows`: minute of the day, closing bid, closing ask."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        f"{minute * 60_000},{bid},{bid},{bid},{bid},{amount},{ask},{ask},{ask},{ask},{amount}\n"
        for minute, bid, ask in rows
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("quote.csv", "".join(lines))
    return path
