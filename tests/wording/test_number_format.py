"""How numbers are shown to people."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wording.number_format import (
    MINUS,
    amount,
    bps,
    count_text,
    duration,
    fee_bps,
    money,
    number,
    offset_ms,
    percent,
    price,
    rounded,
    signed,
    tone,
    worth,
)

VALUES = st.decimals(min_value=-(10**12), max_value=10**12, allow_nan=False, allow_infinity=False, places=12)
STEPS = st.one_of(
    st.integers(-12, 3).map(lambda exponent: Decimal(1).scaleb(exponent)),
    st.sampled_from([Decimal(text) for text in ("0.5", "0.25", "0.05", "5", "0.0005", "1E+2", "0.010", "1.00")]),
)


@pytest.mark.parametrize(
    ("value", "currency", "shown"),
    [
        ("0", "USD", "$0.00"),
        ("-0", "USD", "$0.00"),
        ("1234.567", "USD", "+$1,234.57"),
        ("-0.00000006", "USD", "$0.00"),
        ("-0.004", "USD", "$0.00"),
        ("-0.005", "USD", "$0.00"),
        ("-0.015", "USD", f"{MINUS}$0.02"),
        ("-19.177542829999993", "USD", f"{MINUS}$19.18"),
        ("-2.5", "CHF", f"{MINUS}2.50 CHF"),
        ("1200.4", "JPY", "+¥1,200"),
        ("0.5", "JPY", "¥0"),
    ],
)
def test_money_has_the_digits_of_its_currency(value: str, currency: str, shown: str) -> None:
    assert money(Decimal(value), currency) == shown
    assert worth(Decimal(value), currency) == shown.replace("+", "")


@pytest.mark.parametrize(
    ("value", "step", "shown"),
    [
        ("0.123456789", "0.0001", "0.1235"),
        ("0.5", "0.00000001", "0.50000000"),
        ("70001.3", "0.5", "70,001.5"),
        ("70001.2", "0.50", "70,001.0"),
        ("10560000", "1", "10,560,000"),
        ("1E+3", "1E+2", "1,000"),
        ("-0.4", "1", "0"),
    ],
)
def test_a_number_has_as_many_digits_as_its_step(value: str, step: str, shown: str) -> None:
    assert number(Decimal(value), Decimal(step)) == shown


def test_an_amount_is_never_more_than_there_is_and_a_price_is_the_nearest() -> None:
    assert amount("0.12999999", Decimal("0.0001")) == "0.1299"
    assert price("64999.996", Decimal("0.01"), "USD") == "$65,000.00"
    assert price(10_560_000, Decimal(1), "JPY") == "¥10,560,000"
    assert price("1.05", Decimal("0.1"), "USDT") == "1.0 USDT"


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [(None, "–"), (-300, "0 ms"), (300, "0 ms"), (12_400, "+12 ms"), (-1_234_000, f"{MINUS}1,234 ms")],
)
def test_a_clock_is_never_minus_nothing_ahead(microseconds: int | None, shown: str) -> None:
    assert offset_ms(microseconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "–"),
        (-0.0001, "0 ms"),
        (0.0, "0 ms"),
        (0.00004, "0 ms"),
        (0.0004, "0.4 ms"),
        (0.00996, "10 ms"),
        (0.012, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (3.44, "3.4 s"),
        (119.96, "2 min"),
        (300.0, "5 min"),
        (7_560.0, "2.1 h"),
    ],
)
def test_durations_are_short(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_other_figures() -> None:
    assert (bps(13.26), bps(-0.04), bps(Decimal("-2.25"))) == ("+13.3", "0.0", f"{MINUS}2.2")
    assert (fee_bps(Decimal("0.001")), fee_bps(Decimal("0.00075")), fee_bps(Decimal(0))) == (
        "10 bps", "7.5 bps", "0 bps"
    )  # fmt: skip
    assert (percent(None), percent(0.5), percent(1.0)) == ("–", "50.0%", "100.0%")
    assert [count_text(count, "time") for count in (1, 0, 1_200)] == ["1 time", "0 times", "1,200 times"]
    assert count_text(2, "hash", "hashes") == "2 hashes"
    assert (tone("0.004", "USD"), tone("0.02", "USD"), tone("-3", "USD"), tone("-0.3", "JPY")) == (
        "",
        "good",
        "bad",
        "",
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "Infinity", "ten"])
def test_what_is_no_number_is_rejected(value: float | str) -> None:
    with pytest.raises(ValueError, match="not a"):
        number(value, Decimal(1))


def read(shown: str) -> Decimal:
    return Decimal(shown.replace(",", "").replace(MINUS, "-"))


@given(VALUES, STEPS)
def test_a_number_is_the_nearest_step_with_its_digits_and_no_minus_nothing(value: Decimal, step: Decimal) -> None:
    shown = number(value, step)
    assert read(shown) == rounded(value, step)
    assert read(shown) % step == 0
    assert abs(read(shown) - value) * 2 <= step
    digits = max(0, -int(step.normalize().as_tuple().exponent))
    assert len(shown.partition(".")[2]) == digits
    assert not (read(shown) == 0 and shown.startswith(MINUS))


@given(VALUES, STEPS)
def test_a_cut_number_is_the_nearest_that_is_not_larger(value: Decimal, step: Decimal) -> None:
    found = read(amount(value, step))
    assert abs(found) <= abs(value) < abs(found) + step
    assert found * value >= 0


@given(VALUES, STEPS)
def test_a_sign_stands_where_what_is_shown_has_one(value: Decimal, step: Decimal) -> None:
    found, shown = rounded(value, step), signed(value, step)
    assert shown.startswith("+") == (found > 0)
    assert shown.startswith(MINUS) == (found < 0)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15), STEPS)
def test_a_binary_float_never_shows_its_tail(value: float, step: Decimal) -> None:
    assert len(number(value, step).partition(".")[2]) <= 12
