"""One small file of each format, for any market, for the tests that every importer must pass."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.tick_sets.importers.read_files import zipped
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.sets.file_import import Imported, ImportRequest, import_files

START = 1_672_531_200_000
"""Milliseconds: midnight of 2023-01-01."""
MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Shown:
    """Two best levels a side as a source shows them: (price, amount) as text; `amount` as it counts."""

    bids: tuple[tuple[str, str], ...]
    asks: tuple[tuple[str, str], ...]


Writer = Callable[[Path, str, list[Shown]], Path]
"""The folder and the exchange's own ticker; the rows are a minute apart from START on."""


def _lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def _times(rows: list[Shown]) -> list[tuple[int, Shown]]:
    return [(START + number * MINUTE, row) for number, row in enumerate(rows)]


def _tardis(header: str, cells: Callable[[int, Shown], list[str]]) -> Writer:
    def write(folder: Path, ticker: str, rows: list[Shown]) -> Path:
        lines = [f"exchange,symbol,timestamp,local_timestamp,{header}"]
        for time, row in _times(rows):
            lines += [f"somewhere,{ticker},{time * 1_000},{time * 1_000},{line}" for line in cells(time, row)]
        return _lines(folder / "tardis.csv", lines)

    return write


def _plain(name: str, header: str | None, cells: Callable[[int, Shown], list[str]]) -> Writer:
    def write(folder: Path, ticker: str, rows: list[Shown]) -> Path:
        lines = [] if header is None else [header]
        return _lines(folder / name, lines + [line for time, row in _times(rows) for line in cells(time, row)])

    return write


def _zip(name: str, cells: Callable[[int, Shown], str]) -> Writer:
    def write(folder: Path, ticker: str, rows: list[Shown]) -> Path:
        text = "".join(f"{cells(time - START, row)}\n" for time, row in _times(rows))
        return zipped(folder / name, "rows.csv", text)

    return write


def _top(row: Shown) -> tuple[str, str, str, str]:
    return (*row.bids[0], *row.asks[0])


def _traded(row: Shown) -> tuple[str, str]:
    return row.asks[0]


def _json_rows(name: str, cells: Callable[[int, Shown], list[object]]) -> Writer:
    def write(folder: Path, ticker: str, rows: list[Shown]) -> Path:
        path = folder / name
        path.write_text(json.dumps([cells(time, row) for time, row in _times(rows)]))
        return path

    return write


def _raw(stream: str, data: Callable[[int, Shown], dict[str, object]]) -> Writer:
    def write(folder: Path, ticker: str, rows: list[Shown]) -> Path:
        lines = []
        for time, row in _times(rows):
            reported = data(time, row)
            whole = (
                reported if "lastUpdateId" in reported else {"stream": f"x@{stream}", "data": {"s": ticker} | reported}
            )
            lines.append(f"{time * 1_000_000} {json.dumps(whole)}")
        return _lines(folder / "raw", lines)

    return write


def _hyperliquid(folder: Path, ticker: str, rows: list[Shown]) -> Path:
    lines = []
    for time, row in _times(rows):
        levels = [[{"px": price, "sz": amount} for price, amount in side] for side in (row.bids, row.asks)]
        message = {"channel": "l2Book", "data": {"coin": "BTC", "time": time, "levels": levels}}
        lines.append(f"{time * 1_000_000} {json.dumps(message, separators=(',', ':'))}")
    return _lines(folder / "raw", lines)


def _bybit(folder: Path, ticker: str, rows: list[Shown]) -> Path:
    lines = []
    for time, row in _times(rows):
        data = {"s": ticker, "b": row.bids, "a": row.asks, "u": time}
        lines.append(json.dumps({"topic": f"orderbook.500.{ticker}", "type": "snapshot", "ts": time, "data": data}))
    return zipped(folder / "books.zip", "books", "".join(f"{line}\n" for line in lines))


def _levels(row: Shown) -> list[tuple[str, str, str]]:
    sides = [("bid", *level) for level in row.bids] + [("ask", *level) for level in row.asks]
    return [(side, price, amount) for side, price, amount in sides]


def _kaiko_books(time: int, row: Shown) -> list[str]:
    asks, bids = (json.dumps([list(map(float, level)) for level in side]) for side in (row.asks, row.bids))
    return [f"{time};s;{asks};{bids}"]


def _l2(time: int, row: Shown) -> list[str]:
    # each book is a snapshot after a change that says that the previous one is over
    lines = [f"true,{side},{price},{amount}" for side, price, amount in _levels(row)]
    return lines if time == START else [f"false,bid,{row.bids[0][0]},0", *lines]


def _snapshot_row(_: int, row: Shown) -> list[str]:
    cells = [cell for ask, bid in zip(row.asks, row.bids, strict=True) for cell in (*ask, *bid)]
    return [",".join(cells)]


_SNAPSHOT_NAMES = ",".join(
    f"{side}s[{number}].{what}" for number in (0, 1) for side in ("ask", "bid") for what in ("price", "amount")
)
_MAPPINGS = {
    "csv": 'time = {column = "at", unit = "ms"}\n[quote]\nbid = "b"\nbid_amount = "bq"\nask = "a"\nask_amount = "aq"\n',
    "csv-bars": 'time = {column = "at", unit = "ms"}\nbar_seconds = 60\n[bar]\nprice = "p"\namount = "q"\n',
}

WRITERS: dict[str, Writer] = {
    "tardis-quotes": _tardis(
        "ask_amount,ask_price,bid_price,bid_amount",
        lambda _, row: [",".join((row.asks[0][1], row.asks[0][0], *row.bids[0]))],
    ),
    "tardis-trades": _tardis("id,side,price,amount", lambda _, row: [f"1,buy,{','.join(_traded(row))}"]),
    "tardis-snapshots": _tardis(_SNAPSHOT_NAMES, _snapshot_row),
    "tardis-l2": _tardis("is_snapshot,side,price,amount", _l2),
    "binance-trades": _plain(
        "x.csv", None, lambda time, row: [f"{time},{row.asks[0][0]},{row.asks[0][1]},1,{time},true"]
    ),
    "binance-aggtrades": _plain(
        "x.csv", None, lambda time, row: [f"{time},{row.asks[0][0]},{row.asks[0][1]},1,1,{time},true"]
    ),
    "binance-klines": _plain(
        "x.csv",
        None,
        lambda time, row: [f"{time},1,9,1,{row.asks[0][0]},{row.asks[0][1]},{time + MINUTE - 1},1,1,1,1,0"],
    ),
    "binance-bookticker": _plain("x.csv", None, lambda time, row: [f"{time},{','.join(_top(row))},{time},{time}"]),
    "kaiko-tob": _plain(
        "x.csv",
        "ts_exchange,ts_collection,exchange,class,symbol,type,price,size",
        lambda time, row: [
            f"{time},{time},somewhere,spot,x,{side[0]},{','.join(level)}"
            for side, level in (("bid", row.bids[0]), ("ask", row.asks[0]))
        ],
    ),
    "kaiko-l2": _plain("x.csv", "timestamp;type;asks;bids", _kaiko_books),
    "kaiko-snapshots": _plain(
        "x.csv", "date,type,price,amount", lambda time, row: [f"{time},{','.join(level)}" for level in _levels(row)]
    ),
    "kaiko-ohlcv": _plain("x.csv", None, lambda time, row: [f"{time},1,9,1,{','.join(_traded(row))}"]),
    "kraken-trades": _plain("x.csv", None, lambda time, row: [f"{time // 1_000},{','.join(_traded(row))}"]),
    "kraken-ohlcvt": _plain("x_1.csv", None, lambda time, row: [f"{time // 1_000},1,9,1,{','.join(_traded(row))},5"]),
    "freqtrade-trades": _json_rows("x.json", lambda time, row: [time, "7", None, "buy", *_traded(row), "1"]),
    "freqtrade-ohlcv": _json_rows("x-1m.json", lambda time, row: [time, "1", "9", "1", *_traded(row)]),
    "ccxt-ohlcv": _json_rows("x-1m.json", lambda time, row: [time, "1", "9", "1", *_traded(row)]),
    "lean-quotes": _zip(
        "20230101_quote.zip",
        lambda time, row: ",".join((str(time), "1,1,1", *row.bids[0], "1,1,1", *row.asks[0])),
    ),
    "lean-trades": _zip("20230101_trade.zip", lambda time, row: ",".join((str(time), "1,1,1", *_traded(row)))),
    "hftbacktest": _raw(
        "bookTicker",
        lambda time, row: {"u": time, **dict(zip("bBaA", _top(row), strict=True))},
    ),
    "hftbacktest-trades": _raw(
        "trade", lambda time, row: {"t": time, "T": time, "p": row.asks[0][0], "q": row.asks[0][1]}
    ),
    "hftbacktest-depth": _raw(
        "depth", lambda time, row: {"lastUpdateId": time, "bids": list(row.bids), "asks": list(row.asks)}
    ),
    "hftbacktest-hyperliquid": _hyperliquid,
    "bybit-books": _bybit,
    "csv": _plain("x.csv", "at,b,bq,a,aq", lambda time, row: [f"{time},{','.join(_top(row))}"]),
    "csv-bars": _plain("x.csv", "at,p,q", lambda time, row: [f"{time},{','.join(_traded(row))}"]),
}


def sample_options(folder: Path, of: str, exchange: str, symbol: str) -> FileOptions:
    """Return the options that the sample of that format needs; prints and bars take a half-spread of 1 bps."""
    mapping = None
    if of in _MAPPINGS:
        mapping = folder / "mapping.toml"
        mapping.write_text(_MAPPINGS[of])
    needs_spread = "half_spread_bps" in FORMATS[of].needs
    return FileOptions(exchange, symbol, Decimal(1) if needs_spread else None, mapping)


def imported_sample(folder: Path, of: str, exchange: str, symbol: str, rows: list[Shown], **words: Any) -> Imported:
    """Import one file in that format, and return the set `folder / "set"`."""
    base, quote = symbol.partition(":")[0].split("/")
    path = WRITERS[of](folder, f"{base}{quote}", rows)
    said = MarketWords(**{name: word for name, word in words.items() if word is not None})
    request = ImportRequest(FORMATS[of], (path,), sample_options(folder, of, exchange, symbol), said)
    return import_files(folder / "set", request, lambda *_: None)
