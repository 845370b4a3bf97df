"""One process sends the notices of a session of regions: what a user stopped in any of them is not down."""

from dataclasses import replace

import pytest

from session.session import Placement, Session
from store.mongo.store import MongoTradeStore
from store.operations.processes import open_processes
from store.queries.notice_events import NoticeEventReader
from store.records.processes import ProcessReport

REPORT = ProcessReport("bot-beta", "bot", "beta", "ready", age=0)


@pytest.mark.parametrize("region", ["us", "eu"])
async def test_what_a_user_stopped_in_any_region_is_known(
    session: Session, store: MongoTradeStore, region: str
) -> None:
    regional = replace(session, place=Placement("us", ("us", "eu")))
    async with open_processes(replace(regional, place=replace(regional.place, region=region))) as processes:
        await processes.report([REPORT], await store.server_now())
        await processes.want("bot-beta", "stopped", "erika")
    reader = NoticeEventReader(regional)
    assert (await reader.present()).stopped == {("bot", "beta")}
    await reader.close()
