"""Ctrl-C and SIGTERM in a command that works in Spark: one sentence, the shell's exit code, nothing left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest

from backtest.detect.batch_session import scratch_folder
from launch.errors import StoppedError, TerminatedError
from launch.supervisor.backtest_progress import Progress
from launch.supervisor.ctrl_c import Stopping, signals_deferred
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.backtest.sweep_samples import log_of, tick_set_of

ROOT = Path(__file__).parents[2]
SECONDS = 240.0
GONE_SECONDS = 30.0
SENTENCE = "arbitrage: stopped before it was done."


@pytest.mark.parametrize(
    ("number", "kind", "code"), [(signal.SIGINT, StoppedError, 130), (signal.SIGTERM, TerminatedError, 143)]
)
def test_a_signal_is_one_sentence_and_what_breaks_goes_into_the_log(
    number: signal.Signals, kind: type[StoppedError], code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "spark.log"
    before = signal.getsignal(number)

    def work() -> None:
        try:
            signal.raise_signal(number)
        finally:
            # impatience does not break off what tidies up
            signal.raise_signal(number)
            os.write(2, b"noise\n")
            raise ConnectionError

    with pytest.raises(kind) as stopped, Stopping(log, "Go on."):
        work()
    os.write(2, b"heard\n")
    assert (stopped.value.exit_code, str(stopped.value)) == (code, "stopped before it was done. Go on.")
    assert log.read_text() == "noise\n"
    assert capfd.readouterr().err == "heard\n"
    assert signal.getsignal(number) is before


def test_another_end_than_a_signal_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError), Stopping(tmp_path / "spark.log"):
        raise ConnectionError


def test_another_thread_receives_no_signals_and_sets_no_handlers(tmp_path: Path) -> None:
    passed = Event()

    def work() -> None:
        with Stopping(tmp_path / "spark.log"), signals_deferred():
            passed.set()

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert passed.is_set()


def test_a_signal_while_a_child_starts_ends_the_child_and_is_handled_afterwards(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    older = subprocess.Popen(["sleep", "60"])
    ended: list[int] = []

    def start() -> None:
        child = subprocess.Popen(["sleep", "60"])
        signal.raise_signal(signal.SIGINT)
        ended.append(child.wait(GONE_SECONDS))
        # as pyspark does at the end of its start
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with pytest.raises(StoppedError), Stopping(tmp_path / "spark.log"), signals_deferred():
        start()
    assert ended == [-signal.SIGKILL]
    assert signal.getsignal(signal.SIGINT) is before
    assert older.poll() is None, "it was there before and nobody's start"
    older.kill()
    older.wait()


def test_folders_of_killed_runs_go_and_those_in_use_stay(tmp_path: Path) -> None:
    left = tmp_path / "tmpleft"
    (left / "blocks").mkdir(parents=True)
    with scratch_folder(tmp_path) as first, scratch_folder(tmp_path) as second:
        assert sorted(tmp_path.iterdir()) == sorted([first, second])
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_progress_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(None, in_lines=True) as progress:
        progress("detection", 0.25)
        progress("detection", 0.5)
        progress("trading", 0.1, "3 of 30 sets")
    assert capsys.readouterr().err == "detection: 25%\ntrading: 3 of 30 sets\n"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("is_reached", "advice"),
    [
        (lambda home: (home / "sweeps").exists(), None),
        (lambda home: any(home.glob("sweeps/mine/results/part*")), True),
    ],
    ids=["at its beginning", "while it trades"],
)
def test_ctrl_c_in_a_sweep_is_one_line_and_leaves_nothing(
    is_reached: Callable[[Path], bool], advice: bool | None, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    tick_set_of(log_of(seed=11, rows=400), home / "ticks" / "set")
    (tmp_path / "tmp").mkdir()
    words = "sweep set --grid min_net_bps=4:11:1 --grid latency_ms=0:70:10 --name mine --master local[1]"
    sweep = subprocess.Popen(
        [sys.executable, "-m", "launch.commands.main", *words.split()],
        cwd=ROOT,
        env=os.environ | {"ARBITRAGE_HOME": str(home), "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _wait(lambda: is_reached(home) or sweep.poll() is not None, SECONDS)
        os.killpg(sweep.pid, signal.SIGINT)
        _, reported = sweep.communicate(timeout=GONE_SECONDS)
        _wait(lambda: not _is_alive(sweep.pid), GONE_SECONDS)
    finally:
        if _is_alive(sweep.pid):
            os.killpg(sweep.pid, signal.SIGKILL)
    said = [line for line in reported.splitlines() if not line.startswith(("starting", "detection", "trading"))]
    kept = " Finished sets are stored: continue with `arbitrage sweep --resume mine`."
    assert said in ([SENTENCE + kept], [SENTENCE] if advice is None else [])
    assert sweep.returncode == 130
    assert list(home.glob("spark-backtest/tmp*")) == list((tmp_path / "tmp").iterdir()) == []


def _wait(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = wall_now() + int(seconds * MICROSECONDS)
    while not is_so():
        assert wall_now() < deadline
        Event().wait(0.05)


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
