"""A mistake in the configuration is told whatever else runs."""

import re
from pathlib import Path

import pytest

from launch.commands.entry_points import parser_of_commands
from launch.commands.main import run
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
    rows = re.findall(r"^\| (`arbitrage .*?`) \|", COMMANDS.read_text(), re.MULTILINE)
    listed = {
        name for row in rows for words in re.findall(r"arbitrage ([a-z|\\-]+)", row) for name in words.split("\\|")
    }
    usage = parser_of_commands().format_help().partition("COMMAND\n")[2]
    known = set(re.findall(r"^    ([a-z-]+)", usage, re.MULTILINE))
    assert "logrecorder" in known
    assert known - listed == set()
