"""Dry runs are queued, run one at a time, cancelled, and taken up again by the next dashboard."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ui.waiting import until
from ui.apps.dry_runs import MOST_WAITING, DryRuns, DryRunsFullError

DONE = "import sys, pathlib; pathlib.Path(sys.argv[1], 'result.json').write_text('{\"row_count\": 3}')"
FAILED = "import sys; sys.exit('the app keeps too much.')"
ENDLESS = "import sys; sys.stdin.read()"


def runs(home: Path, script: str) -> DryRuns:
    return DryRuns(home, (sys.executable, "-c", script))


async def ended(dry_runs: DryRuns, run_id: str) -> dict[str, Any]:
    await until(lambda: dry_runs.view(run_id)["state"] not in ("queued", "running"))
    return dry_runs.view(run_id)


@pytest.mark.parametrize(
    ("script", "expected"),
    [(DONE, {"state": "done", "row_count": 3}), (FAILED, {"state": "failed", "reason": "the app keeps too much."})],
)
async def test_a_run_ends_with_its_result_or_a_sentence(
    tmp_path: Path, script: str, expected: dict[str, object]
) -> None:
    dry_runs = runs(tmp_path, script)
    found = await ended(dry_runs, dry_runs.ask({"text": ""}, "writer")["id"])
    assert {name: found[name] for name in expected} == expected
    assert found["who"] == "writer"
    await dry_runs.close()


async def test_a_run_whose_process_does_not_start_fails_and_the_next_has_its_turn(tmp_path: Path) -> None:
    dry_runs = DryRuns(tmp_path, (str(tmp_path / "absent"),))
    for run_id in [dry_runs.ask({}, "writer")["id"] for _ in range(2)]:
        found = await ended(dry_runs, run_id)
        assert (found["state"], found["reason"]) == ("failed", "its process did not start: No such file or directory")
    await dry_runs.close()


async def test_the_queue_has_an_end_and_each_run_can_be_cancelled(tmp_path: Path) -> None:
    dry_runs = runs(tmp_path, ENDLESS)
    first = dry_runs.ask({}, "writer")["id"]
    await until(lambda: dry_runs.view(first)["state"] == "running")
    waiting = [dry_runs.ask({}, "writer")["id"] for _ in range(MOST_WAITING)]
    with pytest.raises(DryRunsFullError):
        dry_runs.ask({}, "writer")
    for run_id in (*waiting, first):
        cancelled = await dry_runs.end(run_id)
        assert cancelled is not None
        assert cancelled["state"] == "cancelled"
    assert await dry_runs.end(first) is None
    for unknown in (first, "..", "x" * 32, "../" * 11, "é" * 32):
        with pytest.raises(KeyError):
            dry_runs.view(unknown)
    await dry_runs.close()


async def test_the_next_dashboard_takes_up_what_one_left(tmp_path: Path) -> None:
    before = runs(tmp_path, ENDLESS)
    first, second = (before.ask({}, "writer")["id"] for _ in range(2))
    await until(lambda: before.view(first)["state"] == "running")
    await before.close()
    after = runs(tmp_path, DONE)
    after.begin()
    found = await asyncio.gather(ended(after, first), ended(after, second))
    assert [(one["state"], one["attempts"]) for one in found] == [("done", 2), ("done", 1)]
    await after.close()
