"""Binance's best bids and asks by whole columns are those that are read quote by quote, or are left to that."""

import gzip
import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.money import text_of
from market.prices.quotes import Quote
from tests.pricefeeds.samples import MARKET
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.hftbacktest import TickerSource, book_tickers
from tick_sets.importers.hftbacktest_columns import ticker_columns
from tick_sets.rows.quote_rows import Rejections

SPOT = TickerSource("BTCUSDT")
START = 1_723_161_254_087_891_268
PLAIN = {"s": "BTCUSDT", "b": "61837.63000000", "B": "3.70", "a": "61837.64", "A": "100"}
SNAPSHOT = b'%d {"lastUpdateId":5,"bids":[],"asks":[]}\n' % START

PLAIN_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "b": st.sampled_from(["0", "61837", "0.00000001", "61900.5"]),
        "a": st.sampled_from(["61837.65", "99999999.90"]),
        "A": st.sampled_from(["0.000", "7", "0.10"]),
        "E": st.integers(0, 10**13),
    },
)
ODD_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "b": st.sampled_from(["?", "1e3", "-1", "061", ".5", "5.", "", "61837.64", "61837.640", None, 61837, "٣"]),
        "A": st.sampled_from(["NaN", "1_0", "0" * 40, "1" * 40, True, None]),
        "E": st.sampled_from([None, "7", 1.5, True, 10**30]),
        "u": st.sampled_from([0, -5, "7", 1.5, True, None, 2**63, 10**30]),
        "s": st.sampled_from(["ETHUSDT", None]),
    },
)
LINES = (SNAPSHOT, b'%d {"stream":"btcusdt@trade","data":7}\n' % START)
ODD_LINES = (b"\n", b"7\n", b"x {}\n", b"7 [1]\n", b"7 {broken\n", b'7 {"stream":1}\n', b'7 {"stream":"@bookTicker"}\n')


def ticker(number: int, changes: dict[str, Any], back: int = 0) -> bytes:
    message = {"stream": "btcusdt@bookTicker", "data": {"u": number} | PLAIN | changes}
    return b"%d %s\n" % (START + 400 * (number - back), json.dumps(message, separators=(",", ":")).encode())


def by_quotes(path: Path) -> tuple[list[dict[str, Any]], Rejections]:
    rejections: Rejections = Counter()
    return [row_of(quote) for quote in book_tickers(path, MARKET, SPOT, rejections)], rejections


def row_of(quote: Quote) -> dict[str, Any]:
    (bid,), (ask,) = quote.bids, quote.asks
    texts = {"bid": bid.price, "bid_amount": bid.amount, "ask": ask.price, "ask_amount": ask.amount}
    times = {"received_time": quote.received_time, "exchange_time": quote.exchange_time}
    prices = {"bid_price": float(bid.price), "ask_price": float(ask.price)}
    return times | {"sequence": quote.sequence} | {name: text_of(number) for name, number in texts.items()} | prices


def by_columns(path: Path) -> tuple[list[dict[str, Any]], Rejections] | None:
    rejections: Rejections = Counter()
    rows = ticker_columns(path, SPOT, rejections)
    if rows is None:
        assert rejections == {}
        return None
    return rows.to_pylist(), rejections


def written(folder: Path, lines: list[bytes]) -> Path:
    path = folder / "btcusdt.gz"
    path.write_bytes(gzip.compress(b"".join(lines), 1))
    return path


@given(st.lists(st.one_of(PLAIN_CHANGES, st.sampled_from(LINES)), max_size=12), PLAIN_CHANGES)
def test_plain_files_are_read_by_columns(rows: list[dict[str, Any] | bytes], last: dict[str, Any]) -> None:
    every = enumerate([*rows, last], start=1)
    lines = [row if isinstance(row, bytes) else ticker(number, row) for number, row in every]
    with TemporaryDirectory() as folder:
        path = written(Path(folder), lines)
        assert by_columns(path) == by_quotes(path)


@given(st.lists(st.one_of(st.tuples(ODD_CHANGES, st.integers(0, 3)), st.sampled_from(LINES + ODD_LINES)), max_size=6))
def test_other_files_are_left_to_the_other_reader_or_read_as_by_it(
    rows: list[tuple[dict[str, Any], int] | bytes],
) -> None:
    lines = [ticker(number, *row) if isinstance(row, tuple) else row for number, row in enumerate(rows, start=1)]
    with TemporaryDirectory() as folder:
        path = written(Path(folder), lines)
        found = by_columns(path)
        if found is not None:
            assert found == by_quotes(path)


@pytest.mark.parametrize("cut", [-8, 30, 3])
def test_a_damaged_file_is_left_to_the_other_reader(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path, [ticker(number, {}) for number in range(1, 40)])
    path.write_bytes(path.read_bytes()[:cut])
    assert by_columns(path) is None
    with pytest.raises(ImportRejectedError):
        by_quotes(path)


def test_rows_that_are_crossed_or_of_nothing_are_counted(tmp_path: Path) -> None:
    crossed, empty, whole = ticker(1, {"b": "70000"}), ticker(2, {"A": "0.00"}), ticker(3, {})
    found = by_columns(written(tmp_path, [crossed, empty, whole]))
    assert found is not None
    assert ([row["sequence"] for row in found[0]], found[1]) == ([3], {"crossed": 1, "out_of_bounds": 1})
