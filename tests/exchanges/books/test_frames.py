"""What counts as JSON, a number, a count and a time: everything else is rejected by name."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from exchanges.books.errors import FeedDroppedError, FrameRejectedError
from exchanges.books.frames import (
    as_fields,
    count_in,
    exact_fields_of,
    fields_of,
    level_of,
    levels_in,
    micros_of_iso,
    named_levels_in,
    text_in,
)


@pytest.mark.parametrize(
    ("price", "amount", "expected"),
    [
        ("60000.10", "0.50000000", ("60000.10", "0.50000000")),
        ("1", "0", ("1", "0")),
        ("0.00002835", "1e-08", ("0.00002835", "1E-8")),
        ("999999999999999999", "5E-18", ("999999999999999999", "5E-18")),
    ],
)
def test_a_level_keeps_its_digits(price: str, amount: str, expected: tuple[str, str]) -> None:
    level = level_of(price, amount)
    assert (str(level.price), str(level.amount)) == expected


BAD_NUMBERS = [
    "",
    "NaN",
    "Infinity",
    "-1",
    "+1",
    "1_0",
    " 1",
    "1 ",
    "1e9",
    "1e-99",
    "9" * 19,
    ".5",
    "5.",
    "0x1",
    "１",
    "1\n",
]


@pytest.mark.parametrize("bad", [*BAD_NUMBERS, None, 1.5, 1, True, ["1"], "0"])
def test_what_is_no_price_is_malformed(bad: object) -> None:
    with pytest.raises(FrameRejectedError, match="malformed"):
        level_of(bad, "1")


@pytest.mark.parametrize("bad", [*BAD_NUMBERS, None, 1.5])
def test_what_is_no_amount_is_malformed(bad: object) -> None:
    with pytest.raises(FrameRejectedError, match="malformed"):
        level_of("1", bad)


@pytest.mark.parametrize("parse", [fields_of, exact_fields_of])
@pytest.mark.parametrize(
    "frame",
    ["", "hello", "{", "[]", "null", "1", '"x"', '{"a":NaN}', "[" * 100_000, b"\xff\xfe", '{"a":\ud800}', b"{\x00}"],
    ids=range(12),
)
def test_what_is_no_object_is_malformed(parse: Callable[[str | bytes], object], frame: str | bytes) -> None:
    with pytest.raises(FrameRejectedError) as caught:
        parse(frame)
    assert caught.value.kind == "malformed"
    assert isinstance(caught.value, FeedDroppedError)
    assert len(str(caught.value)) < 250


def test_numbers_keep_their_digits() -> None:
    fields = exact_fields_of('{"a":0.10000000,"b":[1e-8,10000000000000000000001,5.0]}')
    assert fields == {"a": "0.10000000", "b": ["1e-8", "10000000000000000000001", "5.0"]}


@pytest.mark.parametrize("value", [0, 7, "7", 10**18 - 1])
def test_a_count(value: object) -> None:
    assert count_in({"n": value}, "n") == int(str(value))


@pytest.mark.parametrize("value", [-1, True, 1.0, "", "-1", "1.0", "x", None, 10**18, "1" * 19, [1]])
def test_what_is_no_count_is_malformed(value: object) -> None:
    with pytest.raises(FrameRejectedError):
        count_in({"n": value}, "n")


def test_levels_come_in_lists_or_in_objects() -> None:
    assert levels_in({"bids": [["2", "1", "more"], ["1", "0"]]}, "bids") == [level_of("2", "1"), level_of("1", "0")]
    rows: dict[str, object] = {"bids": [{"price": "2", "size": "1"}]}
    assert named_levels_in(rows, "bids", "price", "size") == [level_of("2", "1")]


@pytest.mark.parametrize("rows", [None, {}, "12", ["12"], [["1"]], [[]], [{"price": "1"}], [None], 5])
def test_what_are_no_levels_is_malformed(rows: object) -> None:
    with pytest.raises(FrameRejectedError):
        levels_in({"bids": rows}, "bids")
    with pytest.raises(FrameRejectedError):
        named_levels_in({"bids": rows}, "bids", "price", "size") if rows != [] else as_fields(rows)


def test_times_are_microseconds_with_their_zone() -> None:
    assert micros_of_iso("1970-01-01T00:00:01.000001Z") == 1_000_001
    assert micros_of_iso("1970-01-01T09:00:00+09:00") == 0


@pytest.mark.parametrize(
    "text", ["", "yesterday", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z", "0001-01-01T00:00:00+25:00"]
)
def test_what_is_no_time_is_malformed(text: str) -> None:
    with pytest.raises(FrameRejectedError):
        micros_of_iso(text)


def test_a_text_is_a_text() -> None:
    assert text_in({"a": "b"}, "a") == "b"
    with pytest.raises(FrameRejectedError):
        text_in({"a": Decimal(1)}, "a")
