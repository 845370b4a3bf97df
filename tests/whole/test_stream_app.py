"""Stream apps on a running session, alone and together: over its recording one gives the same rows with the same ids,
as does one in Spark's micro-batches, and one that reads several topics gives them over its input log."""

import json
from collections.abc import Sequence
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

KEYED = """@App:name('keyed') @App:host('structured')
partition with (exchange of quotes) begin
    from quotes#window.length(20) select exchange, base, avg(bid) as mean, count() as n
    output last every 5 events insert into Averages;
end;
"""

JOINED = """@App:name('joined')
from opportunities as o unidirectional join quotes#window.length(1) as q on o.base == q.base
select o.opportunity_id as id, q.exchange as exchange, q.bid as bid insert into Met;
from every o = opportunities -> t = trades[arbitrage_id == o.opportunity_id and state == 'reserved'] within 10 sec
select t.arbitrage_id as id insert into Taken;
from fills select exchange, side, sum(amount) as amount group by exchange, side insert into Filled;
from rejections[number == 0] select reason, count() as n group by reason insert into Refused;
"""


def rows_of(path: Path) -> dict[str, str]:
    """By id; a row that was written twice says the same."""
    rows: dict[str, str] = {}
    for line in path.read_text().splitlines():
        row_id = json.loads(line)["id"]
        assert rows.setdefault(row_id, line) == line
    return rows


def by_stream(rows: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for line in rows.values():
        row = json.loads(line)
        found.setdefault(row["stream"], []).append(row["values"])
    return found


def run_apps(home: Path, apps: Sequence[Path], out: Path, *words: str) -> dict[str, str]:
    done = run_command(home, "app", "run", *map(str, apps), "--json", str(out), *words, seconds=180)
    assert done.returncode == 0, done.stdout + done.stderr
    for app in apps:
        assert f"{app.stem}: " in done.stdout
    return rows_of(out)


def rows_by_app(rows: dict[str, str], app: Path) -> dict[str, str]:
    return {row_id: line for row_id, line in rows.items() if json.loads(line)["app"] == app.stem}


def test_apps_on_a_session_give_the_same_again(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    app, joined, keyed = (tmp_path / f"{name}.app" for name in ("whole", "joined", "keyed"))
    app.write_text(APP)
    joined.write_text(JOINED)
    keyed.write_text(KEYED)
    with running_paper(home, "--record") as paper:
        paper.wait_for("trading on paper", 240)
        session = paper.session
        got = run_apps(home, [app], tmp_path / "live.jsonl", "--seconds", "8")
        # ended and run again, now with others, one of them in another host, it goes on from its snapshot
        all_three = run_apps(home, [joined, app, keyed], tmp_path / "all.jsonl", "--seconds", "30")
        got |= rows_by_app(all_three, app)
        met, averages = rows_by_app(all_three, joined), rows_by_app(all_three, keyed)
        assert paper.stop(180) == 0, paper.said
    wanted = run_apps(home, [app], tmp_path / "replayed.jsonl", "--replay", session.session_id)
    assert {json.loads(line)["stream"] for line in got.values()} == {"Spreads", "Jumps"}
    assert len(got) > 20
    assert {row_id: wanted.get(row_id) for row_id in got} == got

    batch = run_apps(home, [keyed], tmp_path / "keyed.jsonl", "--replay", session.session_id)
    assert len(averages) > 20
    assert {row_id: batch.get(row_id) for row_id in averages} == averages

    # over its input log, which was kept, and may have more than the app came to
    logged = run_apps(home, [joined], tmp_path / "logged.jsonl", "--replay", session.session_id)
    assert by_stream(logged).keys() == {"Met", "Taken", "Filled", "Refused"}
    assert len(met) > 20
    assert {row_id: logged.get(row_id) for row_id in met} == met
