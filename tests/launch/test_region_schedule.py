"""The schedule with regions is a function of its seed, keeps a majority together, and heals what it cuts."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.chaos.regions.faults import ClockFault, LinkFault, RegionKill
from launch.chaos.regions.majority_outages import (
    BACK_SECONDS,
    REJOIN_SECONDS,
    MemberOutage,
    longest_without_majority,
    outage_of,
    without_long_outages,
)
from launch.chaos.regions.schedule import HEALED_BEFORE_END, MOST_WITHOUT_MAJORITY, region_schedule_of
from launch.chaos.schedule import InjectedFault, InjectedSetting, Injection, Kill, KillAtOrder, Pause, schedule_of
from launch.regions.network.link_commands import parsed_change
from launch.regions.network.links import links_of

SERVICES = ("kafka", "mongodb", "mirror", "publisher", "cep", "ui")
PARTS = {
    "us": (*SERVICES, "feed-kraken", "bot-kraken", "bot-kraken-2"),
    "eu": (*SERVICES, "feed-bitstamp", "bot-bitstamp", "bot-bitstamp-2"),
    "jp": (*SERVICES, "feed-bitflyer", "bot-bitflyer", "bot-bitflyer-2"),
}
REGIONS = tuple(PARTS)
EXCHANGES = ("kraken", "bitstamp", "bitflyer")
SEEDS = range(1, 11)
SECONDS = 180.0


def schedule(seed: int, seconds: float = SECONDS) -> tuple[Injection, ...]:
    return region_schedule_of(seed, seconds, PARTS, EXCHANGES)


def link_faults(injections: tuple[Injection, ...]) -> list[LinkFault]:
    return [one for one in injections if isinstance(one, LinkFault)]


def clock_faults(injections: tuple[Injection, ...]) -> list[ClockFault]:
    return [one for one in injections if isinstance(one, ClockFault)]


def test_a_seed_gives_the_same_faults_each_time_and_another_seed_others() -> None:
    assert schedule(7) == schedule(7)
    assert link_faults(schedule(7)) != link_faults(schedule(8))


def test_ten_seeds_have_every_fault_of_regions() -> None:
    kinds = {injection.kind for seed in SEEDS for injection in schedule(seed)}
    assert kinds >= {
        "cut of a region",
        "cut of one way",
        "cut of a link",
        "loss of a link",
        "delay of a link",
        "skew of a clock",
        "kill region",
        "kill bots of a region",
        *(f"kill {name}" for name in ("mongodb", "kafka", "mirror", "cep python", "cep jvm", "ui", "bot")),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_three_minutes_cut_regions_apart_and_kill_their_processes(seed: int) -> None:
    injections = schedule(seed)
    assert [one.at for one in injections] == sorted(one.at for one in injections)
    assert sum(one.verb == "cut" for one in link_faults(injections)) >= 3
    assert {"kill mirror", "kill mongodb", "kill bots of a region"} <= {one.kind for one in injections}


def test_all_other_faults_are_those_of_a_run_without_regions() -> None:
    bots = [name for own in PARTS.values() for name in own if name.startswith("bot")]
    kinds = InjectedFault | InjectedSetting | KillAtOrder
    without = schedule_of(5, SECONDS, EXCHANGES, bots)
    assert [one for one in schedule(5) if isinstance(one, kinds)] == [one for one in without if isinstance(one, kinds)]


def test_each_process_is_hit_in_a_region_that_has_it() -> None:
    hit = [one for one in schedule(1, 3_600) if isinstance(one, Kill | Pause)]
    assert all(one.region is not None and one.process in PARTS[one.region] for one in hit)
    assert {one.region for one in hit if one.process == "mongodb"} == set(REGIONS)
    assert {one.process for one in hit} == {name for own in PARTS.values() for name in own}


def test_of_a_region_that_only_votes_mongod_alone_is_hit() -> None:
    parts = {**PARTS, "jp": ("mongodb",)}
    hit = region_schedule_of(2, 1_800, parts, EXCHANGES[:2])
    assert {one.process for one in hit if isinstance(one, Kill | Pause) and one.region == "jp"} == {"mongodb"}
    assert not any(one.bots_alone and one.region == "jp" for one in hit if isinstance(one, RegionKill))
    assert any("jp" in one.regions for one in link_faults(hit))


def test_without_links_that_can_be_changed_none_is() -> None:
    hit = region_schedule_of(2, SECONDS, PARTS, EXCHANGES, has_links=False)
    assert (link_faults(hit), clock_faults(hit)) == ([], [])
    assert any(isinstance(one, RegionKill) for one in hit)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_link_is_as_at_first_before_the_next_fault_and_before_the_end(seed: int) -> None:
    faults = link_faults(schedule(seed))
    for fault, following in pairwise(faults):
        assert fault.at + fault.seconds < following.at
    assert faults[-1].at + faults[-1].seconds <= SECONDS - HEALED_BEFORE_END
    first = links_of(REGIONS)
    for fault in faults:
        broken = first.changed(parsed_change(fault.command, REGIONS))
        assert broken != first, fault.command
        assert broken.changed(parsed_change(fault.healing, REGIONS)) == first, fault.healing


@pytest.mark.parametrize("seed", SEEDS)
def test_one_clock_at_a_time_is_off_and_right_before_the_end(seed: int) -> None:
    faults = clock_faults(schedule(seed))
    for fault, following in pairwise(faults):
        assert fault.at + fault.seconds < following.at
    for fault in faults:
        assert fault.at + fault.seconds <= SECONDS - HEALED_BEFORE_END
        for command, skew in ((fault.command, round(fault.skew * 1_000_000)), (fault.healing, 0)):
            change = parsed_change(command, REGIONS)
            assert (change.kind, change.clocks, change.skew) == ("skew", (fault.region,), skew)


def test_a_region_alone_has_no_links() -> None:
    assert link_faults(region_schedule_of(1, SECONDS, {"us": PARTS["us"]}, EXCHANGES[:1])) == []


def test_a_run_that_is_too_short_to_heal_has_no_fault_of_links() -> None:
    assert link_faults(schedule(1, HEALED_BEFORE_END)) == []


@given(st.integers(0, 2**32), st.integers(20, 200))
def test_two_regions_are_never_lost_or_cut_together_for_long(seed: int, seconds: int) -> None:
    """Checked every tenth of a second: which of the three pairs of members are connected."""
    outages = [found for one in schedule(seed, seconds) if (found := outage_of(one)) is not None]
    apart = longest = 0
    for tenth in range(10 * seconds + 400):
        broken = [one.regions for one in outages if one.since < (tenth + 0.5) / 10 < one.until]
        pairs = [pair for pair in combinations(REGIONS, 2) if not any(one <= set(pair) for one in broken)]
        apart = 0 if pairs else apart + 1
        longest = max(longest, apart)
    assert longest / 10 <= MOST_WITHOUT_MAJORITY + 0.1


ALONE = frozenset({"us"})


@pytest.mark.parametrize(
    ("injection", "outage"),
    [
        (LinkFault(1.0, "cut", "us", 8.0), MemberOutage(1.0, 9.0 + REJOIN_SECONDS, ALONE)),
        (LinkFault(1.0, "cut", "us to eu", 8.0), MemberOutage(1.0, 9.0 + REJOIN_SECONDS, frozenset({"us", "eu"}))),
        (LinkFault(1.0, "cut", "us eu", 8.0), MemberOutage(1.0, 9.0 + REJOIN_SECONDS, frozenset({"us", "eu"}))),
        (LinkFault(1.0, "loss", "us", 8.0, 5.0), None),
        (LinkFault(1.0, "delay", "us eu", 8.0, 900), None),
        (RegionKill(1.0, "us"), MemberOutage(1.0, 1.0 + BACK_SECONDS, ALONE)),
        (RegionKill(1.0, "us", bots_alone=True), None),
        (Kill(1.0, "mongodb", region="us"), MemberOutage(1.0, 1.0 + BACK_SECONDS, ALONE)),
        (Pause(1.0, "mongodb", 4.0, "us"), MemberOutage(1.0, 5.0 + REJOIN_SECONDS, ALONE)),
        (Kill(1.0, "kafka", region="us"), None),
    ],
)
def test_what_takes_a_member_from_the_others(injection: Injection, outage: MemberOutage | None) -> None:
    assert outage_of(injection) == outage


@pytest.mark.parametrize(
    ("outages", "seconds"),
    [
        ((), 0),
        (((("us",), 0, 10), (("us",), 5, 15)), 0),
        # us until 10, eu from 8
        (((("us",), 0, 10), (("eu",), 8, 20)), 2),
        # eu and jp cannot vote together while us is away
        (((("us",), 0, 10), (("eu", "jp"), 3, 9)), 6),
        # us reaches both
        (((("eu", "jp"), 0, 10),), 0),
        # us and eu still reach each other
        (((("eu", "jp"), 0, 10), (("us", "jp"), 0, 10)), 0),
        (((("eu", "jp"), 0, 10), (("us", "jp"), 0, 10), (("us", "eu"), 4, 6)), 2),
        # two times in a row are one if no moment is between
        (((("us",), 0, 10), (("eu",), 2, 5), (("jp",), 5, 9)), 7),
        (((("us",), 0, 10), (("eu",), 2, 5), (("jp",), 6, 9)), 3),
    ],
)
def test_the_longest_time_without_a_majority(
    outages: tuple[tuple[tuple[str, ...], float, float], ...], seconds: float
) -> None:
    known = [MemberOutage(since, until, frozenset(regions)) for regions, since, until in outages]
    assert longest_without_majority(known, REGIONS) == seconds


def test_half_of_the_regions_are_no_majority() -> None:
    both = [MemberOutage(0, 10, frozenset({region})) for region in ("us", "eu")]
    assert longest_without_majority(both, (*REGIONS, "br")) == 10
    assert longest_without_majority(both, (*REGIONS, "br", "in")) == 0


def test_what_would_take_the_majority_away_for_longer_is_left_out() -> None:
    first, other = RegionKill(1.0, "us"), RegionKill(1.0 + BACK_SECONDS - 5, "eu")
    early, harmless = RegionKill(2.0, "jp"), Kill(3.0, "kafka", region="jp")
    assert list(without_long_outages([first, early, harmless, other], REGIONS, 5.0)) == [first, harmless, other]
    assert list(without_long_outages([first, other], REGIONS, 4.9)) == [first]
