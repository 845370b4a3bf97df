"""Changes of stored apps, two at a time: what is published is what was checked."""

from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

from store.mongo.store import MongoTradeStore
from tests.ui.api.apps.app_samples import WIDE, WIDER
from ui.apps.app_texts import AppTexts
from ui.apps.stored_apps import AppDesk
from ui.auth.callers import Caller
from ui.services.dashboard import dashboard_of

ADA = Caller("ada", "author", "key")


@dataclass
class Meanwhile(AppTexts):
    """While the text is checked, another author stores a version."""

    store: MongoTradeStore

    async def check(self, text: str, name: str = "", cases: str | None = None) -> dict[str, Any]:
        await self.store.apps.replace(name, WIDER, 1, "bob")
        return {"mistakes": []}


async def test_the_version_that_was_checked_is_the_one_that_is_published(
    application: FastAPI, store: MongoTradeStore
) -> None:
    await store.apps.create("wide", WIDE, "ada")
    desk = AppDesk(dashboard_of(application), Meanwhile(store))
    assert (await desk.order("wide", "publish", ADA)).order.version == 1
    known = await store.apps.app("wide")
    assert known is not None
    assert (known.version, known.order.version) == (2, 1)
