"""Which processes a session has."""

from dataclasses import replace
from pathlib import Path

import pytest

from launch.commands.entry_points import parser_of_commands
from launch.commands.main import run
from launch.config.configuration import Configuration, read_configuration
from launch.config.session_options import PaperOptions
from launch.sessions.paper import paper_session
from launch.supervisor.process_plan import ACCOUNTS, own_processes
from session.session import Mode

EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")


def bots_of(home: Path, bots: int) -> dict[str, tuple[str, ...]]:
    session = paper_session(home, PaperOptions(), Configuration())
    return {
        part.name: part.command for part in own_processes(session, (), fed=True, bots=bots) if "bot" in part.command
    }


def test_one_bot_an_exchange_by_default(tmp_path: Path) -> None:
    assert Configuration().bots_per_exchange == 1
    assert set(bots_of(tmp_path, 1)) == {f"bot-{name}" for name in EXCHANGES}


def test_standbys_are_parts_of_their_own_with_the_same_command(tmp_path: Path) -> None:
    bots = bots_of(tmp_path, 2)
    assert set(bots) == {f"bot-{name}{number}" for name in EXCHANGES for number in ("", "-2")}
    assert bots["bot-kraken-2"][-4:] == ("bot", "kraken", "--number", "2")


@pytest.mark.parametrize("number", ["0", "1.5", "x"])
def test_a_number_that_is_none_is_rejected(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as rejected:
        run(["bot", "kraken", "--number", number])
    assert rejected.value.code == 2
    assert number in capsys.readouterr().err


@pytest.mark.parametrize(("services", "words"), [(("kafka", "mongodb"), ("--after", "kafka")), ((), ())])
def test_spark_starts_beside_our_own_kafka_and_waits_for_it_itself(
    tmp_path: Path, services: tuple[str, ...], words: tuple[str, ...]
) -> None:
    session = paper_session(tmp_path, PaperOptions(), Configuration())
    (spark,) = (part for part in own_processes(session, services, fed=True) if part.name == "cep")
    assert spark.after == ()
    assert spark.awaits == words[1:]
    assert spark.command[-1 - len(words) :] == ("cep", *words)


def test_who_runs_apps_and_who_checks_their_texts_read_the_sessions_file(tmp_path: Path) -> None:
    file = tmp_path / "of the session.toml"
    file.write_text("[apps.limits]\nkeys = 5\n")
    config = read_configuration(file, {})
    session = paper_session(tmp_path, PaperOptions(), config)
    parts = {part.name: part for part in own_processes(session, (), fed=True, config=config)}
    for name in ("apps", "ui"):
        words = parts[name].command[-3:]
        assert words == (name, "--config", str(file))
        assert parser_of_commands().parse_args(list(words)).config == file
    without = {part.name: part for part in own_processes(session, (), fed=True)}
    assert without["ui"].command[-1] == "ui"


@pytest.mark.parametrize(("mode", "is_barred"), [("live", True), ("sandbox", True), ("paper", False)])
def test_no_bot_runs_before_real_accounts_were_looked_at(tmp_path: Path, mode: Mode, is_barred: bool) -> None:
    session = replace(paper_session(tmp_path, PaperOptions(), Configuration()), mode=mode)
    parts = own_processes(session, ("kafka", "mongodb"), fed=True)
    waiting = {part.name for part in parts if ACCOUNTS in part.after}
    assert waiting == ({part.name for part in parts if part.name.startswith("bot-")} if is_barred else set())


def test_the_log_is_recorded_by_a_part_of_its_own_where_the_session_records(tmp_path: Path) -> None:
    session = paper_session(tmp_path, PaperOptions(record=True), Configuration())
    parts = {part.name: part for part in own_processes(session, ("kafka", "mongodb"), fed=True)}
    assert parts["logrecorder"].after == ("kafka",)
    assert "logrecorder" not in {
        part.name
        for part in own_processes(replace(session, upkeep=replace(session.upkeep, recordings_mb=None)), (), fed=True)
    }
