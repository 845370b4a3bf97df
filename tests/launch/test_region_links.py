"""The model of links, its commands, and when packets arrive."""

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.regions.network.link_commands import LinkCommandError, parsed_change
from launch.regions.network.links import FREE, OBSERVER, Direction, LinkChange, LinkRule, RegionLinks, links_of
from launch.regions.network.packet_schedule import MOST_BYTES, LinkCounts, PacketSchedule

REGIONS = ("us", "eu", "jp")
WAYS = tuple(permutations(REGIONS, 2))
JP = (("us", "jp"), ("eu", "jp"), ("jp", "us"), ("jp", "eu"))


def links(*commands: str) -> RegionLinks:
    found = links_of(REGIONS)
    for command in commands:
        found = found.changed(parsed_change(command, REGIONS))
    return found


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("cut jp", LinkChange("cut", JP)),
        ("  cut   us eu ", LinkChange("cut", (("us", "eu"), ("eu", "us")))),
        ("cut us>eu", LinkChange("cut", (("us", "eu"),))),
        ("cut us > eu", LinkChange("cut", (("us", "eu"),))),
        ("cut us to eu", LinkChange("cut", (("us", "eu"),))),
        ("loss jp 2", LinkChange("loss", JP, loss=0.02)),
        ("loss us eu 100", LinkChange("loss", (("us", "eu"), ("eu", "us")), loss=1.0)),
        ("loss us>jp 0.5", LinkChange("loss", (("us", "jp"),), loss=0.005)),
        ("delay us jp 300", LinkChange("delay", (("us", "jp"), ("jp", "us")), delay=150_000)),
        ("delay us to jp 300", LinkChange("delay", (("us", "jp"),), delay=300_000)),
        ("delay jp 0", LinkChange("delay", JP)),
        ("skew eu +2s", LinkChange("skew", clocks=("eu",), skew=2_000_000)),
        ("skew eu -500ms", LinkChange("skew", clocks=("eu",), skew=-500_000)),
        ("skew eu 0.25", LinkChange("skew", clocks=("eu",), skew=250_000)),
        ("skew us -10s", LinkChange("skew", clocks=("us",), skew=-10_000_000)),
        ("heal", LinkChange("heal", WAYS, clocks=REGIONS)),
        ("heal jp", LinkChange("heal", JP, clocks=("jp",))),
        ("heal us>eu", LinkChange("heal", (("us", "eu"),))),
        ("state", LinkChange("state")),
    ],
)
def test_a_command_is_parsed(line: str, change: LinkChange) -> None:
    found = parsed_change(line, REGIONS)
    assert (found.kind, set(found.ways)) == (change.kind, set(change.ways))
    assert (found.delay, found.loss) == (change.delay, change.loss)
    assert (found.clocks, found.skew) == (change.clocks, change.skew)


KINDS = "cut, loss, delay, skew, heal, state or kill"

A_TIME = "a time of up to 10 s, as in +2s or -500ms"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", f"the command is empty; write {KINDS}."),
        ("  ", f"the command is empty; write {KINDS}."),
        ("cutt jp", f"column 1: there is no command 'cutt' (did you mean cut?); write {KINDS}."),
        ("> jp", f"column 1: there is no command '>'; write {KINDS}."),
        ("kil jp", f"column 1: there is no command 'kil' (did you mean kill?); write {KINDS}."),
        (
            " kill jp",
            "column 2: links cannot be killed, only processes; write it alone, as in arbitrage region kill us.",
        ),
        ("cut", "column 5: cut needs a region here; write us, eu or jp."),
        ("cut jq", "column 5: there is no region 'jq'; write us, eu or jp."),
        (f"cut {OBSERVER}", "column 5: there is no region 'observer'; write us, eu or jp."),
        ("cut us>", "column 9: cut needs a region here; write eu or jp."),
        ("cut us>mars", "column 8: there is no region 'mars'; write eu or jp."),
        ("cut us us", "column 8: us has no link to itself; write eu or jp, or us alone."),
        ("cut us eu jp", "column 11: 'jp' is one word too many for cut; leave it out."),
        ("cut us 3", "column 8: '3' is one word too many for cut; leave it out."),
        ("state us", "column 7: 'us' is one word too many for state; leave it out."),
        ("loss eu", "column 9: loss needs a number of percent here, from 0 to 100."),
        (
            "loss eu 101",
            "column 9: '101' is no number of percent from 0 to 100 with at most three decimals; write one.",
        ),
        ("loss eu 2%", "column 9: '2%' is no number of percent from 0 to 100 with at most three decimals; write one."),
        ("loss eu -1", "column 9: '-1' is no number of percent from 0 to 100 with at most three decimals; write one."),
        ("loss eu 2 3", "column 11: '3' is one word too many for loss; leave it out."),
        (
            "loss us eu two",
            "column 12: 'two' is no number of percent from 0 to 100 with at most three decimals; write one.",
        ),
        ("skew", "column 6: skew needs a region here; write us, eu or jp."),
        ("skew eu", f"column 9: skew needs {A_TIME} here; 0 is right again."),
        ("skew eu soon", f"column 9: 'soon' is not {A_TIME}; write one."),
        ("skew eu +11s", f"column 9: '+11s' is not {A_TIME}; write one."),
        ("skew eu 10001ms", f"column 9: '10001ms' is not {A_TIME}; write one."),
        ("skew eu jp", f"column 9: 'jp' is not {A_TIME}; write one."),
        ("skew eu +2s now", "column 13: 'now' is one word too many for skew; leave it out."),
        ("delay us jp", "column 13: delay needs a number of milliseconds of round trip here, from 0 to 60,000."),
        ("delay us>jp", "column 13: delay needs a number of milliseconds here, from 0 to 60,000."),
        (
            "delay us jp 60001",
            "column 13: '60001' is no number of milliseconds of round trip from 0 to 60,000 with at most three "
            "decimals; write one.",
        ),
    ],
)
def test_a_mistake_is_one_sentence(line: str, sentence: str) -> None:
    with pytest.raises(LinkCommandError) as raised:
        parsed_change(line, REGIONS)
    assert str(raised.value) == sentence


@given(st.text(alphabet="cutlosdeaykwmh >tje.-+0123456789\t\nup", max_size=30))
def test_whatever_is_typed_is_a_command_or_a_mistake(line: str) -> None:
    try:
        change = parsed_change(line, REGIONS)
    except LinkCommandError:
        return
    assert set(change.ways) <= set(WAYS)
    assert abs(change.skew) <= 10_000_000


def test_commands_add_up_and_healing_goes_back_to_the_start() -> None:
    changed = links("cut us>eu", "loss us eu 2", "delay us jp 301")
    assert changed.rule(("us", "eu")) == LinkRule(40_000, 0.02, is_cut=True)
    assert changed.rule(("eu", "us")) == LinkRule(40_000, 0.02)
    assert changed.rule(("jp", "us")) == LinkRule(150_500)
    assert changed.rule(("us", OBSERVER)) == FREE
    healed = changed.changed(parsed_change("heal us>eu", REGIONS))
    assert healed.rule(("us", "eu")) == LinkRule(40_000)
    assert healed.rule(("eu", "us")) == LinkRule(40_000, 0.02)
    assert changed.changed(parsed_change("heal", REGIONS)).rules == links().rules


@pytest.mark.parametrize("names", [("us", "us"), ("us", "to"), (OBSERVER,)])
def test_names_that_commands_could_not_mean_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a region"):
        links_of(names)


def test_regions_without_a_known_distance_have_one() -> None:
    assert links_of(("us", "br")).rule(("us", "br")) == LinkRule(75_000)


Step = tuple[int, Direction] | str
steps = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 200_000), st.sampled_from(WAYS)),
        st.sampled_from(["cut jp", "cut us>eu", "loss eu 30", "delay us jp 20", "delay us>eu 400", "heal", "heal jp"]),
    ),
    max_size=60,
)


@given(steps, st.integers(0, 5))
def test_packets_keep_their_order_are_as_late_as_said_and_none_passes_a_cut(script: list[Step], seed: int) -> None:
    """A step is a packet after so many microseconds, or a command."""
    now, schedule = 0, PacketSchedule(links(), seed)
    said: dict[bytes, tuple[Direction, int, int]] = {}
    arrived: list[tuple[Direction, bytes, int]] = []
    for number, step in enumerate(script):
        if isinstance(step, str):
            schedule.change(schedule.links.changed(parsed_change(step, REGIONS)))
            continue
        now += step[0]
        for way, packet in schedule.due(now):
            assert not schedule.links.rule(way).is_cut
            arrived.append((way, packet, now))
        packet, rule = number.to_bytes(2, "big"), schedule.links.rule(step[1])
        due = schedule.take(packet, *step[1], now)
        assert due is not None or rule.is_cut or rule.loss > 0
        if due is not None:
            assert due >= now + rule.delay
            said[packet] = (step[1], due, number)
    arrived += [(way, packet, 10**12) for way, packet in schedule.due(10**12)]
    assert schedule.next_due() is None
    for way, packet, when in arrived:
        assert said[packet][0] == way
        assert said[packet][1] <= when
    for way in WAYS:
        order = [said[packet][1:] for one, packet, _ in arrived if one == way]
        assert all(due <= next_due and sent < next_sent for (due, sent), (next_due, next_sent) in pairwise(order))
    taken = sum(not isinstance(step, str) for step in script)
    counts = [schedule.counts(way) for way in WAYS]
    assert sum(one.carried for one in counts) == len(arrived)
    assert sum(one.carried + one.dropped for one in counts) == taken
    assert sum(one.under_way for one in counts) == 0


def test_a_cut_loses_what_is_under_way_in_its_direction_alone() -> None:
    schedule = PacketSchedule(links(), 1)
    assert schedule.take(b"a", "us", "eu", 0) == 40_000
    assert schedule.take(b"b", "eu", "us", 1) == 40_001
    assert schedule.next_due() == 40_000
    schedule.change(links("cut us>eu"))
    schedule.change(links())
    assert schedule.next_due() == 40_001
    assert list(schedule.due(40_000)) == []
    assert list(schedule.due(40_001)) == [(("eu", "us"), b"b")]
    assert schedule.counts(("us", "eu")) == LinkCounts(carried=0, dropped=1)
    assert schedule.counts(("eu", "us")) == LinkCounts(carried=1)


def test_a_shorter_delay_lets_nobody_overtake() -> None:
    schedule = PacketSchedule(links("delay us eu 1000"), 1)
    assert schedule.take(b"a", "us", "eu", 0) == 500_000
    schedule.change(links())
    assert schedule.take(b"b", "us", "eu", 1) == 500_000
    assert schedule.take(b"c", "us", "eu", 470_000) == 510_000


def lost(seed: int, disturbed: bool = False) -> list[bool]:
    schedule = PacketSchedule(links("loss us eu 30"), seed)
    found = []
    for number in range(1_000):
        found.append(schedule.take(b"a", "us", "eu", number) is None)
        if disturbed:
            schedule.take(b"b", "eu", "us", number)
    return found


def test_a_seed_loses_the_same_packets_whatever_goes_the_other_way() -> None:
    assert lost(1) == lost(1, disturbed=True)
    assert lost(1) != lost(2)
    # thirty percent of a thousand, within five standard deviations
    assert 228 <= sum(lost(1)) <= 372


def test_a_full_direction_loses_what_comes_on_top() -> None:
    schedule = PacketSchedule(links(), 1)
    assert schedule.take(bytes(MOST_BYTES), "us", "eu", 0) is not None
    assert schedule.take(b"a", "us", "eu", 1) is None
    assert schedule.take(b"a", "eu", "us", 1) is not None
    assert [len(packet) for _, packet in schedule.due(40_000)] == [MOST_BYTES]
    assert schedule.take(b"a", "us", "eu", 40_000) is not None
