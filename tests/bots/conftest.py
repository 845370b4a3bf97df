"""Which tests run on an event loop whose time is skipped; and what is left of a history ends with its test."""

import asyncio
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.bots.histories.world import World
from tests.bots.hurried_loop import HurriedLoop

HURRIED = {
    "test_account_lockout.py",
    "test_booker.py",
    "test_bot_loop.py",
    "test_decision_turns.py",
    "test_draining.py",
}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    is_hurried = item.path.name in HURRIED
    return {"hurried": HurriedLoop} if is_hurried else {"plain": asyncio.new_event_loop}


@pytest.fixture(autouse=True)
def no_history_goes_on() -> Iterator[None]:
    yield
    for world in tuple(World.open):
        world.close()
