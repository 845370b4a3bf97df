"""What `arbitrage doctor` reports."""

import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from exchanges.key_variables import key_variables
from launch.commands.doctor import (
    CheckResult,
    State,
    all_checks,
    check_result,
    checked_configuration,
    chromium_finding,
    doctor,
    exit_code,
    jars_finding,
    kafka_finding,
    packages_finding,
    port_finding,
    priorities_finding,
    regions_finding,
    room_finding,
    session_findings,
    system_finding,
)
from launch.config.configuration import Configuration
from launch.setup.data_dir import session_runs


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("states", "code"),
    [(["ok"], 0), (["ok", "advice"], 1), (["missing"], 2), (["advice", "missing", "ok"], 2), ([], 0)],
)
def test_the_worst_finding_decides_the_exit_code(states: list[State], code: int) -> None:
    assert exit_code(CheckResult(state, "something", "text") for state in states) == code


@pytest.mark.parametrize(
    ("installed", "state", "words"),
    [
        ({"alpha": "1.0", "beta": "2.0rc1"}, "ok", "2 at their pinned versions"),
        ({"alpha": "1.0"}, "missing", "beta not installed"),
        ({"alpha": "1.1", "beta": "2.0rc1"}, "advice", "alpha not at the pinned version"),
        ({}, "missing", "alpha, beta not installed"),
    ],
)
def test_packages(tmp_path: Path, installed: dict[str, str], state: State, words: str) -> None:
    pins = tmp_path / "requirements.lock"
    pins.write_text(
        "# made so\nalpha==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\nbeta==2.0rc1 --hash=sha256:ba\n\n"
        "gamma==3.0 ; sys_platform == 'plan9' \\\n    --hash=sha256:ca\n"
    )
    finding = packages_finding(pins, installed.get)
    assert finding.state == state
    assert words in finding.text


@pytest.mark.parametrize(
    ("are_sessions_grouped", "is_writable", "state", "words"),
    [
        (True, True, "ok", "by the nice of its autogroup"),
        (False, False, "ok", "its nice counts"),
        (False, True, "ok", "its nice counts"),
        (True, False, "advice", "parts share the CPU equally"),
    ],
)
def test_priorities(are_sessions_grouped: bool, is_writable: bool, state: State, words: str) -> None:
    finding = priorities_finding(are_sessions_grouped, is_writable)
    assert finding.state == state
    assert words in finding.text


def test_many_absent_packages_are_counted(tmp_path: Path) -> None:
    pins = tmp_path / "requirements.lock"
    pins.write_text("".join(f"package{number}==1\n" for number in range(10)))
    assert "package2 and 7 more not installed" in packages_finding(pins, lambda _: None).text


def test_without_a_lock_there_is_nothing_to_compare(tmp_path: Path) -> None:
    assert packages_finding(tmp_path / "requirements.lock", lambda _: None).state == "ok"


@pytest.mark.parametrize(
    ("finding", "state"),
    [
        (system_finding("Linux", "x86_64"), "ok"),
        (system_finding("Darwin", "arm64"), "advice"),
        (system_finding("Linux", "aarch64"), "advice"),
        (room_finding("memory", 8 * 1024**3, 3 * 1024**3), "ok"),
        (room_finding("memory", 1 * 1024**3, 3 * 1024**3), "advice"),
        (check_result("Java", None, "17"), "ok"),
        (check_result("Java", "there is none.", ""), "missing"),
        (chromium_finding(lambda name: f"/usr/bin/{name}"), "ok"),
        (chromium_finding(lambda _: None), "ok"),
        (regions_finding(None, lambda: None), "ok"),
        (regions_finding("network namespaces need root", lambda: None), "ok"),
    ],
)
def test_single_findings(finding: CheckResult, state: State) -> None:
    assert finding.state == state


def test_where_regions_are_not_possible_it_says_what_to_do_and_who_needs_them() -> None:
    assert regions_finding("root", lambda: "nsenter is missing; install util-linux.").text == (
        "--regions without --wan alone, since links have no real delays here: nsenter is missing; install util-linux."
    )


def test_missing_jars_say_what_to_do(tmp_path: Path) -> None:
    finding = jars_finding(tmp_path)
    assert finding.state == "missing"
    assert "and 45 more" in finding.text
    assert "make setup" in finding.text


def test_a_taken_web_port_is_missing_and_a_free_one_ok(tmp_path: Path, taken_port: int, free_port: int) -> None:
    for port, state in ((taken_port, "missing"), (free_port, "ok")):
        none_runs, web_port = session_findings(tmp_path, Configuration(port=port))
        assert none_runs.state == "ok"
        assert (web_port.state, web_port.subject) == (state, "web port")
        assert str(port) in web_port.text


def test_configured_addresses_are_tried(tmp_path: Path, free_port: int, taken_port: int) -> None:
    reported = Configuration(
        port=free_port,
        kafka="127.0.0.1:9",
        mongodb=f"mongodb://user:secret@127.0.0.1:{taken_port}/?replicaSet=rs0",
    )
    found = {finding.subject: finding for finding in session_findings(tmp_path, reported)}
    assert found["Kafka"].state == "missing"
    assert "connection refused" in found["Kafka"].text
    assert found["MongoDB"].state == "ok"
    assert not any("secret" in finding.text for finding in found.values())


@pytest.mark.parametrize("url", ["mongodb://a:1,b:2/?replicaSet=rs0", "mongodb+srv://cluster.example"])
def test_what_has_no_single_port_is_left_to_the_start(url: str) -> None:
    assert port_finding("MongoDB", url).state == "ok"


def test_nobody_listening_is_said() -> None:
    finding = port_finding("dashboard", "http://127.0.0.1:9")
    assert finding.state == "missing"
    assert "127.0.0.1:9" in finding.text


def test_the_own_kafka_of_a_session_that_does_not_answer_is_no_case_for_tls(tmp_path: Path, taken_port: int) -> None:
    """The port accepts and says nothing, as a broker on a busy machine does."""
    (tmp_path / "kafka.log").write_text("INFO Kafka Server started\n")
    finding = kafka_finding(f"127.0.0.1:{taken_port}", tmp_path)
    assert finding.state == "advice"
    assert "TLS" not in finding.text
    assert "busy, frozen, or no Kafka. The session starts it again if it ends; kafka last logged: INFO" in finding.text


def test_a_session_is_known_by_its_lock(tmp_path: Path) -> None:
    assert not session_runs(tmp_path)
    with (tmp_path / "lock").open("w") as lock:
        assert not session_runs(tmp_path)
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert session_runs(tmp_path)
    assert not session_runs(tmp_path)


def test_a_broken_configuration_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arbitrage.toml").write_text("prot = 8000\n")
    last = list(all_checks(tmp_path / "not" / "yet" / "there"))[-1]
    assert (last.subject, last.state) == ("configuration", "missing")
    assert "prot" in last.text


def test_every_finding_becomes_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", os.devnull)
    said: list[str] = []
    assert doctor(tmp_path, said.append) == 2
    assert {line.split(":")[0] for line in said if line.startswith("MISSING")} >= {"MISSING Java", "MISSING jars"}
    assert not any("\n" in line for line in said)


LIVE = """
[exchange.kraken]
mode = "live"
[exchange.bitstamp]
mode = "live"
"""


@pytest.mark.parametrize(
    ("text", "armed", "state", "words"),
    [
        ("", False, "ok", "`arbitrage paper`"),
        (LIVE.replace("live", "public"), False, "ok", "`arbitrage paper` at live prices"),
        (LIVE.replace("live", "public", 1), False, "missing", "kraken is public, bitstamp is live"),
        (LIVE, False, "missing", "ARBITRAGE_ARM_LIVE=yes"),
        (LIVE, True, "missing", "needs ARBITRAGE_BITSTAMP_KEY and ARBITRAGE_BITSTAMP_SECRET"),
        ('[exchange.kraken]\nurl = "https://gateway.example"\n', False, "missing", "url is only for real exchanges"),
        ('[transfers.krakn.BTC]\nfee = "1"\n', False, "missing", "krakn is not traded"),
    ],
)
def test_a_configuration_is_checked_for_its_command(
    text: str, armed: bool, state: State, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARBITRAGE_ARM_LIVE", "yes" if armed else "")
    (tmp_path / "arbitrage.toml").write_text(text)
    [found] = [finding for finding in all_checks(tmp_path / "home") if finding.subject == "configuration"]
    assert found.state == state
    assert words in found.text


def test_a_live_configuration_with_keys_is_well(tmp_path: Path) -> None:
    reported = Configuration.model_validate({"exchange": {name: {"mode": "live"} for name in ("kraken", "bitstamp")}})
    keys = {name: "a" for one in ("kraken", "bitstamp") for name in key_variables(one, False).values()}
    assert checked_configuration(tmp_path, reported, keys | {"ARBITRAGE_ARM_LIVE": "yes"}) == "`arbitrage live` (live)"
