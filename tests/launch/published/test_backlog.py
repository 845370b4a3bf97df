"""What is asked of Kafka before an app begins is asked once for all that begin at about the same time."""

from dataclasses import replace
from pathlib import Path

import pytest

from cep.apps.hosts.hosted_app import app_source
from cep.apps.resident.kernel import PlacedApp
from launch.published.backlog import Backlogs
from launch.published.placing import BEHIND_ROWS
from launch.sessions.app_input import LiveInput, LogBegins
from runtime.clock import wall_now
from session.session import Session
from streams.errors import StreamUnavailableError
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topics import APPS, TICKS
from tests.cep.logs import session as session_of


@pytest.fixture
async def session(kafka_address: str, tmp_path: Path) -> Session:
    await ensure_topics(kafka_address, 1)
    return replace(session_of(tmp_path, kafka_address), started_at=wall_now())


def away(session: Session) -> Session:
    return replace(session, services=replace(session.services, kafka="127.0.0.1:9"))


async def test_where_a_session_begins_is_asked_once(session: Session) -> None:
    begins = LogBegins(session)
    found = await begins.first(APPS)
    begins.session = away(session)
    assert await begins.first(APPS) == found != {}
    with pytest.raises(StreamUnavailableError):
        await LogBegins(begins.session).first(APPS)


async def test_who_is_behind_is_found_by_ends_that_were_asked_once(session: Session, tmp_path: Path) -> None:
    async with TopicReader(session.services.kafka, (TICKS,), "latest") as reader:
        end = (await reader.end_offsets())[TICKS, 0]
    source, backlogs = app_source("from quotes select bid insert into Out;", "any"), Backlogs(session)

    async def is_behind(rows: int) -> bool:
        first = {(TICKS, 0): end - rows}
        return await backlogs.is_behind(PlacedApp(source, tmp_path, first), LiveInput(source, first, None, None, None))

    assert not await is_behind(BEHIND_ROWS)
    backlogs.session = away(session)
    assert await is_behind(BEHIND_ROWS + 1)
