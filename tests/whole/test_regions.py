"""Two regions that trade and a third that votes, over links with delays: a region is cut off, and healed."""

import json
from collections.abc import Iterator

import pytest

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.whole.running import ours_running
from tests.whole.running_regions import RunningRegions, running_regions

pytestmark = pytest.mark.whole

EXCHANGES = ("coinbaseexchange", "kraken", "bitstamp")
"""Two in the region us, the third in eu."""
FAR = "bitstamp"
IN_REGION: dict[str | None, tuple[str, ...]] = {"us": EXCHANGES[:2], "eu": EXCHANGES[2:]}
SETTLED = 3 * MICROSECONDS
"""After a cut: the longest that a grant is in force, and that a bot trusts what it knows."""


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegions]:
    out = tmp_path_factory.mktemp("regions")
    with running_regions(out, EXCHANGES, "--json", str(out / "out.json")) as running:
        yield running


def test_both_regions_trade_with_each_other(regions: RunningRegions) -> None:
    regions.until(lambda: regions.closed_at(FAR, 0) > 0, 120, "no arbitrage across regions was closed")
    regions.until(lambda: regions.decider() in IN_REGION.get(regions.leader(), ()), 60, "the leader does not decide")


def test_a_region_that_is_cut_off_opens_nothing_and_trades_again_once_healed(regions: RunningRegions) -> None:
    # the one with two exchanges goes on; the other way round is tested among the long forms
    regions.make_leader("us")
    regions.region("cut", "eu")
    cut_at = wall_now()
    before = len(regions.orders_at("kraken"))
    regions.until(lambda: len(regions.orders_at("kraken")) > before, 120, "the others did not go on")
    regions.until(lambda: wall_now() - cut_at > 2 * SETTLED, 30, "the clock stood still")
    assert [moment for moment in regions.orders_at(FAR) if moment > cut_at + SETTLED] == []
    regions.region("heal")
    healed_at = wall_now()
    regions.until(lambda: regions.closed_at(FAR, healed_at) > 0, 120, "it did not trade again")


def test_it_ends_with_the_books_of_all_regions_reconciled(regions: RunningRegions) -> None:
    assert regions.stop(180) == 0, regions.said
    document = json.loads((regions.home / "out.json").read_text())
    assert document["balanced"] is True
    assert document["arbitrages"]["closed"] > 0
    assert ours_running(regions.home) == []
