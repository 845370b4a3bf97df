"""A mistake on the command line is one sentence and exit code 2, however large the number."""

import subprocess
import sys
from pathlib import Path

import pytest

from launch.commands.main import UNREAD, run

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("chaos --seconds 0", "0 is not a positive number"),
        ("chaos --seconds 1e999", "'1e999' is out of bounds"),
        ("chaos --seconds 86401", "86401 is longer than a day"),
        ("chaos --seconds soon", "'soon' is not a number"),
        ("chaos --seed 1.5", "1.5 is not a whole number"),
        ("chaos --seed 1e40", "'1e40' is out of bounds"),
        ("paper --seed 9223372036854775808", "is not a whole number of less than 64 bits"),
        ("paper --seconds nan", "'nan' is not a number"),
        ("paper --port 1e99999", "'1e99999' is out of bounds"),
        ("replay FILE --speed 1e999", "'1e999' is out of bounds"),
        ("bot kraken --number 100", "100 is not a number between 1 and 99"),
    ],
)
def test_a_wrong_option_is_one_sentence(words: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(words.split())
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "paper --secnds 5",
            "arbitrage paper: there is no --secnds (did you mean --seconds?); see `arbitrage paper --help`",
        ),
        (
            "paper --secnds=5",
            "arbitrage paper: there is no --secnds (did you mean --seconds?); see `arbitrage paper --help`",
        ),
        ("paper --xyzzy", "arbitrage paper: there is no --xyzzy; see `arbitrage paper --help`"),
        ("paper now", "arbitrage paper: unexpected argument 'now'; see `arbitrage paper --help`"),
        ("backtest set --prgress x", "arbitrage backtest: there is no --prgress; see `arbitrage backtest --help`"),
        ("papr", "arbitrage: COMMAND: there is no 'papr' (did you mean paper?); see `arbitrage --help`"),
        ("", "arbitrage: missing: COMMAND; see `arbitrage --help`"),
        ("keys", "arbitrage keys: missing: add | list | revoke; see `arbitrage keys --help`"),
        ("keys drop", "add | list | revoke: there is no 'drop', only add, list, revoke; see `arbitrage keys --help`"),
        ("keys add", "arbitrage keys add: missing: NAME, --role; see `arbitrage keys add --help`"),
        ("keys add x --rle viewer", "arbitrage keys add: missing: --role; see `arbitrage keys add --help`"),
        ("paper --seconds", "arbitrage paper: --seconds: expected one argument; see `arbitrage paper --help`"),
    ],
)
def test_a_slip_names_its_command_and_what_is_nearest(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(words.split())
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.endswith(f"{sentence}\n")
    assert said.count("\n") == 1


def test_nobody_reads_on_and_that_is_no_trace() -> None:
    words = [sys.executable, "-m", "launch.commands.main", "app", "check", str(ROOT / "apps" / "bars.app")]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == ""
        assert command.wait() == UNREAD


def test_arrow_is_kept_from_pandas_where_a_command_says_so() -> None:
    """The command's own process alone: Arrow asks once whether there is any."""
    check = """
import sys
from launch.setup.without_pandas import leave_pandas_out
leave_pandas_out()
import pyarrow
pyarrow.array([1.5, None])
assert "pandas" not in sys.modules
import pandas
assert pandas.Series([1]).sum() == 1
"""
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True, timeout=60)
