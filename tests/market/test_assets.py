"""The same ticker on two exchanges is not enough."""

from dataclasses import replace

import pytest

from backtest.replay_profiles import PROFILES, ReplayProfile
from exchanges.listed_codes import listed_codes
from exchanges.simulated_markets import paper_markets, simulated_markets
from market.instruments.assets import (
    Assumption,
    SessionCodes,
    identity_fault,
    may_count_as,
    said_fault,
)
from market.instruments.markets import Market
from tests.market.samples import USD_MARKET

LISTED = listed_codes()
EVEN = Assumption("USDT", "USD", "USDT = USD")


def market(exchange: str, symbol: str, base: str = "", quote: str = "") -> Market:
    codes = symbol.partition(":")[0].split("/")
    return replace(
        USD_MARKET, exchange=exchange, symbol=symbol, base=base or codes[0], quote_currency=quote or codes[-1]
    )


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        (("kraken", "XXBT"), ("coinbaseexchange", "BTC"), True),
        (("kraken", "XBT"), ("bitflyer", "BTC"), True),
        (("kraken", "ZUSD"), ("coinbaseexchange", "USD"), True),
        (("binance", "BTC"), ("binance", "BTCB"), False),
        (("kraken", "WBTC"), ("kraken", "XXBT"), False),
        (("kraken", "LUNA"), ("binance", "LUNA"), False),
        (("kraken", "LUNA2"), ("binance", "LUNA"), True),
        (("kraken", "LUNA"), ("binance", "LUNC"), True),
        (("kraken", "XBT"), ("mexc", "XBT"), False),
        (("bitfinex", "UST"), ("bitstamp", "UST"), False),
        (("binance", "NEIRO"), ("bybit", "NEIRO"), False),
        (("binance", "NEIRO"), ("bybit", "NEIROCTO"), True),
        (("bitget", "EPIK"), ("kucoin", "EPIK"), False),
        (("binance", "USDT"), ("binance", "USDC"), False),
        (("kraken", "USDT"), ("kraken", "ZUSD"), False),
    ],
)
def test_what_is_the_same_asset(one: tuple[str, str], other: tuple[str, str], are_one: bool) -> None:
    first, second = LISTED.asset_of(*one), LISTED.asset_of(*other)
    assert first is not None
    assert second is not None
    assert (first == second) is are_one


@pytest.mark.parametrize(
    ("exchange", "code"), [("kraken", "xbt"), ("gate", "BTC"), ("bitflyer", "USDT"), ("mexc", "BTC"), ("", "")]
)
def test_what_nobody_has_looked_at_is_not_known(exchange: str, code: str) -> None:
    assert LISTED.asset_of(exchange, code) is None


@pytest.mark.parametrize(
    ("one", "fault"),
    [
        (market("kraken", "BTC/USD"), None),
        (market("binance", "BTC/USDT"), None),
        (market("kraken", "LUNA/USD"), None),
        (market("gate", "BTC/USDT"), "gate BTC/USDT is not traded: the asset BTC on gate is not known"),
        (market("bitflyer", "BTC/USDT"), "the asset USDT on bitflyer is not known"),
        (
            market("binance", "BTC/USDT", quote="USD"),
            "binance BTC/USDT is not traded: it would be compared as USD, but it is USDT, a stable coin that "
            "follows USD, another asset",
        ),
        (market("kraken", "USDC/USD", base="USDT"), "it would be compared as USDT, but it is USDC"),
        (market("binance", "BTCB/USDT", base="BTC"), "BTCB, a wrapped coin on bnb chain that follows BTC"),
        (market("kraken", "LUNC/USD", base="LUNA"), "LUNC, a coin on terra classic, another asset"),
        (market("binance", "NEIRO/USDT"), "it would be compared as NEIRO, but it is NEIROCTO"),
        (market("binanceusdm", "BTC/USDT:USDT"), "BTC contract, a contract that follows BTC"),
    ],
)
def test_a_session_may_hold_only_what_it_is_compared_as(one: Market, fault: str | None) -> None:
    found = identity_fault(LISTED, [market("kraken", "BTC/USD"), one])
    assert (found is None) is (fault is None)
    assert (fault or "") in (found or "")
    assert "\n" not in (found or "")


def test_an_assumption_makes_unlike_assets_alike() -> None:
    recorded = market("binance", "BTC/USDT", quote="USD")
    assert identity_fault(LISTED, [recorded]) is not None
    assert identity_fault(LISTED, [recorded], [EVEN]) is None
    assert identity_fault(LISTED, [market("binance", "BTC/USDT")], [EVEN]) is not None
    contract = market("binanceusdm", "BTC/USDT:USDT", quote="USD")
    assert identity_fault(LISTED, [contract], [EVEN]) is not None
    assert identity_fault(LISTED, [contract], [EVEN, Assumption("BTC contract", "BTC", "perpetual = spot")]) is None


@pytest.mark.parametrize("markets", [paper_markets(), simulated_markets()], ids=["paper", "simulated"])
def test_our_own_markets_are_identified(markets: tuple[Market, ...]) -> None:
    assert identity_fault(LISTED, markets) is None
    assert all(None not in LISTED.assets_of(one) for one in markets)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_profile_assumes_what_it_compares_and_says_so(profile: ReplayProfile) -> None:
    assert identity_fault(LISTED, profile.markets, profile.alike) is None
    for one in profile.alike:
        assert one.said in profile.all_assumptions
        fewer = [other for other in profile.alike if other != one]
        assert identity_fault(LISTED, profile.markets, fewer) is not None


def codes(**said: str) -> SessionCodes:
    """Exchange → the code that the user says of it; kraken2 is a second account at kraken."""
    return SessionCodes({"kraken2": "kraken"}, {exchange: frozenset({code}) for exchange, code in said.items()})


@pytest.mark.parametrize(
    ("one", "said", "fault"),
    [
        (market("gate", "BTC/USDT"), codes(), None),
        (market("upbit", "BTC/KRW"), codes(), None),
        (market("gate", "PEPE/USDT"), codes(), "the asset PEPE there is not known; name the exchanges where it is one"),
        (market("gate", "PEPE/USDT"), codes(gate="PEPE"), None),
        (market("gate", "PEPE/USDT"), codes(bybit="PEPE"), "the asset PEPE there is not known"),
        (market("gate", "NEIRO/USDT"), codes(), "NEIRO there may be NEIROCTO or NEIROETH; name the exchanges"),
        (market("bybit", "BTC/USDT"), codes(), None),
        (market("kucoin", "ETH/USDT"), codes(), None),
        (market("bitfinex", "ETH/USDT"), codes(), None),
        (market("bybit", "NEIRO/USDT"), codes(), "it would be compared as NEIRO, but it is NEIROETH"),
        (market("bybit", "NEIRO/USDT"), codes(bybit="NEIRO"), None),
        (market("kraken2", "BTC/USD"), codes(), None),
        (market("kraken2", "PEPE/USD"), codes(), "the asset PEPE on kraken2 is not known"),
        (market("kraken2", "PEPE/USD"), codes(kraken2="PEPE"), None),
    ],
)
def test_a_code_that_nobody_listed_is_compared_where_the_user_says_so(
    one: Market, said: SessionCodes, fault: str | None
) -> None:
    found = identity_fault(LISTED, [one], codes=said)
    assert (found is None) is (fault is None)
    assert (fault or "") in (found or "")


def test_what_our_lists_know_to_be_two_assets_is_not_said_to_be_one() -> None:
    said = codes(bybit="NEIRO", binance="NEIRO")
    markets = [market("bybit", "NEIRO/USDT"), market("binance", "NEIRO/USDT")]
    assert said_fault(LISTED, markets, said) == (
        "[asset.NEIRO] compare: NEIRO on bybit is NEIROETH, a coin on ethereum, but on binance it is NEIROCTO, a coin "
        "on ethereum; two assets are never compared"
    )
    assert said_fault(LISTED, markets[:1], said) is None
    assert said_fault(LISTED, markets, codes(bybit="NEIRO")) is None


@pytest.mark.parametrize(
    ("code", "other", "may"),
    [
        ("USDT", "USD", True),
        ("USDC", "USDT", True),
        ("USD", "USDT", True),
        ("WBTC", "BTC", True),
        ("FDUSD", "USD", True),
        ("BTC", "USD", False),
        ("BTC", "WBTC", True),
        ("JPY", "USD", False),
        ("EUR", "USD", False),
        ("KRW", "USD", False),
        ("TRY", "USD", False),
        ("SHIB", "USD", False),
        ("EUR", "USDT", False),
    ],
)
def test_only_what_means_to_have_one_price_may_count_as_another(code: str, other: str, may: bool) -> None:
    assert may_count_as(code, other) == may
