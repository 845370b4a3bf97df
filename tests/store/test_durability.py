"""What a commit waits for: journals, or in a session of several regions what the configuration of the set says."""

from typing import Any

import pytest
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from runtime.logins import login_of
from store.mongo.store import MongoTradeStore
from store.server.client import Client
from store.server.deciding_region import PrimaryWatch, Standpoint
from tests.market.samples import settings_of
from tests.store.reservation_requests import open_books


class Commits(CommandListener):
    """What each commit of one client was to wait for."""

    def __init__(self) -> None:
        self.concerns: list[Any] = []

    def started(self, event: CommandStartedEvent) -> None:
        if event.command_name == "commitTransaction":
            self.concerns.append(event.command["writeConcern"])

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Not asked."""

    def failed(self, event: CommandFailedEvent) -> None:
        """Not asked."""


@pytest.mark.parametrize(
    ("region", "concern"),
    [(None, {"w": "majority", "j": True}), ("us", {"w": "majority"})],
    ids=["alone", "in a region"],
)
async def test_what_a_commit_waits_for(
    mongodb_uri: str, database: str, region: str | None, concern: dict[str, object]
) -> None:
    commits, login = Commits(), login_of(mongodb_uri)
    assert login is not None
    client: Client = AsyncIOMotorClient(
        str(mongodb_uri), username=login.user, password=login.password, event_listeners=[commits]
    )
    place = None if region is None else Standpoint(region, PrimaryWatch())
    async with MongoTradeStore(client, database, "session-1", place) as store:
        await store.prepare()
        await open_books(store, settings_of())
    assert commits.concerns
    assert all(one == concern for one in commits.concerns)
