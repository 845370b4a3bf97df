from dataclasses import replace
from pathlib import Path

import pytest

from tests.market.samples import USD_MARKET
from tests.ui.samples import session_of
from ui.services.session_markets import LISTED, is_of_market, unknown_asset


def test_of_many_assets_the_sentence_lists_the_first() -> None:
    names = [f"A{number}" for number in range(LISTED + 3)]
    markets = tuple(replace(USD_MARKET, base=name, symbol=f"{name}/USD") for name in names)
    session = replace(session_of(Path("unused")), markets=markets)
    assert unknown_asset(session, "A3") is None
    expected = f"This session has no asset 'ETH'; it has {', '.join(names[:LISTED])} and 3 more."
    assert unknown_asset(session, "ETH") == expected


@pytest.mark.parametrize(
    ("base", "exchange", "fits"),
    [
        (None, None, True),
        ("BTC", None, True),
        ("ETH", None, False),
        (None, "alpha", True),
        (None, "beta", True),
        (None, "fx", False),
        ("BTC", "beta", True),
        ("ETH", "beta", False),
    ],
)
def test_a_row_fits_by_its_asset_and_any_of_its_exchanges(base: str | None, exchange: str | None, fits: bool) -> None:
    assert is_of_market(base, exchange, "BTC", "alpha", "beta") is fits
