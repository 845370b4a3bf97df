"""The dated table of codes: each meaning within its time, and codes that count many coins."""

from itertools import pairwise

import pytest

from exchanges.dated_codes import _TABLE, counted_coins, dated_codes
from exchanges.ports.codes import power_of_ten

BEFORE_TERRA_2, AFTER_BINANCE = 1_653_000_000_000_000, 1_653_976_800_000_000


@pytest.mark.parametrize(
    ("code", "counted"),
    [
        ("1000SHIB", ("SHIB", 1000)),
        ("SHIB1000", ("SHIB", 1000)),
        ("10000WHY", ("WHY", 10_000)),
        ("1MBABYDOGE", ("BABYDOGE", 1_000_000)),
        ("1000000MOG", ("MOG", 1_000_000)),
        ("1INCH", None),
        ("100X", None),
        ("C98", None),
        ("BTC", None),
        ("1000", None),
    ],
)
def test_powers_of_ten_in_a_code(code: str, counted: tuple[str, int] | None) -> None:
    assert power_of_ten(code) == counted


@pytest.mark.parametrize(
    ("exchange", "code", "coins"),
    [
        ("binanceusdm", "1000PEPE", ("PEPE", 1000)),
        ("binance", "1000SATS", ("SATS", 1000)),
        ("bybit", "10000SATS", ("SATS", 10_000)),
        # a coin of that name, and a code that nobody has listed
        ("binanceusdm", "1000X", ("1000X", 1)),
        ("okx", "1000PEPE", ("1000PEPE", 1)),
        ("kraken", "BTC", ("BTC", 1)),
    ],
)
def test_coins_that_one_of_a_code_counts(exchange: str, code: str, coins: tuple[str, int]) -> None:
    assert counted_coins(exchange, code) == coins


def test_an_exchanges_own_row_comes_before_that_of_all() -> None:
    (anywhere,), (binance,) = dated_codes("okx", "LUNA"), dated_codes("binance", "LUNA")
    assert (anywhere.asset, binance.asset) == ("LUNC", "LUNC")
    assert BEFORE_TERRA_2 < anywhere.until < binance.until == AFTER_BINANCE
    assert dated_codes("okx", "BTC") == dated_codes("binance", "1000SATS") == ()


def test_no_code_of_an_exchange_has_two_meanings_at_one_time() -> None:
    for rows in _TABLE.values():
        for code in {row.code for row in rows}:
            mine = sorted((row.since, row.until) for row in rows if row.code == code)
            assert all(since < until for since, until in mine)
            assert all(one[1] <= other[0] for one, other in pairwise(mine))
