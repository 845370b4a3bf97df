"""Apps share groups of processes, and some have one alone."""

import asyncio
from pathlib import Path

from launch.published.groups import WorkerGroups
from launch.published.placing import MOST_ALONE, MOST_SHARED
from tests.launch.published.published_world import CONTEXT


async def test_apps_that_a_group_has_no_place_for_share_another(tmp_path: Path) -> None:
    groups = WorkerGroups(CONTEXT, "", tmp_path, (), lambda _place, _why: None)
    running = asyncio.ensure_future(groups.run())
    first = groups.shared([])
    second = groups.shared([first] * MOST_SHARED)
    assert [group.name for group in groups.all] == ["group-shared", "group-shared-2"]
    assert groups.shared([first] * MOST_SHARED + [second]) is second
    alone = groups.own("one-1")
    assert [groups.is_alone(group) for group in groups.all] == [False, False, True]
    # other apps are there still
    await groups.close(second)
    await groups.close(alone)
    assert groups.all == (first, second)
    for number in range(MOST_ALONE):
        assert groups.has_place_alone
        groups.own(f"many-{number}")
    assert not groups.has_place_alone
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
