import gzip
import json
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from market.instruments.contracts import Contract
from market.instruments.markets import Market
from market.prices.quotes import Quote
from tests.pricefeeds.samples import MARKET, level
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.hftbacktest import TickerSource, book_tickers
from tick_sets.rows.quote_rows import Rejections

SPOT = TickerSource("BTCUSDT")
COIN_M = TickerSource("BTCUSD_PERP")
OF_CONTRACTS = replace(MARKET, contract=Contract("inverse", Decimal(100)))
START = 1_723_161_254_087_891_268


def ticker(number: int = 1, **changes: object) -> bytes:
    data = {"u": number, "s": "BTCUSDT", "b": "61837.63000000", "B": "3.7", "a": "61837.64", "A": "1.5"} | changes
    return b"%d %s\n" % (START + number, json.dumps({"stream": "btcusdt@bookTicker", "data": data}).encode())


def written(folder: Path, *lines: bytes) -> Path:
    path = folder / "btcusdt.gz"
    path.write_bytes(gzip.compress(b"".join(lines)))
    return path


def read(path: Path, source: TickerSource = SPOT, market: Market = MARKET) -> tuple[list[Quote], Rejections]:
    rejections: Rejections = Counter()
    return list(book_tickers(path, market, source, rejections)), rejections


def test_a_book_ticker_becomes_a_quote(tmp_path: Path) -> None:
    trade = b'%d {"stream":"btcusdt@trade","data":{"e":"trade"}}\n' % START
    snapshot = b'%d {"lastUpdateId":5,"bids":[],"asks":[]}\n' % START
    quotes, rejections = read(written(tmp_path, trade, snapshot, ticker(2, E=1_723_161_255_358)))
    assert quotes == [
        Quote(
            kind="quote",
            exchange="bitstamp",
            region="eu",
            symbol="BTC/EUR",
            base="BTC",
            quote_currency="EUR",
            bids=(level("61837.63", "3.7"),),
            asks=(level("61837.64", "1.5"),),
            exchange_time=1_723_161_255_358_000,
            received_time=1_723_161_254_087_891,
            sequence=2,
        )
    ]
    assert rejections == {}


def test_without_an_event_time_there_is_none(tmp_path: Path) -> None:
    quotes, _ = read(written(tmp_path, ticker(2)))
    assert quotes[0].exchange_time is None


def test_contracts_become_base_amounts(tmp_path: Path) -> None:
    path = written(tmp_path, ticker(2, s="BTCUSD_PERP", b="50000", B="35", a="50001", A="1"))
    quotes, _ = read(path, COIN_M, OF_CONTRACTS)
    # 35 × 100 / 50,000 and 100 / 50,001 = 0.0019999600008, floored to the market's lot
    assert quotes[0].bids == (level("50000", "0.07"),)
    assert quotes[0].asks == (level("50001", "0.00199996"),)


BAD_ROWS: dict[str, tuple[list[bytes], dict[str, int]]] = {
    "crossed": ([ticker(1, b="61837.64")], {"crossed": 1}),
    "no amount": ([ticker(1, B="0")], {"out_of_bounds": 1}),
    "price 0": ([ticker(1, b="0")], {"out_of_bounds": 1}),
    "not a number": ([ticker(1, b="?"), ticker(2, A=None), ticker(3, u="x")], {"unreadable": 3}),
    "not finite": ([ticker(1, b="NaN")], {"unreadable": 1}),
    "backwards": ([ticker(2_000_000), ticker(1)], {"backwards": 1}),
    "repeated id": ([ticker(2), ticker(3, u=2)], {"repeated": 1}),
}


@pytest.mark.parametrize(("lines", "counted"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_bad_rows_are_counted_by_reason(tmp_path: Path, lines: list[bytes], counted: dict[str, int]) -> None:
    last = ticker(3_000_000)
    quotes, rejections = read(written(tmp_path, *lines, last))
    assert rejections == counted
    assert quotes[-1].sequence == 3_000_000


CORRUPT: dict[str, tuple[list[bytes], str]] = {
    "no time": ([ticker(1), b'{"stream":"x"}\n'], "line 2: does not begin with the time in nanoseconds"),
    "not JSON": ([ticker(1), b"123 {broken\n"], "line 2: is not JSON behind the time"),
    "not an object": ([b"123 [1]\n"], "line 1: is not a JSON object behind the time"),
    "field lacking": ([b'123 {"stream":"x@bookTicker","data":{"u":1}}\n'], "line 1: a bookTicker message lacks one of"),
    "other symbol": ([ticker(1, s="ETHUSDT")], "line 1: is about ETHUSDT, while BTCUSDT is expected in this folder"),
    "no book ticker": ([b'123 {"stream":"x@trade"}\n'], "contains no bookTicker message"),
    "empty": ([], "contains no bookTicker message"),
}


@pytest.mark.parametrize(("lines", "sentence"), CORRUPT.values(), ids=CORRUPT.keys())
def test_a_corrupt_file_is_rejected_in_one_sentence(tmp_path: Path, lines: list[bytes], sentence: str) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(ImportRejectedError) as rejected:
        read(path)
    assert str(rejected.value).startswith(str(path))
    assert sentence in str(rejected.value)
    assert "\n" not in str(rejected.value)


def test_a_truncated_file_is_rejected_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, *(ticker(number, B=str(number * 7919 % 997)) for number in range(1, 400)))
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(ImportRejectedError, match=r"btcusdt.gz, line \d+: the gzip data end too early"):
        read(path)


def test_a_damaged_file_is_rejected(tmp_path: Path) -> None:
    path = written(tmp_path, *(ticker(number, B=str(number * 7919 % 997)) for number in range(1, 400)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ImportRejectedError, match=r"btcusdt.gz"):
        read(path)


def test_what_is_no_gzip_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "btcusdt.gz"
    path.write_bytes(ticker(1))
    with pytest.raises(ImportRejectedError, match=r"btcusdt.gz, line 1: is not valid gzip data"):
        read(path)


def test_an_absent_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match=r"absent.gz: cannot be read \(No such file or directory\)"):
        read(tmp_path / "absent.gz")


def test_rejections_of_several_files_add_up(tmp_path: Path) -> None:
    rejections: Rejections = Counter()
    path = written(tmp_path, ticker(1, B="0"), ticker(2))
    for market in (MARKET, replace(MARKET, exchange="kraken")):
        assert len(list(book_tickers(path, market, SPOT, rejections))) == 1
    assert rejections == {"out_of_bounds": 2}
