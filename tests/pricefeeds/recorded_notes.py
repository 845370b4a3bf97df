"""Recordings that tests write, and the processes that write them till they are stopped from outside."""

import asyncio
import resource
import sys
from pathlib import Path

from pricefeeds.recording.feed_recorder import FileRecorder, RecordingLimits
from pricefeeds.recording.feed_recording import PartEnd, RecordedEvent, RecordingHeader, read_recording
from runtime.clock import SystemClock
from tests.pricefeeds.samples import MARKET

HEADER = RecordingHeader("session", MARKET.exchange, (MARKET,), {"late_after": "3000000"})
FLUSH_SECONDS = 0.02
LIMITS = RecordingLimits()


def folder_of(root: Path) -> Path:
    return root / HEADER.session_id / HEADER.exchange


def recorder_at(root: Path, limits: RecordingLimits = LIMITS, flush_seconds: float = FLUSH_SECONDS) -> FileRecorder:
    return FileRecorder(root, HEADER, limits, flush_seconds)


def notes_in(folder: Path) -> list[RecordedEvent]:
    return [entry for entry in read_recording(folder) if isinstance(entry, RecordedEvent)]


def ends_in(folder: Path) -> list[str | None]:
    return [entry.reason for entry in read_recording(folder) if isinstance(entry, PartEnd)]


async def write_for_ever(root: Path, file_bytes: int) -> None:
    """Note numbers for ever, no file larger than `file_bytes`: to this process the disk is full then."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    recorder, number = recorder_at(root), 0
    while recorder.stopped is None:
        number += 1
        recorder.record(MARKET.symbol, "frame", number, f"{number * 7_919 % 1_000_003}")
        if number % 100 == 0:
            await SystemClock().sleep(FLUSH_SECONDS / 10)
    sys.stdout.write(recorder.stopped)
    recorder.record(MARKET.symbol, "frame", number, "after the end")
    recorder.close()


if __name__ == "__main__":
    asyncio.run(write_for_ever(Path(sys.argv[1]), int(sys.argv[2])))
