"""What every sender promises, each with its real server, which is cut off and comes back."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cep.apps.transports.ports import NotTakenError
from tests.cep.apps.transports.mqtt_broker import PROGRAM
from tests.cep.apps.transports.sender_worlds import (
    LIMIT_SECONDS,
    World,
    http_world,
    mongo_world,
    mqtt_world,
    row,
    socket_world,
)


@pytest.fixture(params=["http", "websocket", "mongodb", "mqtt"])
def kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Return the sender's, and the address of MongoDB if it needs it: that fixture has an event loop of its own."""
    return request.param, request.getfixturevalue("mongodb_uri") if request.param == "mongodb" else ""


@pytest.fixture
async def world(kind: tuple[str, str], tmp_path: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as opened:
        match kind[0]:
            case "http":
                made = await opened.enter_async_context(http_world())
            case "websocket":
                made = await opened.enter_async_context(socket_world())
            case "mongodb":
                made = await opened.enter_async_context(mongo_world(kind[1]))
            case _:
                if PROGRAM is None or importlib.util.find_spec("paho") is None:
                    pytest.skip("mosquitto or the extra mqtt is not installed here")
                made = await opened.enter_async_context(mqtt_world(tmp_path))
        yield made
        await made.sender.close()


async def send(world: World, *numbers: int) -> None:
    rows = [row(number) for number in numbers]
    for first in range(0, len(rows), world.sender.most_rows):
        batch = rows[first : first + world.sender.most_rows]
        await world.sender.send(world.sender.destination(batch[0].values), batch)


async def until(world: World, *numbers: int) -> None:
    """Wait until the other side has these rows, in their order, whatever came twice."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while list(dict.fromkeys(await world.numbers())) != list(numbers):  # noqa: ASYNC110 - a server
            await asyncio.sleep(0.01)


async def test_rows_are_there_in_their_order_once_they_are_sent(world: World) -> None:
    await send(world, *range(40))
    await until(world, *range(40))


async def test_a_row_may_be_sent_again(world: World) -> None:
    await send(world, 1, 2)
    await send(world, 2, 3)
    await until(world, 1, 2, 3)


async def test_a_server_that_is_cut_off_is_tried_again_and_gone_on_with(world: World) -> None:
    await send(world, 1)
    await world.link.cut()
    for _ in range(2):
        with pytest.raises(NotTakenError):
            async with asyncio.timeout(LIMIT_SECONDS):
                await send(world, 2)
    await world.link.mend()
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            try:
                await send(world, 2, 3)
                break
            except NotTakenError:
                continue
    await until(world, 1, 2, 3)


async def test_a_closed_sender_opens_again(world: World) -> None:
    await send(world, 1)
    await world.sender.close()
    await send(world, 2)
    await until(world, 1, 2)


def test_where_rows_go_is_shown_without_secrets(world: World) -> None:
    shown = world.sender.shown(world.sender.destination(row(1).values))
    assert shown
    assert "hook" not in shown
