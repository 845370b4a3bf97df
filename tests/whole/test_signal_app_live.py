"""An app that asks three simulated exchanges for their tickers, on a running session: its signals are those of the
formula, a killed run goes on, its table outlives the session, and over the recording it gives the same."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.cep.apps.hosts.signal_app import REGION, TICKERS, exact_means, expected_signals, signal_text
from tests.whole.running import COMMAND, ROOT, new_home, running_paper

# that an app on a session gives the same again is `test_stream_app.py`'s to prove in the gate, and what this app
# asks, logs and keeps `tests/launch/test_app_input.py`'s
pytestmark = [pytest.mark.whole, pytest.mark.soak]

ADDRESSES = "[apps.addresses]\n" + "".join(f'"{one.origin}" = "simulated:{one.exchange}"\n' for one in TICKERS)
COUNT = """@App:name('signals') CREATE TRIGGER Once WITH (expression = 'start');
CREATE TABLE GLOBAL signals (exchange string, region string, price double, at long);
CREATE SINK Kept WITH (type = 'log') (exchange string, price double);
INSERT INTO Kept SELECT s.exchange, s.price FROM Once AS o JOIN signals AS s;
"""


@contextmanager
def started(home: Path, app: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`arbitrage app run` where the operator's configuration is; killed at the end, with all that it started."""
    environment = os.environ | {"ARBITRAGE_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = (*COMMAND, "app", "run", str(app), "--var", f"region={REGION}", *words)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=home, env=environment
    ) as run:
        try:
            yield run
        finally:
            if run.poll() is None:
                below = psutil.Process(run.pid).children(recursive=True)
                run.kill()
                for process in below:
                    with suppress(psutil.NoSuchProcess):
                        process.kill()


def ended(home: Path, app: Path, *words: str) -> str:
    """Return what a run said that came to its end."""
    with started(home, app, *words) as run:
        said, _ = run.communicate(timeout=300)
        assert run.returncode == 0, said
    return said


def means_in(path: Path) -> int:
    return path.read_text().count("MeanYen") if path.exists() else 0


def rows_of(path: Path) -> dict[str, dict[str, object]]:
    """By id; a row that was written twice says the same."""
    rows: dict[str, dict[str, object]] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        assert rows.setdefault(row["id"], row) == row
    return rows


def test_an_app_of_three_exchanges_tickers(tmp_path: Path) -> None:
    home, app, count = new_home(tmp_path / "home"), tmp_path / "signals.app", tmp_path / "count.app"
    (home / "arbitrage.toml").write_text(ADDRESSES)
    app.write_text(signal_text("1 sec"))
    count.write_text(COUNT)
    with running_paper(home, "--record") as paper:
        paper.wait_for("trading on paper", 240)
        session = paper.session.session_id
        with started(home, app, "--json", str(tmp_path / "killed.jsonl")):
            paper.until(lambda: means_in(tmp_path / "killed.jsonl") > 5, 300, "no answer came")
        with started(home, app, "--json", str(tmp_path / "rows.jsonl")) as run:
            paper.until(lambda: means_in(tmp_path / "rows.jsonl") > 40, 300, "it did not go on")
            run.send_signal(signal.SIGINT)
            said, _ = run.communicate(timeout=120)
            assert run.returncode == 0, said
        # another version of the app's text begins with what the first one kept
        ended(home, count, "--json", str(tmp_path / "kept.jsonl"), "--seconds", "5")
        assert paper.stop(180) == 0, paper.said
    rows = rows_of(tmp_path / "rows.jsonl")
    ended(home, app, "--json", str(tmp_path / "again.jsonl"), "--replay", session)
    again = rows_of(tmp_path / "again.jsonl")
    assert {row_id: again.get(row_id) for row_id in rows} == rows
    ordered = sorted(again.values(), key=lambda row: [int(part) for part in str(row["id"]).split(":")[-2:]])
    signals = 0
    for ticker in TICKERS:
        values = [(row["stream"], row["values"]) for row in ordered if isinstance(row["values"], dict)]
        mine = [(stream, one) for stream, one in values if one.get("exchange") == ticker.exchange]
        closes, means = (
            [float(str(one[name])) for stream, one in mine if stream == f"Mean{ticker.name}"]
            for name in ("close", "mean")
        )
        given = [("BUY" if stream == "Bought" else "SELL", one["price"])
                 for stream, one in mine if stream in ("Bought", "Sold")]  # fmt: skip
        assert len(closes) > 20
        # a running mean of doubles, as everywhere in apps
        assert means == pytest.approx([float(mean) for mean in exact_means(closes)], rel=1e-12)
        assert given == expected_signals(closes, means)
        signals += len(given)
    assert signals > 0
    assert said.count(" BUY ") + said.count(" SELL ") > 0
    kept = [row["values"] for row in rows_of(tmp_path / "kept.jsonl").values()]
    assert len(kept) > 0
