"""The helpers beside an app end at once when they are asked to, as by Ctrl-C, even if Kafka is down."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_merger import InputMerger
from launch.sessions.app_input import keep_merging
from pricefeeds.input_recorder import InputRecorder, kept_folder
from pricefeeds.log_recorder import log_folder
from streams.errors import StreamError
from streams.topics import SPREADS, TICKS
from tests.cep.logs import session as session_of

SOURCE = AppSource("alone", "from quotes select base insert into A; from spreads select base insert into B;")
NOBODY = "127.0.0.1:1"
"""An address that refuses connections at once."""


class Noticed(logging.Handler):
    """Waits for a message."""

    def __init__(self, message: str) -> None:
        super().__init__(logging.WARNING)
        self._message = message
        self.came = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == self._message:
            self.came.set()


async def test_who_writes_its_log_waits_for_kafka_and_ends_when_it_is_asked_to() -> None:
    handler = Noticed("input log waits")
    logging.getLogger("launch").addHandler(handler)
    merging = asyncio.ensure_future(keep_merging(InputMerger(SOURCE, "s", NOBODY, 1, {(TICKS, 0): 0, (SPREADS, 0): 0})))
    try:
        async with asyncio.timeout(60):
            await handler.came.wait()
        assert not merging.done()
        merging.cancel()
        await asyncio.wait((merging,), timeout=60)
        assert merging.cancelled()
    finally:
        logging.getLogger("launch").removeHandler(handler)


async def test_who_keeps_its_log_ends_with_what_it_has(tmp_path: Path) -> None:
    session = replace(
        session_of(tmp_path, NOBODY), upkeep=replace(session_of(tmp_path, NOBODY).upkeep, recordings_mb=100)
    )
    recorder = InputRecorder(session, SOURCE.topic, {(SOURCE.topic, 0): 0}, SOURCE.label)
    with pytest.raises(StreamError):
        await recorder.follow()
    await recorder.finish()
    kept = kept_folder(log_folder(tmp_path, session.session_id), SOURCE.label)
    assert list(kept.glob("*.parquet")) == []
