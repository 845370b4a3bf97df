"""The long form: five minutes of trading; nothing grows, nothing restarts, every profit is the change of balances."""

import json
from pathlib import Path

import psutil
import pytest

from tests.whole.exchange_books import (
    assert_profits_are_the_change_of_balances,
    assert_times_are_in_order,
    journals_of,
    reported_at_the_end,
)
from tests.whole.running import Running, new_home, running_paper

pytestmark = pytest.mark.soak

SECONDS = 300
WARM_UP_SECONDS = 90
GROWTH_BYTES = 150 * 1024**2


def memory_of_all(paper: Running) -> dict[str, int]:
    """Resident bytes of each part's process group."""
    groups = json.loads((paper.home / "processes.json").read_text())
    return {
        name: sum(
            process.memory_info().rss
            for process in (psutil.Process(group), *psutil.Process(group).children(recursive=True))
        )
        for name, (group, _) in groups.items()
    }


def test_five_minutes_of_trading(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    out = home / "out.json"
    with running_paper(home, "--seconds", str(SECONDS), "--json", str(out)) as paper:
        paper.wait_for("trading on paper", 240)
        paper.pause(WARM_UP_SECONDS)
        warm = memory_of_all(paper)
        paper.pause(SECONDS - WARM_UP_SECONDS - 20)
        late = memory_of_all(paper)
        reported = reported_at_the_end(paper)
        assert paper.process.wait(timeout=120) == 0, paper.said
    summary = json.loads(out.read_text())
    assert summary["balanced"] is True
    assert summary["restarts"] == {}
    assert summary["arbitrages"]["closed"] >= 5 * SECONDS / 60
    traded = assert_profits_are_the_change_of_balances(reported, journals_of(home), summary)
    assert traded >= summary["arbitrages"]["closed"]
    assert_times_are_in_order(reported)
    grown = {name: late[name] - warm[name] for name in warm if late[name] - warm[name] > GROWTH_BYTES}
    assert grown == {}, f"{warm} → {late}"
