"""Recorded quotes and books that the simulated markets are compared with; files as in `PROVENANCE.md` of the data."""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from benchmarks.market_moments import Track

BINANCE = {
    "Binance spot, 2024": "spot/btcusdt_20240808.gz",
    "Binance USD-M, 2024": "usdm/btcusdt_20240808.gz",
    "Binance COIN-M, 2024": "cm/btcusd_perp_20240808.gz",
}
JAPAN = {
    "bitFlyer trades, 2018": "bitflyerJPY_2018-08-12_small.csv",
    "BTCBOX trades, 2018": "btcboxJPY_2018-08-12_small.csv",
}
BOOKS = ("order-graph_2019-03_1-ob.json", "order-graph_2019-04_run1-1.json")
_BOOK_EXCHANGES = ("coinbase", "bitstamp", "bitfinex")

Side = list[tuple[float, float]]
"""Price and amount, best first."""


@dataclass(frozen=True, slots=True)
class RecordedBook:
    """One snapshot of a market's whole book, in dollars."""

    name: str
    bids: Side
    asks: Side


def binance_tracks(data: Path) -> list[Track]:
    """Return best bids and asks of one asset on three markets of one company, six minutes."""
    return [_tickers(name, data / "ticks/hftbacktest" / file) for name, file in BINANCE.items()]


def japanese_tracks(data: Path) -> list[Track]:
    """Return last trades of one asset on two exchanges, at most one a second, one day."""
    return [_trades(name, data / "ticks/lead-lag" / file) for name, file in JAPAN.items()]


def recorded_books(data: Path) -> Iterator[RecordedBook]:
    """Yield books of BTC in dollars."""
    for file in BOOKS:
        for book in orjson.loads((data / "books" / file).read_bytes()):
            if book["venue"] in _BOOK_EXCHANGES and (book["base"], book["quote"]) == ("BTC", "USD"):
                name = f"{book['venue']}, {file.split('_')[1]}"
                yield RecordedBook(name, _levels(book["bids"]), _levels(book["asks"]))


def _tickers(name: str, path: Path) -> Track:
    rows = []
    with gzip.open(path, "rb") as file:
        for line in file:
            stamp, _, text = line.partition(b" ")
            if b"@bookTicker" in text:
                ticker = orjson.loads(text)["data"]
                rows.append((int(stamp) / 1e9, float(ticker["b"]), float(ticker["a"])))
    return Track(name, *np.array(rows).T)


def _trades(name: str, path: Path) -> Track:
    with path.open() as file:
        rows = [(datetime.fromisoformat(row["date"]), float(row["last"])) for row in csv.DictReader(file)]
    prices = np.array([price for _, price in rows])
    return Track(name, np.array([time.replace(tzinfo=UTC).timestamp() for time, _ in rows]), prices, prices)


def _levels(rows: list[dict[str, Any]]) -> Side:
    return [(_fraction(row["price"]), _fraction(row["qty"])) for row in rows]


def _fraction(number: dict[str, int]) -> float:
    return number["numerator"] / number["denominator"]
