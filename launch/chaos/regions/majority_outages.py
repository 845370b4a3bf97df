"""How long a schedule leaves no majority of the regions' mongods connected: nothing can be traded then. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from launch.chaos.regions.faults import LinkFault, RegionKill
from launch.chaos.schedule import Injection, Kill, Pause

BACK_SECONDS = 30.0
"""Time until a killed mongod is back and level: its restart, its start and what it has missed; 18 to 23 s were seen on
two busy cores."""
REJOIN_SECONDS = 15.0
"""Time until a member that was cut off or stood still counts again: it gives up old connections, and may be elected."""


@dataclass(frozen=True, slots=True)
class MemberOutage:
    """`regions`: one whose member is lost or alone, or two whose members do not reach each other."""

    since: float
    until: float
    regions: frozenset[str]


def outage_of(injection: Injection) -> MemberOutage | None:
    """Return the outage; None if the fault leaves all members connected. A link that loses or delays packets causes
    none."""
    at = injection.at
    if isinstance(injection, LinkFault) and injection.verb == "cut":
        return MemberOutage(at, at + injection.seconds + REJOIN_SECONDS, frozenset(injection.regions))
    if isinstance(injection, RegionKill) and not injection.bots_alone:
        return MemberOutage(at, at + BACK_SECONDS, frozenset({injection.region}))
    if isinstance(injection, Kill | Pause) and injection.process == "mongodb" and injection.region is not None:
        lasts = BACK_SECONDS if isinstance(injection, Kill) else injection.seconds + REJOIN_SECONDS
        return MemberOutage(at, at + lasts, frozenset({injection.region}))
    return None


def longest_without_majority(outages: Iterable[MemberOutage], regions: Sequence[str]) -> float:
    """Return the longest time, seconds, in which no region reaches a majority of `regions`, itself included."""
    known = tuple(outages)
    moments = sorted({moment for outage in known for moment in (outage.since, outage.until)})
    longest = lasting = 0.0
    for since, until in pairwise(moments):
        during = [outage.regions for outage in known if outage.since <= since and until <= outage.until]
        lasting = 0.0 if _has_majority(during, regions) else lasting + until - since
        longest = max(longest, lasting)
    return longest


def without_long_outages(
    injections: Iterable[Injection], regions: Sequence[str], most_seconds: float
) -> Iterator[Injection]:
    """Return `injections`, by time, without those that would leave no majority for longer than that."""
    kept: list[MemberOutage] = []
    for injection in injections:
        outage = outage_of(injection)
        if outage is None:
            yield injection
        elif longest_without_majority([*kept, outage], regions) <= most_seconds:
            kept.append(outage)
            yield injection


def _has_majority(outages: Iterable[frozenset[str]], regions: Sequence[str]) -> bool:
    broken = set(outages)
    alive = [region for region in regions if frozenset({region}) not in broken]
    return any(2 * sum(frozenset({one, other}) not in broken for other in alive) > len(regions) for one in alive)
