"""The rows of an input log: what of a topic is in it, and how far the log has come."""

import json

import pytest

from cep.apps.hosts.input_log import InputPlace, SourceRow, input_message, place_in, record_row
from cep.apps.hosts.product_streams import PRODUCT_STREAMS
from market.prices.spread_statistics import SpreadWindow
from streams.message_format import marker_row, quote_row, settings_row, spread_window_message
from streams.records import Record
from streams.topics import SPREADS, TICKS
from tests.backtest.verify.made_up import quote
from tests.market.samples import USD_MARKET, settings_of

STREAMS = (PRODUCT_STREAMS["ticks"], PRODUCT_STREAMS["quotes"], PRODUCT_STREAMS["spreads"])
QUOTES = (PRODUCT_STREAMS["quotes"],)
QUOTE = quote(USD_MARKET, 3, 7, "99.9", "100.25")
FLAT = ["alpha", "BTC/USD", "BTC", "USD", 99.9, 5.0, 100.25, 5.0, None, QUOTE.received_time, 7]


def record(topic: str, value: bytes) -> Record:
    return Record(topic, 1, 17, None, value, 5_000)


def test_a_row_has_the_columns_of_each_of_its_streams() -> None:
    found = record_row(record(TICKS, quote_row(QUOTE)), STREAMS)
    assert found is not None
    assert [(name, list(values)) for name, values in found.rows] == [("ticks", ["quote", *FLAT]), ("quotes", FLAT)]
    assert (found.topic, found.partition, found.offset, found.time, found.key) == (
        TICKS, 1, 17, QUOTE.received_time, "BTC",
    )  # fmt: skip


def test_of_other_topics_the_time_is_that_of_writing() -> None:
    window = SpreadWindow("ETH", "alpha", "beta", 10, 20, 1.5, 0.5, 2.5, 0.25, 3)
    found = record_row(record(SPREADS, spread_window_message(window)), STREAMS)
    assert found is not None
    assert (found.time, found.key, [name for name, _ in found.rows]) == (5_000, "ETH", ["spreads"])


@pytest.mark.parametrize(
    ("topic", "value", "is_there"),
    [
        (TICKS, marker_row("probe", "BTC", "p", 9), True),
        (TICKS, settings_row(settings_of(), 9, ("BTC",)), True),
        (TICKS, b'{"kind": "alive", "exchange": "alpha", "base": "BTC", "received_time": 9}', False),
        (SPREADS, marker_row("probe", "BTC", "p", 9), False),
        (TICKS, marker_row("end", "BTC", "s", 9), False),
        (TICKS, b'{"kind": "probe"}', False),
        (TICKS, b'{"kind": "quote", "received_time": 1, "bid": "many"}', False),
        (TICKS, b"[1", False),
    ],
)
def test_of_rows_of_no_stream_those_are_there_that_move_the_clock(topic: str, value: bytes, is_there: bool) -> None:
    found = record_row(record(topic, value), QUOTES)
    assert (found is not None) == is_there
    assert found is None or found.rows == ()


def test_the_last_row_says_where_to_go_on() -> None:
    first = SourceRow(TICKS, 0, 17, 9, ())
    place = InputPlace({SPREADS: 4}, "a").after(first)
    message = input_message("mine", first, place)
    assert json.loads(message)["next"] == {TICKS: 18, SPREADS: 4}
    assert place_in(message, "mine") == place == InputPlace({TICKS: 18, SPREADS: 4}, "a")
    assert place_in(message, "another") == InputPlace()
    assert place.after(SourceRow("store", 0, 3, 9, (), token="b")) == InputPlace(
        {TICKS: 18, SPREADS: 4, "store": 4}, "b"
    )


@pytest.mark.parametrize("message", [b"", b"[]", b"{}", b'{"session": "mine", "next": 3, "token": null}'])
def test_a_row_that_is_none_says_nothing(message: bytes) -> None:
    assert place_in(message, "mine") == InputPlace()
