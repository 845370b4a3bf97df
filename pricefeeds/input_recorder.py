"""Keeps the input log of a stream app beside a recorded session, so that what the app was run on can be run again."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pricefeeds.log_recorder import POLL_SECONDS, log_folder
from pricefeeds.recording.feed_recorder import recordings_folder
from pricefeeds.recording.pending_rows import PendingRows
from session.session import Session
from streams.errors import StreamError
from streams.records import Position
from streams.topic_reader import TopicReader
from tick_sets.sets.log_parts import LogParts

FOLDER = "apps"

log = logging.getLogger("pricefeeds")


def kept_folder(log_of_session: Path, label: str) -> Path:
    """Where the input log of an app is, below a recorded session's `log`. `label`: of its name and version."""
    return log_of_session / FOLDER / label


class InputRecorder:
    """Records one topic, from `first` on; what earlier files have is not read again."""

    def __init__(self, session: Session, topic: str, first: Mapping[Position, int], label: str) -> None:
        """Raise ImportRejectedError if an earlier file cannot be read."""
        parts = LogParts(kept_folder(log_folder(session.home, session.session_id), label))
        last = parts.last_positions(topic)
        begin = {place: last[place][0] + 1 if place in last else offset for place, offset in first.items()}
        self._reader = TopicReader(session.services.kafka, (topic,), begin, POLL_SECONDS)
        self._folder = parts.folder
        self._pending = PendingRows(parts, recordings_folder(session.home), session.upkeep.recordings_mb)
        self._is_stopped = False

    async def follow(self) -> None:
        """Until it is cancelled. Raises StreamError. What is on disk takes no more than all recordings may."""
        self._pending.start()
        async for batch in self._reader.batches():
            for record in batch:
                self._pending.add(record)
            if self._pending.is_due:
                await self._flush()
            if self._is_stopped:
                # the app goes on without it
                await asyncio.Event().wait()

    async def finish(self) -> None:
        """To the end of the topic, if it can be reached. To be called once, behind `follow`."""
        with suppress(StreamError):
            if not self._is_stopped:
                async for record in self._reader.records_to_end():
                    self._pending.add(record)
        await self._flush()
        await self._reader.close()

    async def _flush(self) -> None:
        if self._pending.is_empty or self._is_stopped:
            return
        reason = self._pending.limit_reached
        if reason is not None:
            self._stop(reason)
            return
        try:
            await self._pending.write()
        except OSError as error:
            self._stop(f"writing failed ({error})")

    def _stop(self, reason: str) -> None:
        self._is_stopped = True
        log.error("recording of the input log stopped", extra={"folder": str(self._folder), "reason": reason})
