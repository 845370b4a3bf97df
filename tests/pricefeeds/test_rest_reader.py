import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from aiohttp import web

from market.time_units import MICROSECONDS
from pricefeeds.errors import RestFailedError
from pricefeeds.feed.rest_reader import MAX_BODY_BYTES, RestReader, rest_reader
from runtime.clock import SystemClock, wall_now

SECONDS = 20.0
"""An answer's time; a busy machine needs some of it."""
SOON_SECONDS = 0.3
"""Where no answer will come."""


class Answers:
    """What the next questions get, and how many there were."""

    status = 200
    headers: dict[str, str]
    body = b"{}"
    never = False

    def __init__(self) -> None:
        self.headers, self.asked = {}, 0

    async def answer(self, _request: web.Request) -> web.Response:
        self.asked += 1
        if self.never:
            await asyncio.Event().wait()
        return web.Response(body=self.body, status=self.status, headers=self.headers)


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
async def address(answers: Answers) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_get("/book", answers.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def reader(address: str) -> AsyncIterator[RestReader]:
    async with rest_reader(address, SystemClock(), SECONDS) as one:
        yield one


async def test_an_answer_says_when_it_was_asked_for(reader: RestReader) -> None:
    before = wall_now()
    answer = await reader.get("/book")
    assert answer.body == b"{}"
    assert before <= answer.sent <= answer.received <= wall_now()


@pytest.mark.parametrize("status", [400, 403, 404, 418, 429, 500, 503, 520])
async def test_whatever_is_no_answer_is_a_failure(reader: RestReader, answers: Answers, status: int) -> None:
    answers.status = status
    with pytest.raises(RestFailedError, match=str(status)):
        await reader.get("/book")


async def test_an_answer_that_does_not_come_in_time_is_a_failure(answers: Answers, address: str) -> None:
    answers.never = True
    async with rest_reader(address, SystemClock(), SOON_SECONDS) as reader:
        with pytest.raises(RestFailedError, match="did not answer"):
            await reader.get("/book")


async def test_an_endless_answer_is_a_failure(reader: RestReader, answers: Answers) -> None:
    answers.body = b" " * (MAX_BODY_BYTES + 1)
    with pytest.raises(RestFailedError):
        await reader.get("/book")


@pytest.mark.parametrize(
    ("status", "headers"), [(429, {"Retry-After": "60"}), (418, {}), (429, {"Retry-After": "soon"})]
)
async def test_after_too_many_questions_none_is_asked(
    reader: RestReader, answers: Answers, status: int, headers: dict[str, str]
) -> None:
    answers.status, answers.headers = status, headers
    for _ in range(3):
        with pytest.raises(RestFailedError):
            await reader.get("/book")
    assert answers.asked == 1


async def test_questions_go_on_when_the_pause_is_over(reader: RestReader, answers: Answers) -> None:
    answers.status, answers.headers = 429, {"Retry-After": "0"}
    with pytest.raises(RestFailedError):
        await reader.get("/book")
    answers.status = 200
    assert (await reader.get("/book")).body == b"{}"


async def test_a_server_that_is_not_there_is_a_failure() -> None:
    async with rest_reader("http://127.0.0.1:9", SystemClock(), SECONDS) as reader:
        with pytest.raises(RestFailedError):
            await reader.get("/book")


async def test_a_snapshot_waits_for_its_turn_longer_than_a_question_may(answers: Answers, address: str) -> None:
    async with rest_reader(address, SystemClock(), seconds=2.0, pace=0.7) as reader:
        asked = [asyncio.ensure_future(reader.get("/book", patience=SECONDS)) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(RestFailedError, match="too many requests waiting"):
            await reader.get("/book")
        await asyncio.wait(asked)
    assert [one.exception() for one in asked] == [None] * 4


async def test_questions_keep_the_pace_of_the_exchange(answers: Answers, address: str) -> None:
    seconds, pace = 2.0, 2.0 / 3
    async with rest_reader(address, SystemClock(), seconds, pace) as reader:
        asked = [asyncio.ensure_future(reader.get("/book")) for _ in range(6)]
        await asyncio.wait(asked)
    sent = [one.result().sent for one in asked if one.exception() is None]
    assert 3 <= len(sent) < 6
    assert all(later - earlier >= pace * MICROSECONDS * 0.9 for earlier, later in pairwise(sent))
    assert "too many requests waiting" in str(asked[-1].exception())
