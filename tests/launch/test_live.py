"""Trading for real: everything that is missing is named in one sentence, before anything is sent; exit code 2."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.key_variables import key_variables
from launch.commands.main import run
from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.sessions.contract_check import check_contracts
from launch.sessions.live import (
    check_accounts,
    live_session,
    live_settings,
    real_mode,
    run_live,
    with_exchange_rules,
)
from launch.sessions.paper import check_simulated, run_paper
from launch.setup.data_layout import database_name
from launch.setup.nested_home import make_nested_home
from launch.supervisor.process_groups import child_environment
from market.instruments.token_contracts import Token
from tests.exchanges.served import served

OPTIONS = PaperOptions()
BOTH = ("kraken", "bitstamp")
KEYS = {name: f"key-{name}" for exchange in BOTH for name in key_variables(exchange, False).values()}
ARMED = KEYS | {"ARBITRAGE_ARM_LIVE": "yes"}


def reported(modes: Mapping[str, Mapping[str, str]], **others: object) -> Configuration:
    return Configuration.model_validate({"exchange": modes} | others)


LIVE = reported({name: {"mode": "live"} for name in BOTH})


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def echo(_: str) -> None:
    raise AssertionError("nothing is said before all is checked")


@pytest.mark.parametrize(
    ("configuration", "environment", "sentence"),
    [
        (LIVE, {}, "live trading is not armed: set ARBITRAGE_ARM_LIVE=yes to trade on bitstamp"),
        (LIVE, KEYS, "live trading is not armed"),
        (LIVE, ARMED | {"ARBITRAGE_ARM_LIVE": "true"}, "live trading is not armed"),
        (
            LIVE,
            ARMED | {"ARBITRAGE_KRAKEN_SECRET": ""},
            "live trading on kraken needs ARBITRAGE_KRAKEN_SECRET in the environment",
        ),
        (
            LIVE,
            {"ARBITRAGE_ARM_LIVE": "yes"},
            "live trading on bitstamp needs ARBITRAGE_BITSTAMP_KEY and ARBITRAGE_BITSTAMP_SECRET in the environment",
        ),
        (
            reported({"kraken": {"mode": "live"}, "bitstamp": {"mode": "live", "url": "http://127.0.0.1:8100"}}),
            ARMED,
            "live bitstamp: the address http://127.0.0.1:8100/bitstamp/api is not encrypted",
        ),
        (
            reported({"kraken": {"mode": "live"}, "bitstamp": {"mode": "live", "url": "https://localhost:8100/"}}),
            ARMED,
            "live bitstamp: the address https://localhost:8100/bitstamp/api is on loopback",
        ),
        (
            reported({"kraken": {"mode": "live"}, "bitstamp": {"mode": "live", "url": "http://gateway.example"}}),
            ARMED,
            "is not encrypted",
        ),
        (
            reported({"kraken": {"mode": "live"}}, exchanges=BOTH),
            ARMED,
            "all exchanges of a session must have one mode, but kraken is live, bitstamp is simulated",
        ),
        (reported({"kraken": {"mode": "live"}, "bitstamp": {"mode": "sandbox"}}), ARMED, "bitstamp is sandbox"),
        (
            reported({name: {"mode": "sandbox"} for name in BOTH}),
            ARMED,
            "kraken has no sandbox, only binance and bybit and coinbaseexchange have",
        ),
        (reported({}), ARMED, "no exchange is real"),
        (reported({}, exchanges=BOTH), ARMED, "no exchange is real"),
        (reported({"kraken": {"mode": "live"}}), ARMED, "at least two"),
        (reported({"kraken": {"mode": "live"}, "mtgox": {"mode": "live"}}), ARMED, "ccxt has no exchange mtgox"),
        (
            reported({name: {"mode": "live"} for name in (*BOTH, "bitflyer")}, exchanges=BOTH),
            ARMED,
            r"\[exchange.bitflyer\] is configured, but `exchanges` does not name bitflyer",
        ),
        (
            reported({name: {"mode": "live"} for name in BOTH}, feeds={"stale_after_ms": 2_999}),
            ARMED,
            r"\[feeds\] stale_after_ms is 2999",
        ),
        (LIVE.model_copy(update={"kafka": "10.0.0.1:9092"}), ARMED, "`kafka` is set"),
        (
            reported({name: {"mode": "sandbox"} for name in ("binance", "coinbaseexchange")}),
            ARMED,
            "sandbox trading on coinbaseexchange needs ARBITRAGE_SANDBOX_COINBASEEXCHANGE_KEY and "
            "ARBITRAGE_SANDBOX_COINBASEEXCHANGE_SECRET and ARBITRAGE_SANDBOX_COINBASEEXCHANGE_PASSWORD",
        ),
    ],
)
async def test_real_trading_is_rejected_in_one_sentence(
    configuration: Configuration, environment: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(CannotStartError, match=sentence) as rejected:
        await run_live(tmp_path, OPTIONS, configuration, environment, echo)
    assert rejected.value.exit_code == 2
    assert "\n" not in str(rejected.value)
    assert "key-" not in str(rejected.value)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("mode", ["live", "sandbox"])
async def test_paper_never_trades_for_real(mode: str, tmp_path: Path) -> None:
    for configuration in (reported({"kraken": {"mode": mode}}), reported({"kraken": {"mode": mode}}, exchanges=BOTH)):
        with pytest.raises(CannotStartError, match=f'mode = "{mode}" is not paper trading'):
            await run_paper(tmp_path, OPTIONS, configuration, echo)
    with pytest.raises(CannotStartError, match="url is only for real exchanges"):
        check_simulated(reported({"kraken": {"url": "https://gateway.example"}}))
    check_simulated(reported({"kraken": {"mode": "simulated"}}))


def test_the_command_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ARBITRAGE_ARM_LIVE", raising=False)
    path = tmp_path / "arbitrage.toml"
    path.write_text('[exchange.kraken]\nmode = "live"\n[exchange.bitstamp]\nmode = "live"\n')
    assert run(["live", "--config", str(path)]) == 2
    assert run(["paper", "--config", str(path)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "ARBITRAGE_ARM_LIVE=yes" in first
    assert "`arbitrage live`" in second


@pytest.mark.parametrize(
    "text",
    [
        'mode = "real"',
        'mode = "live"\nkey = "x"',
        'url = "ftp://x"',
        'url = "x"',
        'url = "https://name:pass-word@x"',
        'url = "https://x:99999"',
        'url = "https://x:port"',
        'url = "https://[x"',
    ],
)
def test_a_broken_section_is_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text(f"[exchange.kraken]\n{text}\n")
    assert run(["live", "--config", str(path)]) == 2
    said = capsys.readouterr().err
    assert "exchange.kraken." in said
    assert said.count("\n") == 1
    assert "pass-word" not in said


def test_a_right_configuration_is_ready_for_its_first_request(tmp_path: Path) -> None:
    session = live_session(tmp_path, OPTIONS, LIVE)
    check_accounts(session, ARMED)
    assert (session.mode, session.home, session.services.database) == ("live", tmp_path / "live", database_name("live"))
    assert session.simulated.url is None
    assert {market.exchange for market in session.traded} == set(BOTH)
    assert b"key-" not in session.to_json()


@pytest.mark.parametrize(("flag", "configured"), [(True, False), (False, True)])
def test_a_real_session_records_where_it_is_asked_to(flag: bool, configured: bool, tmp_path: Path) -> None:
    session = live_session(
        tmp_path, replace(OPTIONS, record=flag), LIVE.model_copy(update={"record": configured, "recordings_mb": 7})
    )
    assert session.upkeep.recordings_mb == 7
    assert live_session(tmp_path, OPTIONS, LIVE).upkeep.recordings_mb is None


def test_a_link_to_jars_that_are_not_there_is_no_obstacle(tmp_path: Path) -> None:
    for _ in range(2):
        make_nested_home(tmp_path, tmp_path / "live")
    assert (tmp_path / "live" / "jars").is_symlink()


def test_a_sandbox_with_keys_of_its_own(tmp_path: Path) -> None:
    names = ("binance", "coinbaseexchange")
    configuration = reported({name: {"mode": "sandbox"} for name in names})
    keys = {name: "c2VjcmV0" for exchange in names for name in key_variables(exchange, True).values()}
    session = live_session(tmp_path, OPTIONS, configuration)
    check_accounts(session, keys | {"ARBITRAGE_ARM_LIVE": "yes"})
    assert real_mode(configuration) == session.mode == "sandbox"


def test_nothing_is_traded_until_somebody_switches_it_on() -> None:
    fees = {name: Decimal("0.001") for name in BOTH}
    assert live_settings(LIVE, fees).trading_state == "halted"
    assert live_settings(reported({}, settings={"trading_state": "running"}), fees).trading_state == "running"


async def test_what_the_exchanges_say_goes_into_the_session(tmp_path: Path) -> None:
    """The same calls as on a real exchange, on simulated ones: a session in paper mode stands in for a live one."""
    async with served(tmp_path, only=BOTH) as outside:
        session = live_session(tmp_path, OPTIONS, LIVE)
        stand_in = replace(session, mode="paper", simulated=replace(session.simulated, url=outside.url), home=tmp_path)
        coarse = tuple(replace(market, tick_size=Decimal(1)) for market in session.markets)
        asked, fees = await with_exchange_rules(replace(stand_in, markets=coarse), {})
    assert [market for market in asked.markets if not market.is_fx] == list(session.traded)
    assert fees == {"bitstamp": Decimal("0.0012"), "kraken": Decimal("0.001")}


async def test_a_key_that_may_withdraw_ends_the_start(tmp_path: Path) -> None:
    async with served(tmp_path, only=BOTH) as outside:
        outside.world.gateways["kraken"].exchange.funding.may_withdraw = True
        session = replace(
            live_session(tmp_path, OPTIONS, LIVE),
            mode="paper",
            simulated=replace(live_session(tmp_path, OPTIONS, LIVE).simulated, url=outside.url),
            home=tmp_path,
        )
        with pytest.raises(CannotStartError, match="the API key for kraken may withdraw") as refused:
            await with_exchange_rules(session, {})
    assert "\n" not in str(refused.value)


def test_fees_as_asked_are_in_force_whatever_is_configured() -> None:
    """Also in a database that is not new: `of_next_session`."""
    fees = {name: Decimal("0.0026") for name in BOTH}
    configured = reported({}, settings={"taker_fees": dict.fromkeys(BOTH, "0.0001"), "min_net_bps": 9})
    settings = live_settings(configured, fees)
    assert (settings.taker_fees, settings.min_net_bps) == (fees, 9)


def test_two_coins_with_one_ticker_end_the_start(tmp_path: Path) -> None:
    session = live_session(tmp_path, OPTIONS, LIVE)
    stated = [
        Token("BTC", f"stated by {name}", {"ethereum": f"0x{digit * 20}"})
        for name, digit in zip(BOTH, ("12", "34"), strict=True)
    ]
    check_contracts(session, stated[:1])
    with pytest.raises(CannotStartError, match="BTC is not compared: its contract on ethereum is 0x12") as refused:
        check_contracts(session, stated)
    assert "\n" not in str(refused.value)


async def test_an_exchange_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    async with served(tmp_path, only=BOTH) as outside:
        url = outside.url
    session = replace(
        live_session(tmp_path, OPTIONS, LIVE),
        mode="paper",
        simulated=replace(live_session(tmp_path, OPTIONS, LIVE).simulated, url=url),
        home=tmp_path,
    )
    with pytest.raises(CannotStartError, match="bitstamp did not answer") as rejected:
        await with_exchange_rules(session, {})
    assert "\n" not in str(rejected.value)


def test_a_part_gets_the_keys_of_its_own_exchange_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ARMED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ARBITRAGE_HOME", "there")
    assert not ARMED.keys() & child_environment().keys()
    own = {*key_variables("kraken", False).values(), "ARBITRAGE_ARM_LIVE"}
    assert ARMED.keys() & child_environment("kraken").keys() == own
    assert child_environment()["ARBITRAGE_HOME"] == "there"
