"""The links between regions, each direction by itself: delay, loss, cut. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from types import MappingProxyType
from typing import Literal

Direction = tuple[str, str]
"""From, to."""
ChangeKind = Literal["cut", "loss", "delay", "skew", "heal", "state"]
OBSERVER = "observer"
"""The place of whoever looks at the regions from outside: its links have no delay, and nothing cuts them."""
TO = "to"
RESERVED = (OBSERVER, TO)
"""Names that no region may have: commands could mean something else."""
ROUND_TRIPS_MS: Mapping[frozenset[str], int] = MappingProxyType(
    {frozenset({"us", "eu"}): 80, frozenset({"us", "jp"}): 150, frozenset({"eu", "jp"}): 230}
)
OTHER_ROUND_TRIP_MS = 150
"""Delay between regions that the table above does not have."""
MILLISECOND = 1_000
"""In microseconds, the unit of all delays here."""


@dataclass(frozen=True, slots=True)
class LinkRule:
    """What happens to packets of one direction. `delay` is one way, microseconds; `loss` a share from 0 to 1."""

    delay: int
    loss: float = 0.0
    is_cut: bool = False


FREE = LinkRule(0)


@dataclass(frozen=True, slots=True)
class LinkChange:
    """One command, parsed. `delay` is one way, microseconds. `clocks`: the regions whose clock it sets, to `skew`
    microseconds ahead of the machine's."""

    kind: ChangeKind
    ways: tuple[Direction, ...] = ()
    delay: int = 0
    loss: float = 0.0
    clocks: tuple[str, ...] = ()
    skew: int = 0


@dataclass(frozen=True, slots=True)
class RegionLinks:
    """All links between regions; those of the observer are free."""

    regions: tuple[str, ...]
    rules: Mapping[Direction, LinkRule]
    at_first: Mapping[Direction, LinkRule]
    """The links that `heal` goes back to."""

    def rule(self, way: Direction) -> LinkRule:
        return self.rules.get(way, FREE)

    def changed(self, change: LinkChange) -> "RegionLinks":
        return replace(self, rules={**self.rules, **{way: self._changed_rule(way, change) for way in change.ways}})

    def _changed_rule(self, way: Direction, change: LinkChange) -> LinkRule:
        rule = self.rules[way]
        match change.kind:
            case "cut":
                return replace(rule, is_cut=True)
            case "loss":
                return replace(rule, loss=change.loss)
            case "delay":
                return replace(rule, delay=change.delay)
            case "heal":
                return self.at_first[way]
            case "skew" | "state":
                return rule


def links_of(regions: Sequence[str], round_trips_ms: Mapping[frozenset[str], int] = ROUND_TRIPS_MS) -> RegionLinks:
    """Return whole links with these delays. Raises ValueError for a name that no region may have, or one that comes
    twice."""
    for name in regions:
        if name in RESERVED or list(regions).count(name) > 1:
            raise ValueError(f"{name!r} cannot be the name of a region here; each needs one of its own")
    rules = {
        way: LinkRule(round_trips_ms.get(frozenset(way), OTHER_ROUND_TRIP_MS) * MILLISECOND // 2)
        for way in permutations(regions, 2)
    }
    return RegionLinks(tuple(regions), rules, rules)
