"""A user's mistake gets one clear sentence, an exit code that is not 0, and never a trace."""

import gzip
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from launch.commands.main import run
from launch.setup.data_dir import locked
from tests.whole.running import new_home, run_command

Sentence = Callable[..., str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = new_home(tmp_path / "home")
    monkeypatch.setenv("ARBITRAGE_HOME", str(made))
    return made


@pytest.fixture
def sentence_of(home: Path, capsys: pytest.CaptureFixture[str]) -> Sentence:
    """Run a command in this process, which must fail with this code; return its one line on standard error."""

    def ran(*words: str, code: int) -> str:
        assert run([*words]) == code
        return line_of(capsys.readouterr().err)

    return ran


def line_of(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    assert len(lines) == 1, said
    return lines[0]


def sentence_of_process(home: Path, *words: str, code: int) -> str:
    """Return the same of a process of its own."""
    done = run_command(home, *words)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return line_of(done.stderr)


def test_a_broken_settings_file(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[settings]\nmin_net_bps = 'a lot'\n")
    assert "min_net_bps" in sentence_of_process(home, "paper", "--config", str(path), code=2)


def test_an_unknown_exchange(sentence_of: Sentence, tmp_path: Path) -> None:
    path = tmp_path / "unknown.toml"
    path.write_text('exchanges = ["kraken", "mtgox"]\n')
    assert "mtgox" in sentence_of("paper", "--config", str(path), code=2)


def test_a_taken_port(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert port in sentence_of_process(home, "paper", "--port", port, code=2)


def test_a_second_start_beside_a_running_one(home: Path, sentence_of: Sentence) -> None:
    with locked(home):
        assert "in use by a running session" in sentence_of("paper", code=2)


def test_a_part_without_a_session(sentence_of: Sentence) -> None:
    assert "no session runs" in sentence_of("bot", "kraken", code=2)


@pytest.mark.parametrize(
    ("line", "named"),
    [('kafka = "127.0.0.1:9"', "127.0.0.1:9"), ('mongodb = "mongodb://127.0.0.1:9/?replicaSet=rs0"', "mongodb")],
)
def test_an_unreachable_service(home: Path, tmp_path: Path, line: str, named: str) -> None:
    path = tmp_path / "addresses.toml"
    path.write_text(line)
    assert named in sentence_of_process(home, "paper", "--port", "18431", "--config", str(path), code=2)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"this is no gzip", "gzip"),
        (gzip.compress(b"1723161255000000000 {broken\n"), "line 1"),
        (gzip.compress(b'1723161255000000000 {"data": {}}\n' * 100)[:-20], ""),
    ],
    ids=["no gzip", "no JSON", "cut off"],
)
def test_a_corrupt_recording(sentence_of: Sentence, tmp_path: Path, content: bytes, named: str) -> None:
    folder = tmp_path / "spot"
    folder.mkdir()
    path = folder / "btcusdt_20240808.gz"
    path.write_bytes(content)
    sentence = sentence_of("replay", str(path), code=2)
    assert path.name in sentence
    assert named in sentence


def test_an_unknown_recording(sentence_of: Sentence, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("a,b\n1,2\n")
    assert "prices.csv" in sentence_of("replay", str(path), code=2)


def test_a_missing_recording(sentence_of: Sentence, tmp_path: Path) -> None:
    assert "none.gz" in sentence_of("replay", str(tmp_path / "spot" / "btcusdt_none.gz"), code=2)
