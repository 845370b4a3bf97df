"""The door between an order in the store and what the part has seen of it: what begins is not refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from launch.published.door_server import DoorServer
from launch.published.host import PublishedApps
from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError
from runtime.clock import SystemClock
from store.memory.apps import MemoryApps
from store.records.apps import AppReport, AppState
from tests.launch.published.published_world import CONTEXT, TERMS
from tests.store.traded_session import session_at


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (None, AppDoorSilentError),
        ("starting", AppDoorSilentError),
        ("running", AppDoorSilentError),
        ("failed", AppDoorRefusedError),
        ("stopped", AppDoorRefusedError),
    ],
)
async def test_what_was_ordered_a_moment_ago_is_to_be_asked_again(
    tmp_path: Path, state: AppState | None, error: type[Exception]
) -> None:
    session, apps = replace(session_at("127.0.0.1:9", "x"), home=tmp_path), MemoryApps(SystemClock())
    (tmp_path / "apps").mkdir()
    await apps.create("wide", "from quotes select bid insert into Bids;", "ada")
    ordered = await apps.order("wide", "published", "ada")
    assert ordered is not None
    if state is not None:
        report = AppReport(state, ordered.order.number, "", 1, session.session_id, done=0)
        await apps.report("wide", report)
    host, door = PublishedApps(session, apps, TERMS, CONTEXT), AppDoor(tmp_path)
    async with DoorServer(host, TERMS).opened():
        for asked in (door.rows("wide", "Bids", 1), door.status("wide"), door.savepoint("wide")):
            with pytest.raises(error):
                await asked
        with pytest.raises(error):
            await anext(door.follow("wide", "Bids"))
        with pytest.raises(AppDoorRefusedError, match="there is no app 'other'"):
            await door.query("other", "from T select *")
