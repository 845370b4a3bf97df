"""Apps that the configuration publishes: once, also if the store was away between two steps, and never over people."""

import pytest

from launch.apps.configured import AUTHOR, publish_all, publish_configured
from runtime.clock import SystemClock
from store.errors import AppExistsError, StoreError, StoreUnavailableError
from store.memory.apps import MemoryApps
from store.records.apps import StoredApp

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


class RefusingApps(MemoryApps):
    """Takes no app of the name `bad`."""

    def __init__(self, refusal: StoreError) -> None:
        super().__init__(SystemClock())
        self._refusal = refusal

    async def create(self, name: str, text: str, who: str, note: str = "") -> StoredApp:
        if name == "bad":
            raise self._refusal
        return await super().create(name, text, who, note)


@pytest.mark.parametrize("refusal", [AppExistsError("bad"), StoreError("the text is too long")])
async def test_one_that_cannot_be_published_keeps_no_other_back(
    refusal: StoreError, caplog: pytest.LogCaptureFixture
) -> None:
    apps, told = RefusingApps(refusal), list[str]()
    await publish_all(apps, {"bad": TEXT, "one": TEXT, "two": OTHER}, told.append)
    assert [one.name for one in await apps.apps()] == ["one", "two"]
    assert told == [f"app {name}: published as [apps] publish says" for name in ("one", "two")]
    assert [(one.message, one.__dict__["app"]) for one in caplog.records] == [("configured app not published", "bad")]


async def test_an_outage_is_no_reason_to_leave_an_app_out() -> None:
    with pytest.raises(StoreUnavailableError):
        await publish_all(RefusingApps(StoreUnavailableError("away")), {"bad": TEXT}, lambda _: None)
