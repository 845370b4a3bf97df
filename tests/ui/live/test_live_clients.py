import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.stream.live_clients import LiveClient, LiveMessage, MessageKind, SequenceNumbers


def message(number: int, kind: MessageKind = "trade") -> LiveMessage:
    return LiveMessage(number, kind, str(number))


def taken(client: LiveClient) -> list[int]:
    return [client.take().sequence for _ in range(client.waiting)]


def begun(limit: int = 64) -> LiveClient:
    """Past its first snapshot."""
    client = LiveClient(limit=limit)
    client.begin()
    return client


def test_a_client_begins_with_a_snapshot_then_receives_in_order() -> None:
    client = LiveClient()
    client.offer(message(1))
    assert (client.needs_snapshot, client.waiting) == (True, 0), "it is in the snapshot"
    client.begin()
    for number in (2, 3):
        client.offer(message(number))
    assert taken(client) == [2, 3]


def test_a_slow_client_gets_a_snapshot_in_place_of_what_it_missed() -> None:
    client = begun(limit=3)
    for number in range(4):
        client.offer(message(number))
    assert (client.resynchronisations, client.needs_snapshot) == (1, True)
    client.offer(message(5))
    client.begin()
    client.offer(message(6))
    assert taken(client) == [6]


@pytest.mark.parametrize("kind", ["ledger", "settings"])
def test_of_what_says_everything_again_only_the_newest_waits(kind: MessageKind) -> None:
    client = begun(limit=3)
    client.offer(message(0, kind))
    client.offer(message(1))
    for number in range(2, 20):
        client.offer(message(number, kind))
    assert (taken(client), client.needs_snapshot) == ([1, 19], False)


async def test_waiting_lasts_until_there_is_something() -> None:
    client = begun()
    waiting = asyncio.create_task(client.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    client.offer(message(1))
    await waiting


def test_numbers_grow_even_where_the_clock_does_not() -> None:
    numbers = SequenceNumbers()
    numbers.last += 10_000_000
    ahead = numbers.last
    assert [numbers.next() - ahead for _ in range(3)] == [1, 2, 3]


@given(st.lists(st.sampled_from(["offer", "take"]), max_size=200))
def test_nothing_is_lost_without_a_snapshot_after_it(steps: list[str]) -> None:
    """What a client knows – snapshots have everything up to their moment – is always a whole beginning."""
    client, offered, known = LiveClient(limit=4), 0, 0

    def take() -> int:
        if client.needs_snapshot:
            client.begin()
            return offered
        number = client.take().sequence
        assert number == known
        return known + 1

    for step in steps:
        if step == "offer":
            client.offer(message(offered))
            offered += 1
        elif known < offered:
            known = take()
    while known < offered:
        known = take()
