"""A mistake in the configuration is reported whatever else runs."""

import re
from pathlib import Path

import pytest

from launch.commands.entry_points import parser_of_commands
from launch.commands.main import run
from launch.commands.processes import process_commands
from launch.setup.data_dir import locked

COMMANDS = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[settings]\nmin_net_pbs = 5.0\n", "[settings]: min_net_pbs: there is no such setting."),
        ("[settings]\nmin_net_bps = 1e9\n", "[settings]: min_net_bps: "),
        ('exchanges = ["kraken", "krakn"]\n', "unknown exchange 'krakn'"),
        ('[exchange.kraken]\nmode = "public"\n[settings]\nmin_net_pbs = 1\n', ": "),
        ("", "is in use by a running session"),
    ],
)
def test_a_mistake_is_reported_beside_a_running_session(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    sentence: str,
) -> None:
    home, file = tmp_path / "home", tmp_path / "told.toml"
    file.write_text(text)
    monkeypatch.setenv("ARBITRAGE_HOME", str(home))
    with locked(home):
        assert run(["paper", "--config", str(file)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert ("in use" in said) == (not text)


def test_the_page_of_commands_lists_every_one() -> None:
    page, _, processes = COMMANDS.read_text().partition("## Processes")
    assert _listed_in_the_help() - _commands_in(page) == set()
    assert {command.name for command in process_commands()} - _commands_in(processes) == set()


def test_the_help_leaves_out_what_people_do_not_type() -> None:
    listed = _listed_in_the_help()
    assert {"paper", "backtest", "app", "doctor"} <= listed
    assert listed.isdisjoint(command.name for command in process_commands())


@pytest.mark.parametrize(
    "words", [["feed", "kraken"], ["bot", "kraken"], ["publisher"], ["cep"], ["logrecorder"], ["carrier"], ["ui"]]
)
def test_a_process_is_a_command_although_the_help_leaves_it_out(words: list[str]) -> None:
    assert parser_of_commands().parse_args(words).command == words[0]


def _listed_in_the_help() -> set[str]:
    return set(re.findall(r"^  ([a-z-]+)  ", parser_of_commands().format_help(), re.MULTILINE))


def _commands_in(page: str) -> set[str]:
    rows = re.findall(r"^\| (`arbitrage .*?`) \|", page, re.MULTILINE)
    return {name for row in rows for words in re.findall(r"arbitrage ([a-z|\\-]+)", row) for name in words.split("\\|")}
