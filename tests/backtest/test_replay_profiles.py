from decimal import Decimal
from pathlib import Path

import pytest

from backtest.replay_profiles import BINANCE_BTC, LEAN_BTC, PROFILES, ReplayProfile, profile_for
from market.instruments.markets import fx_route
from tick_sets.errors import ImportRejectedError


@pytest.mark.parametrize(
    ("name", "exchange", "profile"),
    [
        ("spot/btcusdt_20240808.gz", "binance", BINANCE_BTC),
        ("usdm/btcusdt_20240808.gz", "binanceusdm", BINANCE_BTC),
        ("cm/btcusd_perp_20240808.gz", "binancecoinm", BINANCE_BTC),
        ("coinbase/btcusd/20180404_quote.zip", "coinbase", LEAN_BTC),
        ("coinbase/btceur/20180404_quote.zip", "coinbase-eur", LEAN_BTC),
        ("fxcm/eurusd/20180404_quote.zip", "fxcm", LEAN_BTC),
    ],
)
def test_a_file_is_recognised_by_its_folder_and_name(name: str, exchange: str, profile: ReplayProfile) -> None:
    path = Path("/recordings") / name
    recorded = profile.recorded_market(path)
    assert profile_for((path,)) is profile
    assert recorded is not None
    assert recorded.market.exchange == exchange


@pytest.mark.parametrize(
    "name", ["spot/btcusdt.csv", "btcusd/20180404_trade.zip", "ethusd/20180404_quote.zip", "books.json", ""]
)
def test_an_unknown_file_is_rejected_in_one_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if name:
        path.touch()
    with pytest.raises(ImportRejectedError, match="matches no replay profile") as rejected:
        profile_for((path,))
    assert str(rejected.value).startswith(f"{path}: ")
    assert "btcusd/…_quote.zip" in str(rejected.value)


def test_files_of_two_profiles_are_rejected() -> None:
    paths = (Path("/a/spot/x.gz"), Path("/a/btcusd/x_quote.zip"))
    with pytest.raises(ImportRejectedError, match=r"belongs to lean-btc, while /a/spot/x.gz belongs to binance-btc"):
        profile_for(paths)


def test_no_file_is_rejected() -> None:
    with pytest.raises(ImportRejectedError, match="name at least one"):
        profile_for(())


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_profile_is_whole(profile: ReplayProfile) -> None:
    """Every traded market has a fee, a balance in both its currencies and a way into the settlement currency."""
    for market in profile.markets:
        if market.is_fx:
            continue
        assert market.exchange in profile.settings.taker_fees
        assert market.exchange in profile.settings.enabled_exchanges
        assert profile.paper_balances[market.exchange].keys() == {market.base, market.quote_currency}
        fx_route(market.quote_currency, profile.settlement_currency, profile.markets)


def test_another_fee_is_reported_with_the_assumptions() -> None:
    profile = LEAN_BTC.with_fee_bps(Decimal("2.5"))
    assert set(profile.settings.taker_fees.values()) == {Decimal("0.00025")}
    assert profile.all_assumptions[-1] == "taker fees in bps a side: coinbase 2.5, coinbase-eur 2.5"
    assert LEAN_BTC.all_assumptions[-1] == "taker fees in bps a side: coinbase 10, coinbase-eur 10"


@pytest.mark.parametrize("fee_bps", ["-1", "1001"])
def test_a_fee_out_of_bounds_is_rejected(fee_bps: str) -> None:
    with pytest.raises(ImportRejectedError, match="outside 0 to 1000"):
        LEAN_BTC.with_fee_bps(Decimal(fee_bps))


def test_a_file_that_is_not_there_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match=r"nothing\.gz: there is no such file"):
        profile_for((tmp_path / "nothing.gz",))
