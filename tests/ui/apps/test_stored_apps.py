"""Changes of stored apps, two at a time: what is published is what was checked."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from store.mongo.store import MongoTradeStore
from tests.ui.api.apps.app_samples import WIDE, WIDER
from tests.ui.samples import session_of
from ui.apps.app_texts import AppTexts
from ui.apps.stored_apps import AppDesk
from ui.auth.callers import Caller
from ui.services.dashboard import dashboard_of

ADA = Caller("ada", "author", "key")


@dataclass
class Meanwhile(AppTexts):
    """While the text is checked, another author stores a version."""

    store: MongoTradeStore

    async def check(self, text: str, name: str = "", cases: str | None = None, who: str = "") -> dict[str, Any]:
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


async def test_what_was_published_before_starts_while_nobody_can_check(
    application: FastAPI, store: MongoTradeStore, tmp_path: Path
) -> None:
    texts = AppTexts(session_of(tmp_path), (sys.executable, "-c", ""))
    await store.apps.create("wide", WIDE, "ada")
    await store.apps.order("wide", "published", "ada", 1)
    desk = AppDesk(dashboard_of(application), texts)
    assert (await desk.order("wide", "start", ADA, 1)).order.wanted == "published"
    await texts.close()
