"""Apps that the configuration publishes: once, also if the store was away between two steps, and never over people."""

import pytest

from launch.apps.configured import AUTHOR, publish_configured
from runtime.clock import SystemClock
from store.memory.apps import MemoryApps

TEXT = "from quotes select bid insert into Bids;"
OTHER = "from quotes select ask insert into Asks;"


async def test_a_text_is_published_once_and_what_people_did_since_stays() -> None:
    apps = MemoryApps(SystemClock())
    assert await publish_configured(apps, "one", TEXT)
    await apps.order("one", "stopped", "ada")
    assert not await publish_configured(apps, "one", TEXT)
    app = await apps.app("one")
    assert app is not None
    assert (app.version, app.order.wanted) == (1, "stopped")


@pytest.mark.parametrize("before", [None, OTHER])
async def test_an_order_that_an_outage_lost_is_given_again(before: str | None) -> None:
    apps = MemoryApps(SystemClock())
    if before is None:
        await apps.create("one", TEXT, AUTHOR)
    else:
        await publish_configured(apps, "one", before)
        await apps.replace("one", TEXT, 1, AUTHOR)
    assert await publish_configured(apps, "one", TEXT)
    app = await apps.app("one")
    assert app is not None
    assert (app.order.wanted, app.order.version) == ("published", app.version)
    assert not await publish_configured(apps, "one", TEXT)
