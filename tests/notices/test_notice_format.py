"""Money, times and names as people read them, and the lines of a message."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notices.format import plural, signed_bps, signed_money
from notices.messages import MAX_CHARACTERS, MAX_LINES
from tests.notices.samples import alarm, message, trade


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("3.214999", "+3.21 USD"),
        ("-3.215", "-3.22 USD"),
        ("0", "0.00 USD"),
        ("0.005", "+0.0050 USD"),
        ("0.01", "+0.01 USD"),
        ("-0.00012345", "-0.00012 USD"),
        ("1234567.891", "+1,234,567.89 USD"),
        ("-1E-12", "-0.0000000000010 USD"),
        ("1E+3", "+1,000.00 USD"),
    ],
)
def test_money(amount: str, text: str) -> None:
    assert signed_money(Decimal(amount), "USD") == text


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value="-1e9", max_value="1e9", places=12))
def test_money_keeps_its_sign_and_is_never_more_than_half_a_cent_off(amount: Decimal) -> None:
    shown = Decimal(signed_money(amount, "USD").removesuffix(" USD").replace(",", ""))
    assert (shown > 0) == (amount > 0)
    assert (shown < 0) == (amount < 0)
    assert abs(shown - amount) <= Decimal("0.005")


def test_bps_and_counts() -> None:
    assert signed_money(Decimal("1200.4"), "JPY") == "+1,200 JPY", "as on the pages"
    assert signed_bps(Decimal("8.449")) == "8.4 bps"
    assert (plural(1, "trade"), plural(1_200, "trade")) == ("1 trade", "1,200 trades")


def test_one_notice_is_one_line() -> None:
    assert message(alarm(1)).text == "PAPER 22:13:20 UTC Trading HALTED by person 1"


def test_trades_are_summed() -> None:
    lines = message(trade(1, "31.20"), trade(2, "-1.2"), trade(3, "0")).lines
    assert lines[0] == "3 trades: +30.00 USD net (1 won, 1 lost)"
    assert lines[1:] == ["22:13:21 UTC Closed BTC 1", "22:13:22 UTC Closed BTC 2", "22:13:23 UTC Closed BTC 3"]


def test_more_than_one_look_is_counted() -> None:
    reported = message(*(trade(number) for number in range(50)))
    assert len(reported.lines) == MAX_LINES + 2
    assert reported.lines[-1] == "… and 38 more"
    assert len(reported.notices) == 50
    assert len(reported.text) <= MAX_CHARACTERS


def test_alarms_beside_each_other_are_counted() -> None:
    assert message(alarm(1), alarm(2)).lines[0] == "2 notices"
