"""Deliveries from a real queue to real receivers: slow beside fast, tried again, given up, taken up again."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from market.time_units import MICROSECONDS
from notices.channels.secrets import WebhookSecrets
from notices.channels.webhook import WebhookSender
from notices.delivery import LONGEST_DELAY, Delivery, retry_delay
from runtime.clock import wall_now
from session.notice_destinations import Destination
from store.queries.notice_events import NoticeEventReader
from store.records.notice import Notice
from tests.notices.receivers import Answer, Receiver, receiving
from tests.notices.running import running
from tests.notices.samples import alarm, trade, webhook
from tests.ui.waiting import until


@asynccontextmanager
async def delivering(reader: NoticeEventReader, to: Mapping[Destination, Receiver]) -> AsyncIterator[asyncio.Event]:
    """At work for each destination; setting the event says that there is news."""
    news = asyncio.Event()
    senders = {each: WebhookSender(WebhookSecrets(receiver.url), 1.0) for each, receiver in to.items()}
    works = [Delivery(reader.notices, each, sender, "paper", news).run() for each, sender in senders.items()]
    try:
        async with running(*works):
            yield news
    finally:
        for sender in senders.values():
            await sender.close()


async def queued(reader: NoticeEventReader, destination: Destination, *notices: Notice) -> None:
    await reader.notices.place(destination)
    await reader.notices.put(destination.name, notices)


@pytest.mark.parametrize(
    ("failures", "asked", "least", "most"),
    [(1, None, 0.9, 1.1), (3, None, 3.6, 4.4), (50, None, 54, 66), (1, 30.0, 30, 30), (50, 1.0, 54, 66)],
)
def test_delays_grow_and_heed_what_was_asked(failures: int, asked: float | None, least: float, most: float) -> None:
    for seed in range(50):
        assert least <= retry_delay(failures, asked, random.Random(seed)) <= most
    assert most <= LONGEST_DELAY * 1.1


async def test_a_slow_and_a_dead_one_hold_up_nobody(reader: NoticeEventReader) -> None:
    async with receiving() as fast, receiving(lambda _: Answer(seconds=None)) as slow, receiving() as dead:
        dead.answer = lambda _: Answer(503)
        to = {webhook("slow"): slow, webhook("dead"): dead, webhook("fast"): fast}
        for destination in to:
            await queued(reader, destination, *(alarm(number) for number in range(3)))
        async with delivering(reader, to) as news:
            await until(lambda: len(fast.ids) == 3)
            await until(lambda: len(slow.received) >= 2 and len(dead.received) >= 2)
            await reader.notices.put("fast", [alarm(9)])
            news.set()
            await until(lambda: len(fast.ids) == 4)
            states = {state.name: state for state in await reader.notices.states()}
    assert (states["fast"].failures, states["fast"].sent) in {(0, 3), (0, 4)}
    assert (states["slow"].last_error, states["slow"].waiting) == ("no answer within 1 s", 3)
    assert (states["dead"].last_error, states["dead"].waiting) == ("HTTP 503 Service Unavailable", 3)
    assert states["dead"].next_try_at > 0
    assert {got.headers["X-Notice-Id"] for got in dead.received} == {dead.received[0].headers["X-Notice-Id"]}


def once(first: Answer) -> Callable[[object], Answer]:
    """Return an answer for each request: `first` for the first, success for the others."""
    answers = [first]
    return lambda _: answers.pop() if answers else Answer()


async def test_what_failed_is_tried_again_as_it_was(reader: NoticeEventReader) -> None:
    destination = webhook(batch_seconds=0)
    await queued(reader, destination, trade(1), trade(2))
    async with receiving(once(Answer(500))) as receiver, delivering(reader, {destination: receiver}):
        await until(lambda: len(receiver.received) == 1)
        await reader.notices.put("desk", [trade(3)])
        await until(lambda: len(receiver.ids) == 5)
    assert receiver.ids == ["trade:1", "trade:2", "trade:1", "trade:2", "trade:3"]
    assert receiver.received[0].body == receiver.received[1].body
    assert receiver.received[1].at - receiver.received[0].at >= 0.9 * MICROSECONDS


async def test_who_asks_to_be_left_alone_is(reader: NoticeEventReader) -> None:
    destination = webhook(batch_seconds=0)
    await queued(reader, destination, alarm(1))
    async with receiving(once(Answer(429, headers={"Retry-After": "3"}))) as receiver:
        async with delivering(reader, {destination: receiver}):

            async def is_recorded() -> bool:
                (state,) = await reader.notices.states()
                return state.failures == 1

            await until(is_recorded)
        # ended and started again in between
        async with delivering(reader, {destination: receiver}):
            await until(lambda: len(receiver.received) == 2)
    assert receiver.received[1].at - receiver.received[0].at >= 3 * MICROSECONDS
    assert len(set(receiver.ids)) == 1


async def test_what_is_rejected_is_given_up_at_once_and_the_rest_goes_on(reader: NoticeEventReader) -> None:
    destination = webhook(batch_seconds=0)
    await queued(reader, destination, alarm(1))
    async with receiving(once(Answer(400))) as receiver, delivering(reader, {destination: receiver}) as news:
        await until(lambda: len(receiver.received) == 1)
        await reader.notices.put("desk", [trade(1)])
        news.set()
        await until(lambda: len(receiver.received) == 2)
    (failed,) = await reader.notices.failed()
    assert (failed.notice.notice_id, failed.reason) == ("alarm:1", "HTTP 400 Bad Request")
    assert receiver.ids == ["alarm:1", "trade:1"]


async def test_what_nobody_took_for_too_long_is_given_up(reader: NoticeEventReader) -> None:
    destination = replace(webhook(batch_seconds=0), drop_after_minutes=1.5 / 60)
    await queued(reader, destination, alarm(1))
    begun = wall_now()
    async with receiving(lambda _: Answer(503)) as receiver, delivering(reader, {destination: receiver}):

        async def is_given_up() -> bool:
            (state,) = await reader.notices.states()
            return state.failed == 1

        await until(is_given_up)
    assert wall_now() - begun >= 1.5 * MICROSECONDS
    (failed,) = await reader.notices.failed()
    assert failed.reason == "not delivered within 0.025 minutes: HTTP 503 Service Unavailable"
    (state,) = await reader.notices.states()
    assert (state.waiting, state.failed) == (0, 1)
