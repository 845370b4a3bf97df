"""How much of its log an app has to catch up with when it begins."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cep.apps.resident.kernel import PlacedApp
from cep.snapshot_folder import SnapshotFolder
from launch.published.placing import BEHIND_ROWS
from launch.sessions.app_input import LiveInput
from market.time_units import MICROSECONDS
from runtime.clock import steady_now, wall_now
from session.session import Session
from streams.records import Position
from streams.topic_reader import TopicReader
from streams.topics import TICKS

KNOWN_SECONDS = 1.0
FRESH_SECONDS = 60
"""A snapshot that is older has much behind it, and so has an app that goes on there."""


@dataclass(slots=True)
class Backlogs:
    """Of the apps that begin in this process: hundreds may do so at one time, and the ends of the log that Kafka has
    just said are good enough for all of them."""

    session: Session
    _ends: dict[tuple[str, ...], tuple[int, Mapping[Position, int]]] = field(default_factory=dict)
    """By topics, with the time at which they were asked for."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def is_behind(self, placed: PlacedApp, beside: LiveInput) -> bool:
        """Return whether it has so much to catch up with that others would wait for it. Raises StreamError."""
        ages = [_age(SnapshotFolder(placed.folder).path(partition)) for _, partition in placed.first]
        if all(age is not None and age < FRESH_SECONDS for age in ages):
            return False
        first = dict(beside.first if beside.merger is None else beside.merger.first)
        topics = tuple({topic: None for topic, _ in first if topic == TICKS} or {topic: None for topic, _ in first})
        ends = await self._known_ends(topics)
        return sum(max(0, end - first.get(position, end)) for position, end in ends.items()) > BEHIND_ROWS

    async def _known_ends(self, topics: tuple[str, ...]) -> Mapping[Position, int]:
        async with self._lock:
            asked, ends = self._ends.get(topics, (0, {}))
            if not ends or steady_now() - asked > KNOWN_SECONDS * MICROSECONDS:
                async with TopicReader(self.session.services.kafka, topics, "latest") as reader:
                    ends = await reader.end_offsets()
                self._ends[topics] = steady_now(), ends
            return ends


def _age(path: Path) -> float | None:
    """Return the file's age in seconds; None if there is none."""
    try:
        return wall_now() / 1_000_000 - path.stat().st_mtime
    except FileNotFoundError:
        return None
