"""Where reading of the log starts: at this session's checkpoint, or far enough back to include every valid quote."""

import hashlib
import inspect
import json
import logging
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from cep.detection import latest, latest_counted
from cep.detection import spark_schema as schema
from cep.detection.latest_counted import RateSource, rate_sources
from cep.detection.market_layout import Layout
from runtime.clock import wall_now
from session.session import Session
from streams.last_sequences import newest_settings_rows
from streams.message_format import row_of
from streams.topic_reader import TopicReader
from streams.topics import TICKS

log = logging.getLogger("cep")

QUOTE_AGE_UNKNOWN = 2_000_000
"""Microseconds; the settings' default, if the log has no settings."""
DESCRIPTION = "opening.json"


@dataclass(frozen=True, slots=True)
class LogStart:
    """`offsets`: partition → first row to read. `settings`: the settings row in force there, as JSON; None if there
    is none."""

    offsets: dict[int, int]
    settings: str | None

    @property
    def starting_offsets(self) -> str:
        """The offsets in the format of Spark's Kafka source."""
        return json.dumps({TICKS: {str(partition): offset for partition, offset in self.offsets.items()}})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Spark's checkpoint folder and its start, which every restart must repeat until the folder has offsets."""

    folder: Path
    opening: LogStart

    def discard(self) -> None:
        """Delete it: the rows that it points at were deleted from the log."""
        shutil.rmtree(self.folder.parent, ignore_errors=True)


def plan_hash(layout: Layout, partitions: int, rates: tuple[RateSource, ...] | None = None) -> str:
    """Hash of everything that determines the state; a checkpoint of another plan cannot be used. `rates`: as
    `rate_sources`."""
    of_region = () if rates is None else (inspect.getsource(latest_counted), repr(rates))
    parts = (inspect.getsource(schema), inspect.getsource(latest), repr(layout), str(partitions), *of_region)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


async def checkpoint_of(session: Session, layout: Layout) -> Checkpoint:
    """Return the checkpoint to continue from, or a new one. Raises StreamError if Kafka does not answer."""
    root = session.home / "checkpoints"
    folder = root / session.session_id / plan_hash(layout, session.services.partitions, rate_sources(session, layout))
    kept = _kept_opening(folder)
    if kept is not None and await _log_reaches(session, kept):
        log.info("continuing from the checkpoint", extra={"checkpoint": str(folder)})
        return Checkpoint(folder / "spark", kept)
    for old in root.glob("*"):
        shutil.rmtree(old, ignore_errors=True)
    opening = await opening_of(session)
    folder.mkdir(parents=True)
    (folder / DESCRIPTION).write_text(json.dumps(asdict(opening)))
    log.info(
        "starting with a new checkpoint from the newest valid quotes",
        extra={"checkpoint": str(folder), "offsets": opening.offsets, "settings_known": opening.settings is not None},
    )
    return Checkpoint(folder / "spark", opening)


async def opening_of(session: Session, before: int = 0) -> LogStart:
    """`before`: microseconds to start earlier. A replay starts where it began to write."""
    settings = await newest_settings_rows(session.services.kafka)
    newest = max(settings, key=lambda record: record.offset, default=None)
    age = QUOTE_AGE_UNKNOWN if newest is None else int(row_of(newest.value)["max_quote_age"])
    since = wall_now() - age - before
    if session.replay is not None:
        since = min(since, session.replay.wall_start)
    offsets = await _offsets_since(session.services.kafka, since)
    earlier = [record for record in settings if record.offset < offsets.get(record.partition, 0)]
    in_force = max(earlier, key=lambda record: (record.time, record.offset), default=None)
    return LogStart(offsets, None if in_force is None else in_force.value.decode())


async def _offsets_since(address: str, since: int) -> dict[int, int]:
    async with TopicReader(address, (TICKS,), since) as reader:
        ends = {partition: end for (_, partition), end in (await reader.end_offsets()).items()}
        first: dict[int, int] = {}
        async for record in reader.records_to_end():
            first.setdefault(record.partition, record.offset)
            if len(first) == len(ends):
                break
    return {partition: first.get(partition, end) for partition, end in sorted(ends.items())}


def _kept_opening(folder: Path) -> LogStart | None:
    try:
        kept = json.loads((folder / DESCRIPTION).read_text())
        return LogStart({int(partition): int(at) for partition, at in kept["offsets"].items()}, kept["settings"])
    except (OSError, ValueError, KeyError, AttributeError):
        return None


async def _log_reaches(session: Session, opening: LogStart) -> bool:
    """Return False if the topic was deleted and created again: its rows no longer reach back to the session's start."""
    async with TopicReader(session.services.kafka, (TICKS,), "latest") as reader:
        ends = {partition: end for (_, partition), end in (await reader.end_offsets()).items()}
    return all(ends.get(partition, -1) >= offset for partition, offset in opening.offsets.items())
