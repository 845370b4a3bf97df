"""Keeps the input log of a stream app beside a recorded session, so that what the app was run on can be run again."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from datasets.ticksets.log_parts import LogParts
from market.time_units import MICROSECONDS
from pricefeeds.log_recorder import FLUSH_SECONDS, MAX_ROWS, POLL_SECONDS, log_folder
from pricefeeds.recording.feed_recorder import MEGABYTE, recorded_bytes, recordings_folder
from session.clock import steady_now
from session.session import Session
from streams.errors import StreamError
from streams.records import Position, Record
from streams.topic_reader import TopicReader

FOLDER = "apps"

log = logging.getLogger("pricefeeds")


def kept_folder(log_of_session: Path, label: str) -> Path:
    """Where the input log of an app is, below a recorded session's `log`. `label`: of its name and version."""
    return log_of_session / FOLDER / label


class InputRecorder:
    """Of one topic, from `first` on; what earlier files have is not read again."""

    def __init__(self, session: Session, topic: str, first: Mapping[Position, int], label: str) -> None:
        """Raises ImportRejectedError where an earlier file cannot be read."""
        self._root, self._topic = recordings_folder(session.home), topic
        self._parts = LogParts(kept_folder(log_folder(session.home, session.session_id), label))
        last = self._parts.last_positions(topic)
        begin = {place: last[place][0] + 1 if place in last else offset for place, offset in first.items()}
        self._reader = TopicReader(session.kafka, (topic,), begin, POLL_SECONDS)
        self._limit = None if session.recordings_mb is None else session.recordings_mb * MEGABYTE
        self._pending: list[Record] = []
        self._is_stopped = False

    async def follow(self) -> None:
        """Until it is cancelled. Raises StreamError. What is on disk takes no more than all recordings may."""
        due = steady_now() + int(FLUSH_SECONDS * MICROSECONDS)
        async for batch in self._reader.batches():
            self._pending += batch
            if len(self._pending) >= MAX_ROWS or steady_now() >= due:
                await self._flush()
                due = steady_now() + int(FLUSH_SECONDS * MICROSECONDS)
            if self._is_stopped:
                # the app goes on without it
                await asyncio.Event().wait()

    async def finish(self) -> None:
        """To the end of the topic, where it can be reached. To be called once, behind `follow`."""
        with suppress(StreamError):
            if not self._is_stopped:
                self._pending += [record async for record in self._reader.records_to_end()]
        await self._flush()
        await self._reader.close()

    async def _flush(self) -> None:
        rows, self._pending = self._pending, []
        if not rows or self._is_stopped:
            return
        if self._limit is not None and recorded_bytes(self._root) >= self._limit:
            self._stop(f"all recordings together reached recordings_mb = {self._limit // MEGABYTE}")
            return
        try:
            await asyncio.to_thread(self._parts.write, self._topic, rows)
        except OSError as error:
            self._stop(f"writing failed ({error})")

    def _stop(self, reason: str) -> None:
        self._is_stopped = True
        log.error("recording of the input log stopped", extra={"folder": str(self._parts.folder), "reason": reason})
