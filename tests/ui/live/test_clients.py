import asyncio

from hypothesis import given
from hypothesis import strategies as st

from ui.live.clients import LiveClient


async def test_a_client_begins_with_a_snapshot_then_hears_in_order() -> None:
    client = LiveClient()
    client.offer("before the snapshot, so in it")
    assert await client.next() is None
    client.offer("a")
    client.offer("b")
    assert [await client.next(), await client.next()] == ["a", "b"]


async def test_a_slow_client_gets_a_snapshot_in_place_of_what_it_missed() -> None:
    client = LiveClient(limit=3)
    await client.next()
    for message in "abcd":
        client.offer(message)
    assert client.resynchronisations == 1
    client.offer("e")
    assert await client.next() is None
    client.offer("f")
    assert await client.next() == "f"


async def test_next_waits_until_there_is_something() -> None:
    client = LiveClient()
    await client.next()
    waiting = asyncio.create_task(client.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    client.offer("a")
    assert await waiting == "a"


@given(st.lists(st.sampled_from(["offer", "take"]), max_size=200))
def test_nothing_is_lost_without_a_snapshot_after_it(steps: list[str]) -> None:
    """What a client knows – snapshots have everything up to their moment – is always a whole beginning."""

    async def play() -> None:
        client, offered, known = LiveClient(limit=4), 0, -1
        for step in steps:
            if step == "offer":
                client.offer(str(offered))
                offered += 1
            elif known < offered:
                message = await client.next()
                assert message is None or int(message) == known
                known = offered if message is None else known + 1
        while known < offered:
            message = await client.next()
            known = offered if message is None else int(message) + 1

    asyncio.run(play())
