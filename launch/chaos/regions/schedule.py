"""The schedule of a chaos run with regions: the faults of any run, each in a region, and those of regions. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from random import Random

from launch.chaos.regions.faults import ClockFault, LinkFault, LinkVerb, RegionKill
from launch.chaos.regions.majority_outages import without_long_outages
from launch.chaos.schedule import Injection, Kill, Pause, drawn_between, moments, role_of, schedule_of, seeded

LINK_EVERY = 20.0
"""One fault of links at a time: healing takes a link back to its start, whoever changed it."""
REGION_KILL_EVERY = 75.0
BOTS_KILL_EVERY = 50.0
MIRROR_KILL_EVERY = 45.0
SKEW_EVERY = 60.0
MOST_WITHOUT_MAJORITY = 5.0
"""Seconds; about what an election takes anyway. With more, a run could pass in which nothing was traded."""
HEALED_BEFORE_END = 10.0
"""Last seconds of a run, in which all links are healed and no region is killed any more."""

_FAULT_SECONDS = (6.0, 14.0)
"""Longer than an election, so that another region decides meanwhile."""
_LOSS_PERCENT = (1.0, 10.0)
_DELAY_MS = (300.0, 1_500.0)
_SKEW_SECONDS = (0.5, 3.0)
_LINK_FAULTS: tuple[tuple[LinkVerb, str], ...] = (
    ("cut", "region"),
    ("cut", "region"),
    ("cut", "one way"),
    ("cut", "one way"),
    ("cut", "link"),
    ("loss", "region"),
    ("delay", "link"),
)


def region_schedule_of(
    seed: int,
    seconds: float,
    parts: Mapping[str, Sequence[str]],
    exchanges: Sequence[str],
    *,
    has_links: bool = True,
) -> tuple[Injection, ...]:
    """Return all injected faults of a run of `seconds`, by time. `parts`: region → the processes of its supervisor,
    each with the name it has there; bots and feeds are in one region each. Without `has_links` no links can be changed.
    """
    bots = [name for own in parts.values() for name in own if role_of(name) == "bot"]
    injections: list[Injection] = [
        *_placed(seed, schedule_of(seed, seconds, exchanges, bots), parts),
        *_mirror_kills(seed, seconds, parts),
        *_region_kills(seed, seconds, parts),
        *(_link_faults(seed, seconds, tuple(parts)) if has_links and len(parts) > 1 else ()),
        *(_clock_faults(seed, seconds, parts) if has_links else ()),
    ]
    by_time = sorted(injections, key=lambda one: (one.at, one.description))
    return tuple(without_long_outages(by_time, tuple(parts), MOST_WITHOUT_MAJORITY))


def _placed(seed: int, injections: Sequence[Injection], parts: Mapping[str, Sequence[str]]) -> Iterator[Injection]:
    """Place kills and pauses each in a region that has the process; leave out those that no region has."""
    draws: dict[str, Random] = {}
    for injection in injections:
        if not isinstance(injection, Kill | Pause):
            yield injection
        elif homes := [region for region, own in parts.items() if injection.process in own]:
            draw = draws.setdefault(injection.kind, seeded(seed, f"region of {injection.kind}"))
            yield replace(injection, region=draw.choice(homes))


def _mirror_kills(seed: int, seconds: float, parts: Mapping[str, Sequence[str]]) -> Iterator[Kill]:
    random = seeded(seed, "kill mirror")
    homes = [region for region, own in parts.items() if "mirror" in own]
    for at in moments(random, MIRROR_KILL_EVERY, seconds) if homes else ():
        yield Kill(at, "mirror", region=random.choice(homes))


def _region_kills(seed: int, seconds: float, parts: Mapping[str, Sequence[str]]) -> Iterator[RegionKill]:
    random = seeded(seed, "kill region")
    for at in moments(random, REGION_KILL_EVERY, seconds):
        region = random.choice(list(parts))
        if at <= seconds - HEALED_BEFORE_END:
            yield RegionKill(at, region)
    random = seeded(seed, "kill bots of a region")
    homes = [region for region, own in parts.items() if any(role_of(name) == "bot" for name in own)]
    for at in moments(random, BOTS_KILL_EVERY, seconds) if homes else ():
        yield RegionKill(at, random.choice(homes), bots_alone=True)


def _link_faults(seed: int, seconds: float, regions: Sequence[str]) -> Iterator[LinkFault]:
    """Return one fault in each interval, over before its end. In random order; each kind comes before any is
    repeated."""
    random, left = seeded(seed, "links"), list[tuple[LinkVerb, str]]()
    for interval in range(int(seconds // LINK_EVERY) + 1):
        left = left or random.sample(_LINK_FAULTS, len(_LINK_FAULTS))
        verb, where = left.pop()
        lasts = drawn_between(random, _FAULT_SECONDS)
        # healed a second before the next one may begin
        at = round(interval * LINK_EVERY + random.random() * (LINK_EVERY - 1 - lasts), 2)
        one, other = random.choice(list(permutations(regions, 2)))
        links = {"region": one, "link": f"{one} {other}", "one way": f"{one} to {other}"}[where]
        fault = LinkFault(at, verb, links, lasts, _number(random, verb))
        if at + lasts <= seconds - HEALED_BEFORE_END:
            yield fault


def _clock_faults(seed: int, seconds: float, parts: Mapping[str, Sequence[str]]) -> Iterator[ClockFault]:
    """Return one fault in each interval, ahead or behind, of a region that has more than a vote."""
    random = seeded(seed, "clocks")
    homes = [region for region, own in parts.items() if any(role_of(name) == "bot" for name in own)]
    for interval in range(int(seconds // SKEW_EVERY) + 1 if homes else 0):
        lasts, skew = drawn_between(random, _FAULT_SECONDS), drawn_between(random, _SKEW_SECONDS)
        at = round(interval * SKEW_EVERY + random.random() * (SKEW_EVERY - 1 - lasts), 2)
        fault = ClockFault(at, random.choice(homes), skew * random.choice((1, -1)), lasts)
        if at + lasts <= seconds - HEALED_BEFORE_END:
            yield fault


def _number(random: Random, verb: LinkVerb) -> float | None:
    if verb == "cut":
        return None
    return drawn_between(random, _LOSS_PERCENT) if verb == "loss" else round(random.uniform(*_DELAY_MS))
