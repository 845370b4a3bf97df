"""Three regions, and each fault that they must outlive: the long form."""

import json
import os
import signal
from collections.abc import Iterator

import pytest

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.whole.running import Running, ours_running
from tests.whole.running_regions import RunningRegions, running_regions

pytestmark = [pytest.mark.whole, pytest.mark.soak]

EXCHANGES = ("coinbaseexchange", "kraken", "bitstamp", "bitflyer")
REGION_OF = {"coinbaseexchange": "us", "kraken": "us", "bitstamp": "eu", "bitflyer": "jp"}
IN_REGION = {"us": "kraken", "eu": "bitstamp", "jp": "bitflyer"}
SETTLED = 3 * MICROSECONDS
"""After a cut: the longest that a grant is in force, and that a bot trusts what it knows."""
LONG = 180


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegions]:
    out = tmp_path_factory.mktemp("regions")
    # in a storm bitFlyer's limit of five minutes is used up after two, and then nothing is traded there for three
    with running_regions(out, EXCHANGES, "--json", str(out / "out.json"), market="busy") as running:
        yield running


@pytest.fixture
def trades_everywhere(regions: RunningRegions) -> Iterator[None]:
    """Whatever a test breaks is healed, and then every region trades again."""
    yield
    regions.region("heal")
    healed_at = wall_now()
    for exchange in IN_REGION.values():
        regions.until(lambda: regions.closed_at(exchange, healed_at) > 0, LONG, f"{exchange} did not trade again")  # noqa: B023


def killed(regions: RunningRegions, region: str, part: str) -> None:
    """kill -9; done once another process of the part is there."""
    there = Running(regions.home_of(region), regions.port, regions.process)
    before = there.process_of(part)
    os.kill(before, signal.SIGKILL)
    regions.until(lambda: there.is_started_again(part, before), 60, f"{region}/{part} was not started again")


def leader_of(regions: RunningRegions) -> str:
    """Once there is one."""
    found: list[str] = []

    def is_there() -> bool:
        found.extend(filter(None, [regions.leader()]))
        return bool(found)

    regions.until(is_there, 60, "no region has MongoDB's primary")
    return found[0]


def decided_elsewhere(regions: RunningRegions, region: str) -> bool:
    decider = regions.decider()
    return decider is not None and REGION_OF[decider] != region


def test_all_three_regions_trade(regions: RunningRegions) -> None:
    for exchange in IN_REGION.values():
        regions.until(lambda: regions.closed_at(exchange, 0) > 0, LONG, f"{exchange} did not trade")  # noqa: B023


@pytest.mark.usefixtures("trades_everywhere")
def test_a_minority_that_is_cut_off_sends_nothing(regions: RunningRegions) -> None:
    regions.region("cut", "jp")
    cut_at = wall_now()
    regions.until(lambda: wall_now() - cut_at > 3 * SETTLED, 30, "the clock stood still")
    assert [moment for moment in regions.orders_at("bitflyer") if moment > cut_at + SETTLED] == []


@pytest.mark.usefixtures("trades_everywhere")
def test_where_the_leaders_region_is_cut_off_another_decides(regions: RunningRegions) -> None:
    leader = leader_of(regions)
    regions.region("cut", leader)
    cut_at = wall_now()
    regions.until(lambda: decided_elsewhere(regions, leader), 60, "nobody else decides")
    # so that there is a time in which an order would be one too many
    regions.until(lambda: wall_now() - cut_at > 4 * SETTLED, 60, "the clock stood still")
    for exchange in (name for name, region in REGION_OF.items() if region == leader):
        assert [moment for moment in regions.orders_at(exchange) if moment > cut_at + 2 * SETTLED] == []


@pytest.mark.usefixtures("trades_everywhere")
def test_a_cut_in_one_direction_alone_leaves_one_leader(regions: RunningRegions) -> None:
    """us and eu both reach jp, so either could have a majority: one has, and trading goes on with it. It is us, which
    has the rates of EUR and JPY: without them eu has nothing to trade with jp."""
    regions.make_leader("us")
    regions.region("cut", "us>eu")
    cut_at = wall_now()
    regions.until(lambda: wall_now() - cut_at > 5 * SETTLED, 60, "the clock stood still")
    regions.until(lambda: regions.decider() is not None, 60, "nobody decides")
    regions.until(lambda: regions.closed_since(cut_at + 2 * SETTLED) > 0, LONG, "nothing was traded in the cut")
    assert regions.takeovers_ignored() == []


@pytest.mark.usefixtures("trades_everywhere")
def test_a_region_whose_clock_is_ahead_is_not_traded_with_until_it_is_right(regions: RunningRegions) -> None:
    """Its quotes are from the future, so nobody knows how old they are; the books stay right throughout."""
    regions.region("skew", "jp", "+3s")
    skewed_at = wall_now()
    regions.until(lambda: regions.closed_since(skewed_at + SETTLED) > 0, LONG, "the others did not trade on")
    assert regions.closed_at("bitflyer", skewed_at + SETTLED) == 0
    assert regions.takeovers_ignored() == []


@pytest.mark.usefixtures("trades_everywhere")
@pytest.mark.parametrize("part", ["mirror", "kafka", "cep", "mongodb", "ui"])
def test_a_part_that_is_killed_comes_back(regions: RunningRegions, part: str) -> None:
    killed(regions, "eu", part)


@pytest.mark.usefixtures("trades_everywhere")
def test_where_the_leaders_mongodb_is_killed_somebody_decides_again(regions: RunningRegions) -> None:
    """Started again within the election timeout, it may be elected again."""
    killed(regions, leader_of(regions), "mongodb")
    regions.until(lambda: regions.decider() is not None, 60, "nobody decides")


def test_at_the_end_all_books_agree_and_no_rule_was_broken(regions: RunningRegions) -> None:
    session = regions.session
    regions.switch_regional("reduce_only")
    regions.until(lambda: not regions.open_arbitrages(), 60, "an arbitrage stayed open")
    # balances are reported once more when the session ends, which compares them itself
    assert [one for one in regions.violations() if one.kind != "balance_missing"] == []
    assert regions.stop(180) == 0, regions.said
    document = json.loads((regions.home / "out.json").read_text())
    assert document["balanced"] is True
    assert [exchange for exchange in session.exchanges if not document["quotes"][exchange]] == []
    assert ours_running(regions.home) == []
