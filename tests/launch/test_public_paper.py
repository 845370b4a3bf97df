"""Paper trading at live prices: rejected in one sentence if it is impossible, and never with a key."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.catalogue import EXCHANGES
from exchanges.ccxt.client import session_config
from exchanges.errors import AccountRejectedError
from exchanges.key_variables import key_variables_of
from launch.commands.main import run
from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.sessions.live import live_session
from launch.sessions.paper import check_simulated
from launch.sessions.public_paper import OPENING, public_session, public_settings, run_public, with_listed_rules
from launch.sessions.silent_exchanges import without_silent
from launch.setup.data_layout import database_name
from pricefeeds.feed.endpoints import endpoints_of
from runtime.clock import SystemClock
from session.session import Session
from tests.exchanges.served import served

OPTIONS = PaperOptions()
NAMES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
PUBLIC = {"mode": "public"}
PARTS = (*NAMES, "binance")


def reported(modes: Mapping[str, Mapping[str, str]], **others: object) -> Configuration:
    return Configuration.model_validate({"exchange": modes} | others)


def through(url: str, names: tuple[str, ...] = NAMES) -> Configuration:
    return reported({name: PUBLIC | {"url": url} for name in names})


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def echo(_: str) -> None:
    """Do nothing, because nobody listens."""


BOTH = dict.fromkeys(("kraken", "bitstamp"), PUBLIC)


@pytest.mark.parametrize(
    ("configuration", "sentence"),
    [
        (
            reported(BOTH | {"bitflyer": {"mode": "live"}}),
            "all exchanges of a session must have one mode, but kraken is public, bitst",
        ),
        (
            reported(BOTH, exchanges=(*BOTH, "bitflyer")),
            "all exchanges of a session must have one mode, .* bitflyer is simulated",
        ),
        (
            reported({"kraken": PUBLIC}, exchanges=("bitstamp", "bitflyer")),
            "bitstamp is simulated, .* kraken is public",
        ),
        (
            reported(BOTH | {"kraken": {"mode": "live"}, "bitflyer": PUBLIC}, exchanges=("bitstamp", "bitflyer")),
            "kraken is live",
        ),
        (reported({"kraken": PUBLIC}), "names only one exchange"),
        (reported(BOTH | {"mtgox": PUBLIC}), "ccxt has no exchange mtgox"),
        (reported(BOTH | {"binance": PUBLIC}, exchanges=tuple(BOTH)), "`exchanges` does not name binance"),
        (reported(BOTH, kafka="10.0.0.1:9092"), "`kafka` is set"),
        (reported(BOTH, feeds={"stale_after_ms": 2_999}), r"\[feeds\] stale_after_ms is 2999"),
        (
            reported(BOTH, paper={"balances": {"binance": {}}}),
            r"\[paper.balances.binance\]: binance is not traded, only",
        ),
        (
            reported(BOTH, paper={"balances": {"bitstamp": {"USD": 1}}}),
            r"\[paper.balances.bitstamp\]: bitstamp has no USD, only BTC, EUR",
        ),
        (
            reported({name: PUBLIC | {"url": "http://127.0.0.1:9"} for name in BOTH}),
            r"\[exchange.bitstamp\] url = http://127.0.0.1:9: bitstamp did not answer.* kraken did not answer.* no two "
            "of the exchanges that answered",
        ),
    ],
)
async def test_what_cannot_be_is_rejected_in_one_sentence(
    configuration: Configuration, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(CannotStartError, match=sentence) as rejected:
        await run_public(tmp_path, OPTIONS, configuration, echo)
    assert rejected.value.exit_code == 2
    assert "\n" not in str(rejected.value)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "paper", ["latency_ms = -1", "latency_spread = 3", "balances.kraken.USD = -1", 'balances.kraken.USD = "x"', "x = 1"]
)
def test_the_command_says_what_is_wrong(
    paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path / "home"))
    path = tmp_path / "arbitrage.toml"
    path.write_text(f'[paper]\n{paper}\n[exchange.kraken]\nmode = "public"\n')
    assert run(["paper", "--config", str(path)]) == 2
    path.write_text('[exchange.kraken]\nmode = "public"\n')
    assert run(["paper", "--config", str(path)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "paper." in first
    assert "at least two" in second


def test_other_modes_do_not_take_it_over() -> None:
    with pytest.raises(CannotStartError, match="start it with `arbitrage paper`"):
        live_session(Path(), OPTIONS, reported(BOTH))
    with pytest.raises(CannotStartError, match="accounts at live prices"):
        check_simulated(reported({}, paper={"balances": {"kraken": {"USD": 1}}}))


def test_the_session_is_apart_from_every_other(tmp_path: Path) -> None:
    configuration = reported(
        BOTH,
        seed=5,
        paper={"latency_ms": 80, "latency_spread": 0.4, "balances": {"kraken": {"USD": "2500.5"}}},
    )
    session = public_session(tmp_path, OPTIONS, configuration)
    assert (session.mode, session.home, session.services.database) == (
        "public",
        tmp_path / "public",
        database_name("public"),
    )
    assert session.simulated.url is None
    assert (session.local_accounts.latency_ms, session.local_accounts.latency_spread, session.seed) == (80, 0.4, 5)
    assert public_session(tmp_path, replace(OPTIONS, seed=7), configuration).seed == 7
    assert session.local_accounts.balances == {
        "bitstamp": {"BTC": OPENING["BTC"], "EUR": OPENING["EUR"]},
        "kraken": {"BTC": OPENING["BTC"], "USD": Decimal("2500.5")},
    }
    assert Session.from_json(session.to_json()) == session


def test_rates_come_from_kraken_though_it_is_not_traded(tmp_path: Path) -> None:
    names = ("bitstamp", "bitflyer")
    url = "https://gateway.example"
    configuration = reported({name: PUBLIC | {"url": url} for name in (*names, "kraken")}, exchanges=names)
    session = public_session(tmp_path, OPTIONS, configuration)
    assert set(session.exchanges) == {*names, "kraken"}
    assert {market.exchange for market in session.traded} == set(names) == set(session.local_accounts.balances)
    assert session.reach.gateways["kraken"] == url


async def test_sizes_and_fees_are_those_that_anybody_is_shown(tmp_path: Path) -> None:
    """Through a gateway; each exchange answers without a key."""
    async with served(tmp_path / "outside") as outside:
        session = public_session(tmp_path, OPTIONS, through(outside.url, PARTS))
        listed, fees = await with_listed_rules(session, echo)
        assert [market.symbol for market in listed.markets] == [market.symbol for market in session.markets]
        settings = public_settings(through(outside.url), fees)
        assert not any(gateway.exchange.customer.orders for gateway in outside.world.gateways.values())
    assert settings.trading_state == "running"
    assert settings.taker_fees == fees
    assert fees.keys() == set(PARTS)
    assert all(Decimal(0) < fee < Decimal("0.01") for fee in fees.values())
    assert public_settings(reported({}, settings={"min_net_bps": 9}), fees).min_net_bps == 9


def partly_silent(home: Path, url: str, silent: tuple[str, ...]) -> Session:
    places = {name: "http://127.0.0.1:9" if name in silent else url for name in NAMES}
    return public_session(home, OPTIONS, reported({name: PUBLIC | {"url": place} for name, place in places.items()}))


@pytest.mark.parametrize("silent", [("bitflyer",), ("bitstamp", "bitflyer")])
async def test_an_exchange_that_does_not_answer_is_left_out(tmp_path: Path, silent: tuple[str, ...]) -> None:
    said: list[str] = []
    async with served(tmp_path / "outside") as outside:
        listed, fees = await with_listed_rules(partly_silent(tmp_path, outside.url, silent), said.append)
    assert {market.exchange for market in listed.traded} == set(NAMES) - set(silent)
    assert (
        fees.keys() == listed.local_accounts.balances.keys() == listed.reach.gateways.keys() == set(NAMES) - set(silent)
    )
    assert [line.endswith("The session goes on without it.") for line in said] == [True] * len(silent)


# kraken has the rates that the others need
@pytest.mark.parametrize("silent", [("kraken", "coinbaseexchange"), ("kraken", "bitstamp")])
async def test_with_too_few_that_answer_nothing_starts(tmp_path: Path, silent: tuple[str, ...]) -> None:
    async with served(tmp_path / "outside") as outside:
        session = partly_silent(tmp_path, outside.url, silent)
        with pytest.raises(CannotStartError, match="no two of the exchanges that answered have a market") as refused:
            await with_listed_rules(session, echo)
    assert [f"{name} did not answer" in str(refused.value) for name in silent] == [True, True]
    assert "\n" not in str(refused.value)


def test_a_market_that_is_compared_with_none_any_more_goes_too(tmp_path: Path) -> None:
    config = reported(
        dict.fromkeys(("kraken", "bitstamp", "coinbaseexchange"), PUBLIC),
        assets=("BTC", "ETH"),
        standby_assets=("SOL",),
        markets={"bitstamp": {"symbols": ("BTC/EUR",)}, "kraken": {"symbols": ("BTC/USD", "ETH/USD", "SOL/USD")}},
    )
    session = public_session(tmp_path, OPTIONS, config)
    rest, said = without_silent(session, ("coinbaseexchange",))
    assert said == tuple(f"kraken {one}/USD is left out: no other exchange trades {one}." for one in ("ETH", "SOL"))
    assert [(one.exchange, one.symbol) for one in rest.traded] == [("bitstamp", "BTC/EUR"), ("kraken", "BTC/USD")]
    assert rest.standby_assets == ()


async def test_no_key_is_read_though_there_are_some(tmp_path: Path) -> None:
    """Neither from the environment nor from the data folder; a bot that asked for an account would get none."""
    keys = {name: "secret" for exchange in EXCHANGES for name in key_variables_of(exchange)} | {
        "ARBITRAGE_ARM_LIVE": "yes"
    }
    async with served(tmp_path) as outside:
        session = public_session(tmp_path, OPTIONS, through(outside.url))
        session = replace(session, home=outside.home)
        for exchange in session.exchanges:
            async with endpoints_of(session, exchange, SystemClock(), 5, keys) as source:
                assert source.credentials is None
            with pytest.raises(AccountRejectedError, match="local paper accounts"):
                session_config(session, exchange, keys)
