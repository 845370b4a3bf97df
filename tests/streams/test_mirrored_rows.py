"""Repeats of mirrored rows."""

from typing import Any

import pytest

from streams.mirrored_rows import UnrepeatedRows


def row(sequence: int | None, exchange: str = "kraken", symbol: str = "BTC/USD", kind: str = "quote") -> dict[str, Any]:
    return {"kind": kind, "exchange": exchange, "symbol": symbol} | ({} if sequence is None else {"sequence": sequence})


@pytest.mark.parametrize(
    ("rows", "counted"),
    [
        ([row(1), row(2), row(3)], [1, 2, 3]),
        # a kill after 3, whose last two rows had not been noted
        ([row(1), row(2), row(3), row(2), row(3), row(4)], [1, 2, 3, 4]),
        ([row(2), row(2)], [2]),
        # marks share the sequence of the quotes
        ([row(1), row(2, kind="withdrawn"), row(1), row(2, kind="withdrawn")], [1, 2]),
        ([row(5), row(4, exchange="bitstamp"), row(3, symbol="ETH/USD"), row(4, exchange="bitstamp")], [5, 4, 3]),
        ([row(None, kind="settings"), row(None, kind="settings")], [None, None]),
    ],
)
def test_a_repeat_does_not_count(rows: list[dict[str, Any]], counted: list[int | None]) -> None:
    unrepeated = UnrepeatedRows()
    assert [each.get("sequence") for each in rows if unrepeated.is_new(0, each)] == counted


def test_an_fx_row_counts_in_each_partition() -> None:
    unrepeated, rate = UnrepeatedRows(), row(7, symbol="EUR/USD", kind="fx")
    assert [unrepeated.is_new(partition, rate) for partition in (0, 1, 0, 1)] == [True, True, False, False]


def test_what_is_no_row_of_a_market_stops_nobody() -> None:
    unrepeated = UnrepeatedRows()
    assert unrepeated.is_new(0, {"exchange": ["kraken"], "symbol": {}, "sequence": 1})
    assert unrepeated.is_new(0, {"exchange": "kraken", "symbol": "BTC/USD", "sequence": "many"})
