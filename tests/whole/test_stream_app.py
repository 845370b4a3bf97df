"""A stream app on a running session, and over that session's recording: the same rows with the same ids."""

import json
from pathlib import Path

import pytest

from tests.whole.running import new_home, run_command, running_paper

pytestmark = pytest.mark.whole

APP = """@App:name('whole')
from quotes#window.time(2 sec) select exchange, base, avg((ask - bid) / bid * 10000.0) as bps, count() as n
group by exchange, base insert into Means;
from Means[n > 5] select exchange, base, bps, n output last every 20 events insert into Spreads;
partition with (exchange of quotes) begin
    from every a = quotes -> b = quotes[bid > a.bid * 1.0002] within 1 sec
    select a.exchange as exchange, a.bid as before, b.bid as after insert into Jumps;
end;
"""


def rows_of(path: Path) -> dict[str, str]:
    """By id; a row that was written twice says the same."""
    rows: dict[str, str] = {}
    for line in path.read_text().splitlines():
        row_id = json.loads(line)["id"]
        assert rows.setdefault(row_id, line) == line
    return rows


def test_live_and_over_the_recording_an_app_gives_the_same_rows(tmp_path: Path) -> None:
    home, app = new_home(tmp_path / "home"), tmp_path / "whole.app"
    app.write_text(APP)
    live, again, replayed = (tmp_path / f"{name}.jsonl" for name in ("live", "again", "replayed"))
    with running_paper(home, "--record") as paper:
        paper.wait_for("trading on paper", 240)
        session = paper.session.session_id
        for path in (live, again):
            # ended and run again, it goes on from its snapshot
            done = run_command(home, "app", "run", str(app), "--seconds", "8", "--json", str(path), seconds=180)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "whole: " in done.stdout
        assert paper.stop(180) == 0, paper.said
    done = run_command(home, "app", "run", str(app), "--replay", session, "--json", str(replayed), seconds=180)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted, got = rows_of(replayed), rows_of(live) | rows_of(again)
    assert {json.loads(line)["stream"] for line in got.values()} == {"Spreads", "Jumps"}
    assert len(got) > 20
    assert {row_id: wanted.get(row_id) for row_id in got} == got
