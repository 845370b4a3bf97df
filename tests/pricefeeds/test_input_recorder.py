"""The input log of an app, kept beside the recording: each row once, however often it is begun again."""

import asyncio
from dataclasses import replace
from pathlib import Path

from backtest.apps.recorded_log import kept_log
from cep.apps.hosts.hosted_app import AppSource
from pricefeeds.input_recorder import InputRecorder, kept_folder
from pricefeeds.log_recorder import log_folder
from session.session import Session
from streams.topic_admin import ensure_input_log
from streams.topic_writer import TopicWriter
from tests.cep.logs import session as session_of

SOURCE = AppSource("kept", "from quotes select base insert into A; from spreads select base insert into B;")
PARTITIONS = 2


async def written(kafka: str, first: int, last: int) -> None:
    writer = TopicWriter(kafka)
    await writer.open()
    for number in range(first, last):
        writer.write(SOURCE.topic, b'{"n": %d}' % number, partition=number % PARTITIONS)
    await writer.flush()
    await writer.close()


async def recorded(session: Session) -> None:
    """As an app's run does it; it is broken off before it has read anything, or while it reads."""
    recorder = InputRecorder(session, SOURCE.topic, {(SOURCE.topic, one): 0 for one in range(PARTITIONS)}, SOURCE.label)
    following = asyncio.ensure_future(recorder.follow())
    await asyncio.wait((following,), timeout=0.2)
    following.cancel()
    await asyncio.wait((following,))
    await recorder.finish()


def kept(session: Session) -> dict[int, list[tuple[int, int]]]:
    """Partition → offset and number of each row."""
    log = log_folder(session.home, session.session_id)
    found: dict[int, list[tuple[int, int]]] = {}
    for one in kept_log(SOURCE, log):
        assert isinstance(one.partition, int)
        found[one.partition] = [(offset, row["n"]) for offset, _, row in one.messages()]
    return found


async def test_each_row_is_kept_once_with_its_offset(kafka_address: str, tmp_path: Path) -> None:
    session = replace(
        session_of(tmp_path, kafka_address),
        upkeep=replace(session_of(tmp_path, kafka_address).upkeep, recordings_mb=100),
    )
    await ensure_input_log(kafka_address, SOURCE.topic, PARTITIONS)
    assert kept(session) == {}
    for first, last in ((0, 40), (40, 41), (41, 100)):
        await written(kafka_address, first, last)
        await recorded(session)
    wanted = {one: [(number // PARTITIONS, number) for number in range(one, 100, PARTITIONS)] for one in (0, 1)}
    assert kept(session) == wanted
    # beyond what recordings may take nothing more is kept, and what there is stays
    await written(kafka_address, 100, 120)
    await recorded(replace(session, upkeep=replace(session.upkeep, recordings_mb=0)))
    assert kept(session) == wanted


def test_an_app_of_one_topic_has_none(tmp_path: Path) -> None:
    plain = AppSource("plain", "from quotes select base insert into A;")
    kept_folder(tmp_path, plain.label).mkdir(parents=True)
    assert kept_log(plain, tmp_path) == []
