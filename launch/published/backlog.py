"""How much of its log an app has to catch up with when it begins."""

from collections.abc import Mapping
from pathlib import Path

from cep.apps.resident.kernel import PlacedApp
from cep.snapshot_folder import SnapshotFolder
from launch.published.placing import BEHIND_ROWS
from launch.sessions.app_input import LiveInput
from runtime.clock import wall_now
from session.session import Session
from streams.records import Position
from streams.topic_reader import TopicReader
from streams.topics import TICKS

FRESH_SECONDS = 60
"""A snapshot that is older has much behind it, and so has an app that goes on there."""


async def is_behind(session: Session, placed: PlacedApp, beside: LiveInput) -> bool:
    """Return whether it has so much to catch up with that others would wait for it. Raises StreamError."""
    ages = [_age(SnapshotFolder(placed.folder).path(partition)) for _, partition in placed.first]
    if all(age is not None and age < FRESH_SECONDS for age in ages):
        return False
    first = dict(beside.first if beside.merger is None else beside.merger.first)
    return sum(await _rows_behind(session, first)) > BEHIND_ROWS


async def _rows_behind(session: Session, first: Mapping[Position, int]) -> list[int]:
    topics = tuple({topic: None for topic, _ in first if topic == TICKS} or {topic: None for topic, _ in first})
    async with TopicReader(session.services.kafka, topics, "latest") as reader:
        ends = await reader.end_offsets()
    return [max(0, end - first.get(position, end)) for position, end in ends.items()]


def _age(path: Path) -> float | None:
    """Return the file's age in seconds; None if there is none."""
    try:
        return wall_now() / 1_000_000 - path.stat().st_mtime
    except FileNotFoundError:
        return None
