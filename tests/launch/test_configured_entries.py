"""How the exchanges of a configuration are reached, and what no session may have."""

from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import pytest
from pydantic import ValidationError

from launch.commands.markets import MarketsOptions, list_markets
from launch.config.configuration import Configuration
from launch.config.configured_entries import session_entries
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.sessions.paper import named_markets, paper_session, paper_settings
from launch.sessions.public_paper import check_public, public_session
from session.exchange_entries import ExchangeEntry, OrderTransport
from session.session import Mode, Session

ACCOUNTS = {"kraken": {"mode": "live"}, "kraken2": {"mode": "live", "ccxt": "kraken", "region": "eu"}}


def configured(**document: object) -> Configuration:
    return Configuration.model_validate(document)


def test_our_own_exchanges_need_no_entry() -> None:
    config = configured(exchange={"kraken": {"mode": "live"}, "bitstamp": {"adapter": "verified"}})
    assert session_entries(config, "live") == {}


def test_one_of_ours_goes_through_ccxt_where_it_is_said() -> None:
    config = configured(exchange={"bitflyer": {"adapter": "generic"}})
    assert session_entries(config, "paper") == {"bitflyer": ExchangeEntry("bitflyer", "generic", 1_000, 3)}


def test_two_accounts_at_one_exchange_have_a_name_each() -> None:
    config = configured(exchange=ACCOUNTS)
    assert session_entries(config, "live") == {"kraken2": ExchangeEntry("kraken")}


def test_on_paper_each_name_has_an_account_at_the_simulated_exchange() -> None:
    second = {"kraken2": {"ccxt": "kraken", "adapter": "generic"}}
    config = configured(exchanges=["kraken", "kraken2", "bitstamp"], exchange=second)
    session = paper_session(Path("unused"), PaperOptions(), config)
    assert session.accounts_at == {"kraken": ("kraken", "kraken2"), "bitstamp": ("bitstamp",)}
    assert session.entry_of("kraken2").at_one_address == 2
    fees = paper_settings(config).taker_fees
    assert fees["kraken2"] == fees["kraken"]


def test_any_other_exchange_goes_through_ccxt() -> None:
    config = configured(exchange={"gate": {"mode": "public"}})
    assert session_entries(config, "public") == {"gate": ExchangeEntry("gate", "generic", 50, 4)}


@pytest.mark.parametrize("name", ["binanceus", "kucoin"])
def test_money_is_traded_through_ccxt_only_where_the_exchange_is_named(name: str) -> None:
    live = {name: {"mode": "live"}}
    with pytest.raises(CannotStartError, match=rf'set generic_live = \["{name}"\]'):
        session_entries(configured(exchange=live), "live")
    with pytest.raises(CannotStartError, match=rf'no simulator here.*set unsimulated_live = \["{name}"\]'):
        session_entries(configured(exchange=live, generic_live=[name]), "live")
    both = configured(exchange=live, generic_live=[name], unsimulated_live=[name])
    assert name in session_entries(both, "live")


def test_one_opt_in_is_enough_where_a_simulator_stands_behind() -> None:
    second = {"kraken2": {"mode": "live", "ccxt": "kraken", "adapter": "generic"}}
    config = configured(exchange=second, generic_live=["kraken2"])
    assert session_entries(config, "live")["kraken2"].is_generic


@pytest.mark.parametrize("transport", ["socket", "rest"])
def test_it_is_chosen_how_orders_are_sent(transport: OrderTransport) -> None:
    config = configured(exchange={"binance": {"mode": "live", "order_transport": transport}})
    expected = ExchangeEntry("binance", order_transport=transport)
    assert session_entries(config, "live") == {"binance": expected}


REFUSED: dict[str, tuple[dict[str, object], str, Mode, str]] = {
    "no name": ({}, "../Kraken", "live", "[exchange.../Kraken]: a name has small letters, digits and _ only"),
    "nobody knows it": ({}, "mtgox", "public", "ccxt has no exchange mtgox"),
    "futures alone": ({}, "binanceusdm", "public", "binanceusdm cannot be used: ccxt knows no spot market there"),
    "no adapter of our own": (
        {"exchange": {"gate": {"adapter": "verified"}}},
        "gate",
        "public",
        'adapter = "verified": there is none for gate, only for coinbaseexchange',
    ),
    "no sandbox": ({"exchange": {"kraken": {"adapter": "generic"}}}, "kraken", "sandbox", "has no sandbox here"),
    "a slip of the pen": ({"generic_live": ["okz"]}, "kraken", "live", "generic_live names okz, which is not"),
    "a simulator needs no second opt-in": (
        {
            "exchange": {"kraken": {"adapter": "generic"}},
            "generic_live": ["kraken"],
            "unsimulated_live": ["kraken"],
        },
        "kraken",
        "live",
        "unsimulated_live names kraken, which is not one of generic_live without a simulator",
    ),
    "the second opt-in alone": (
        {"exchange": {"kucoin": {"mode": "live"}}, "unsimulated_live": ["kucoin"]},
        "kucoin",
        "live",
        'set generic_live = ["kucoin"]',
    ),
    "no orders by socket": (
        {"exchange": {"bitstamp": {"order_transport": "socket"}}},
        "bitstamp",
        "live",
        'order_transport = "socket": orders go there by REST alone',
    ),
    "verified needs no opt-in": ({"generic_live": ["kraken"]}, "kraken", "live", "generic_live names kraken"),
    "orders without an id of ours": (
        {"exchange": {"bitflyer2": {"ccxt": "bitflyer"}}},
        "bitflyer2",
        "live",
        "bitflyer has no client order ids, and must be named bitflyer",
    ),
    "it takes no ids as long as ours": (
        {"exchange": {"gate": {"mode": "live"}}, "generic_live": ["gate"], "unsimulated_live": ["gate"]},
        "gate",
        "live",
        "gate cannot be traded on: it is not known to keep our order ids",
    ),
    "ccxt does not send our ids": (
        {"exchange": {"cryptocom": {"mode": "live"}}, "generic_live": ["cryptocom"], "unsimulated_live": ["cryptocom"]},
        "cryptocom",
        "live",
        f"cryptocom cannot be traded on: ccxt {version('ccxt')} sends no params.client_oid, where our order id must",
    ),
    "ended orders cannot be listed": (
        {"exchange": {"gemini": {"mode": "live"}}, "generic_live": ["gemini"], "unsimulated_live": ["gemini"]},
        "gemini",
        "live",
        "gemini cannot be traded on: ccxt cannot list ended orders there",
    ),
    "an exchange under the name of another": (
        {"exchange": {"binance": {"ccxt": "kraken"}}},
        "binance",
        "live",
        "binance is an exchange itself; choose another name",
    ),
    "it is not simulated": (
        {"exchange": {"gate2": {"ccxt": "gate"}}},
        "gate2",
        "paper",
        "[exchange.gate2]: gate is not simulated, only coinbaseexchange, bitstamp",
    ),
}


@pytest.mark.parametrize(("document", "name", "mode", "said"), REFUSED.values(), ids=REFUSED)
def test_refused_in_one_sentence(document: dict[str, object], name: str, mode: Mode, said: str) -> None:
    with pytest.raises(CannotStartError) as refusal:
        session_entries(configured(**{"exchanges": [name], **document}), mode)
    assert said in str(refusal.value)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


def test_markets_stand_under_our_names_in_their_regions() -> None:
    config = configured(exchange=ACCOUNTS | {"bitstamp": {"mode": "live"}})
    markets = named_markets(("kraken", "kraken2", "bitstamp"), config)
    assert [(one.exchange, one.region, one.symbol) for one in markets] == [
        ("kraken", "us", "BTC/USD"),
        ("kraken2", "eu", "BTC/USD"),
        ("bitstamp", "eu", "BTC/EUR"),
        ("kraken", "us", "EUR/USD"),
    ]
    assert {one.tick_size for one in markets if one.symbol == "BTC/USD"} == {Decimal("0.1")}


GATE = {"gate": {"mode": "public", "region": "hk"}}


def test_markets_of_another_exchange_are_those_that_are_named() -> None:
    config = configured(exchange=GATE, markets={"gate": {"symbols": ["BTC/USDT", "BTC/EUR"]}})
    markets = named_markets(("gate", "kraken"), config)
    assert [(one.exchange, one.region, one.symbol) for one in markets] == [
        ("gate", "hk", "BTC/USDT"),
        ("gate", "hk", "BTC/EUR"),
        ("kraken", "us", "BTC/USD"),
        ("kraken", "us", "EUR/USD"),
        ("kraken", "us", "USDT/USD"),
    ]


def test_a_session_at_public_prices_of_another_exchange(tmp_path: Path) -> None:
    document = {"exchange": GATE | {"kraken": {"mode": "public"}}, "markets": {"gate": {"symbols": ["BTC/USDT"]}}}
    check_public(tmp_path, configured(**document))
    session = public_session(tmp_path, PaperOptions(), configured(**document))
    assert session.reach.entries == {"gate": ExchangeEntry("gate", "generic", 50, 4)}
    assert session.local_accounts.balances["gate"] == {"BTC": 1, "USDT": 100_000}
    assert Session.from_json(session.to_json()) == session


NO_MARKETS: dict[str, tuple[dict[str, object], str]] = {
    "not named": ({"exchange": GATE}, 'set [markets.gate] symbols = ["BTC/USDT"]'),
    "no region": (
        {"exchange": {"gate": {"mode": "public"}}, "markets": {"gate": {"symbols": ["BTC/USDT"]}}},
        'set its region, as in [exchange.gate] region = "us"',
    ),
    "no spot market": (
        {"exchange": GATE, "markets": {"gate": {"symbols": ["BTC/USDT:USDT"]}}},
        "'BTC/USDT:USDT' is not a spot market",
    ),
    "no rate": (
        {"exchange": GATE, "markets": {"gate": {"symbols": ["BTC/KRW"]}}},
        "gate BTC/KRW: no FX market converts KRW to USD",
    ),
    "unknown code": (
        {"exchange": GATE, "markets": {"gate": {"symbols": ["PEPE/USDT"]}}},
        "gate PEPE/USDT: the asset PEPE there is not known; name the exchanges where it is one asset in [asset.PEPE] "
        "compare",
    ),
    "compared with none": (
        {"exchange": GATE, "markets": {"gate": {"symbols": ["BTC/USDT", "ETH/USDT"]}}},
        "gate ETH/USDT: no other exchange trades ETH",
    ),
    "asset that none has": (
        {"exchange": GATE, "assets": ["BTC", "PEPE"], "markets": {"gate": {"symbols": ["BTC/USDT"]}}},
        "asset PEPE: none of the exchanges trades it",
    ),
    "said of an exchange that takes no part": (
        {
            "exchange": GATE,
            "markets": {"gate": {"symbols": ["BTC/USDT"]}},
            "asset": {"BTC": {"compare": ["gate", "bitget"]}},
        },
        "[asset.BTC] compare: bitget takes no part; the exchanges are gate, kraken",
    ),
    "said of a code that is not traded": (
        {
            "exchange": GATE,
            "markets": {"gate": {"symbols": ["BTC/USDT"]}},
            "asset": {"ABC": {"compare": ["gate", "kraken"]}},
        },
        "[asset.ABC] compare: gate has no market of ABC here; name one in [markets.gate] symbols",
    ),
    "not there": (
        {"exchange": GATE, "markets": {"gate": {"symbols": ["BTC/USDT"]}, "kraken": {"symbols": ["BTC/XAU"]}}},
        "[markets.kraken] symbols: 'BTC/XAU' is not a market there that is known",
    ),
}


@pytest.mark.parametrize(("document", "said"), NO_MARKETS.values(), ids=NO_MARKETS)
def test_markets_that_cannot_be(document: dict[str, object], said: str) -> None:
    with pytest.raises(CannotStartError) as refusal:
        named_markets(("gate", "kraken"), configured(**document))
    assert said in str(refusal.value)


def test_one_exchange_alone_is_no_arbitrage() -> None:
    config = configured(exchange=GATE, markets={"gate": {"symbols": ["BTC/USDT"]}})
    with pytest.raises(CannotStartError, match="at least two"):
        named_markets(("gate",), config)


def test_without_other_names_the_markets_are_as_ever() -> None:
    assert named_markets((), configured()) == named_markets((), configured(exchange={"kraken": {"adapter": "generic"}}))


def test_a_code_that_nobody_listed_is_compared_where_the_user_says_so() -> None:
    config = configured(
        exchange=GATE | {"kraken": {"mode": "public"}},
        asset={"PEPE": {"compare": ["gate", "kraken"]}},
        markets={"gate": {"symbols": ["PEPE/USDT"]}, "kraken": {"symbols": ["PEPE/USD"]}},
    )
    markets = named_markets(("gate", "kraken"), config)
    assert [(one.exchange, one.symbol) for one in markets] == [
        ("gate", "PEPE/USDT"),
        ("kraken", "PEPE/USD"),
        ("kraken", "USDT/USD"),
    ]
    entries = session_entries(config, "public")
    assert {name: entry.said_codes for name, entry in entries.items()} == {"gate": ("PEPE",), "kraken": ("PEPE",)}


def test_two_exchanges_or_more_are_compared() -> None:
    with pytest.raises(ValidationError, match="must name two exchanges or more"):
        configured(asset={"PEPE": {"compare": ["gate", "gate"]}})


LISTED = {"gate": {"symbols": ["BTC/USDT", "PEPE/USDT", "BTC/KRW"]}}


def test_the_list_of_markets_says_why_something_is_not_compared() -> None:
    config = configured(exchange=GATE, exchanges=["gate", "kraken"], markets=LISTED)
    said: list[str] = []
    assert list_markets(MarketsOptions(), config, said.append) == 0
    rows = [line.split() for line in said[0].splitlines()]
    of_gate = {row[2]: " ".join(row[3:]) for row in rows if row[1] == "gate"}
    assert of_gate == {
        "BTC/USDT": "USDT/USD asked asked asked asked kraken",
        "PEPE/USDT": "– asked asked asked asked nothing: the asset PEPE there is not known; name the exchanges where "
        "it is one asset in [asset.PEPE] compare",
        "BTC/KRW": "– asked asked asked asked nothing: no FX market converts KRW to USD",
    }
    (of_kraken,) = [row for row in rows if row[1] == "kraken"]
    assert " ".join(of_kraken[3:]) == "– 0.1 % 0.1 USD 0.00000001 0.00005 and 0.5 USD gate"
