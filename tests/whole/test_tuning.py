"""What a user tunes through REST acts at once, on everything, without a restart."""

from collections.abc import Iterator

import pytest

from runtime.clock import wall_now
from tests.whole.running import Running, new_home, running_paper

pytestmark = pytest.mark.whole

ABOVE_EVERYTHING = 5_000.0


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_paper(new_home(tmp_path_factory.mktemp("tuning"))) as running:
        running.wait_for("trading on paper", 240)
        yield running


def reserved_times(paper: Running) -> list[int]:
    """Server times at which the newest arbitrages were reserved, microseconds."""
    rows = paper.get("/arbitrages?limit=500")["items"]
    return [row["times"]["reserved"] for row in rows if "reserved" in row["times"]]


def below_threshold(paper: Running) -> int:
    return sum(row["count"] for row in paper.get("/rejections") if row["reason"] == "below_threshold")


def test_a_raised_threshold_stops_new_arbitrages_within_a_second_and_a_lowered_one_resumes(paper: Running) -> None:
    paper.until(lambda: len(reserved_times(paper)) >= 3, 60, "no arbitrage was reserved")
    rejected_before = below_threshold(paper)
    paper.patch_settings({"min_net_bps": ABOVE_EVERYTHING})
    raised = wall_now()
    paper.until(lambda: below_threshold(paper) > rejected_before, 20, "nothing was rejected as below_threshold")
    paper.pause(5)
    assert max(reserved_times(paper)) <= raised + 1_000_000
    paper.patch_settings({"min_net_bps": 5.0})
    lowered = wall_now()
    paper.until(lambda: max(reserved_times(paper)) > lowered, 60, "no arbitrage was reserved again")


def test_the_persistence_rule_uses_the_spread_windows(paper: Running) -> None:
    paper.patch_settings({"min_share_above_10s": 1.0})
    paper.until(
        lambda: any(row["reason"] == "not_persistent" for row in paper.get("/rejections")),
        60,
        "nothing was rejected as not_persistent",
    )
    paper.patch_settings({"min_share_above_10s": 0.0})


def test_the_kill_switch_stops_trading(paper: Running) -> None:
    paper.patch_settings({"trading_state": "halted"})
    switched = wall_now()
    paper.pause(5)
    assert all(time <= switched + 1_000_000 for time in reserved_times(paper))
    paper.patch_settings({"trading_state": "running"})
    enabled = wall_now()
    paper.until(lambda: max(reserved_times(paper)) > enabled, 60, "trading did not resume")


def test_it_stops_cleanly_with_its_books_balanced(paper: Running) -> None:
    assert paper.stop() == 0, paper.said
