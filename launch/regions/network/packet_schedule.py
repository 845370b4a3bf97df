"""When a packet arrives, or that it is lost: pure, with time and chance from outside.

Within a direction packets keep their order, also if the delay becomes shorter while some are under way. A cut also
loses what is under way: a cable that breaks does not deliver what is in it.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from launch.regions.network.links import Direction, RegionLinks

MOST_BYTES = 32 * 1024**2
"""Most bytes under way in one direction; more are lost, as in a router whose queue is full. 32 MB over 115 ms are more
than this machine carries."""


@dataclass(slots=True)
class _Way:
    """One direction; `under_way` has (time of arrival, packet), oldest first."""

    draw: Random
    under_way: deque[tuple[int, bytes]] = field(default_factory=deque)
    size: int = 0
    last_due: int = 0
    carried: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Packets of one direction since the start."""

    carried: int = 0
    dropped: int = 0
    under_way: int = 0


class PacketSchedule:
    """Packets under way, by direction. Times in microseconds of one clock that never goes back.

    The same seed and packets lose the same ones, whatever other directions do meanwhile.
    """

    def __init__(self, links: RegionLinks, seed: int) -> None:
        self.links = links
        self._seed = seed
        self._ways: dict[Direction, _Way] = {}

    def take(self, packet: bytes, source: str, target: str, now: int) -> int | None:
        """Return when the packet arrives; None: it is lost."""
        rule, way = self.links.rule((source, target)), self._way((source, target))
        is_lost = (
            rule.is_cut or way.size + len(packet) > MOST_BYTES or (rule.loss > 0 and way.draw.random() < rule.loss)
        )
        if is_lost:
            way.dropped += 1
            return None
        way.last_due = max(now + rule.delay, way.last_due)
        way.under_way.append((way.last_due, packet))
        way.size += len(packet)
        return way.last_due

    def change(self, links: RegionLinks) -> None:
        """Use these links from now on; what is under way on one that is cut is lost."""
        self.links = links
        for name, way in self._ways.items():
            if links.rule(name).is_cut:
                way.dropped += len(way.under_way)
                way.under_way.clear()
                way.size = way.last_due = 0

    def due(self, now: int) -> Iterator[tuple[Direction, bytes]]:
        """Take out what has arrived by `now`, each direction in its order."""
        for name, way in self._ways.items():
            while way.under_way and way.under_way[0][0] <= now:
                packet = way.under_way.popleft()[1]
                way.size -= len(packet)
                way.carried += 1
                yield name, packet

    def next_due(self) -> int | None:
        """Return when the next packet arrives; None if nothing is under way."""
        return min((way.under_way[0][0] for way in self._ways.values() if way.under_way), default=None)

    def counts(self, name: Direction) -> LinkCounts:
        way = self._ways.get(name)
        return LinkCounts() if way is None else LinkCounts(way.carried, way.dropped, len(way.under_way))

    def _way(self, name: Direction) -> _Way:
        if name not in self._ways:
            self._ways[name] = _Way(Random(f"{self._seed}:{name[0]}>{name[1]}"))  # noqa: S311 - repeatable, not secret
        return self._ways[name]
