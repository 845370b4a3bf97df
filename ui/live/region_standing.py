"""This page's region: the leader, the members of the store, how old the prices of other regions are. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from market.time_units import MICROSECONDS
from store.server.member_states import MemberRole, MemberState

WITH_DATA = ("primary", "secondary")


@dataclass(frozen=True, slots=True)
class RegionMember:
    """The store's member in one region; `since` is when we first saw it in `role`, microseconds UTC.

    `last_write`: the time of its newest write, as it last reported.
    """

    address: str
    role: MemberRole
    since: int
    last_write: int | None


class RegionStanding:
    """`apply_row` takes rows of `ticks`, `observe` what the driver knows of the store's members."""

    def __init__(self, region: str, others: Iterable[str]) -> None:
        """`others`: the regions whose prices come here, besides the own one."""
        self.region = region
        self._others = frozenset(others) - {region}
        self.members: dict[str, RegionMember] = {}
        """By region; a region that was never heard of is missing."""
        self.leader: str | None = None
        """The region of the newest primary that was reached; None: none was reached yet."""
        self.leader_since: int | None = None
        """When we first saw it."""
        self.primary_lost_since: int | None = None
        """Since when no primary is reached; None: it is reached."""
        self._regions: dict[str, str] = {}
        """Address → region: a member that does not answer has no tag."""
        self._newest: dict[str, int] = {}
        """Other region → when its newest row was received there. The log also has rows of earlier sessions, with other
        regions."""

    def apply_row(self, row: Mapping[str, Any]) -> None:
        source, received = row.get("region"), row.get("received_time")
        if isinstance(source, str) and source in self._others and isinstance(received, int):
            self._newest[source] = max(received, self._newest.get(source, received))

    def mirror_lags(self, now: int) -> dict[str, float]:
        """Return other region → age of its newest row here, seconds; a region without rows is missing. `now` by the
        market's clock.

        Feeds write at least once a second, so a growing age means that a mirror, or a region, stands still. If the
        clock there is ahead, the age is smaller, possibly below zero.
        """
        return {source: (now - received) / MICROSECONDS for source, received in self._newest.items()}

    def observe(self, members: Iterable[MemberState], now: int) -> None:
        """Take in the members' states. `now` by the wall clock, microseconds UTC."""
        primary: str | None = None
        for member in members:
            region = member.region or self._regions.get(member.address)
            if region is None:
                continue
            self._regions[member.address] = region
            self.members[region] = _followed(self.members.get(region), member, now)
            if member.role == "primary":
                primary = region
        if primary is None:
            self.primary_lost_since = self.primary_lost_since or now
            return
        self.primary_lost_since = None
        if primary != self.leader:
            self.leader, self.leader_since = primary, now

    def behind(self, region: str) -> float | None:
        """Return by how many seconds the newest write of the region's member is older than the primary's, to the
        second; None if either is not reached."""
        own, leading = self.members.get(region), self.members.get(self.leader or "")
        if own is None or leading is None or self.primary_lost_since is not None or own.role not in WITH_DATA:
            return None
        if own.last_write is None or leading.last_write is None:
            return None
        return max(0.0, (leading.last_write - own.last_write) / MICROSECONDS)

    def store_age(self, now: int) -> float | None:
        """Return the seconds since the newest write that our own member has; None if it never reported one, or is up to
        date with a primary that is reached. `now` by the wall clock."""
        own = self.members.get(self.region)
        if self.primary_lost_since is None or own is None or own.last_write is None:
            return None
        return max(0.0, (now - own.last_write) / MICROSECONDS)


def _followed(known: RegionMember | None, member: MemberState, now: int) -> RegionMember:
    since = now if known is None or known.role != member.role else known.since
    written = member.last_write if known is None else member.last_write or known.last_write
    return RegionMember(member.address, member.role, since, written)
