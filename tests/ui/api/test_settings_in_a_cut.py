"""The settings of a region that does not reach the store's primary."""

import asyncio

import httpx
from fastapi import FastAPI

from store.mongo.settings import MongoSettings
from store.server.change_streams import ChangeStreamProgress
from store.server.client import connect, database_of
from store.server.member_states import MemberState
from tests.ui.samples import NOWHERE
from ui.live.region_standing import RegionStanding
from ui.services.dashboard import dashboard_of

ANSWER_SECONDS = 30
LONGER_MS = 600_000


async def test_they_are_read_beside_the_page_and_not_waited_for(api: httpx.AsyncClient, application: FastAPI) -> None:
    dashboard = dashboard_of(application)
    primary = connect(f"mongodb://{NOWHERE}", LONGER_MS)
    dashboard.reader.settings = MongoSettings(database_of(primary, "unused"), ChangeStreamProgress())
    standing = RegionStanding("us", ("us", "eu"))
    standing.observe([MemberState("a:1", "secondary", "us"), MemberState("b:1", "unreachable")], 1)
    dashboard.hub.regions = standing
    async with asyncio.timeout(ANSWER_SECONDS):
        for path in ("settings", "assets"):
            assert (await api.get(f"/api/{path}")).status_code == 200
    primary.close()
