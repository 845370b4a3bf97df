import asyncio

import pytest

from pricefeeds.together import together


async def _fail(error: Exception) -> None:
    raise error


async def test_the_first_failure_ends_all_and_is_raised_itself() -> None:
    ended = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(KeyError, match="first"):
        await together(wait(), together(wait(), _fail(KeyError("first"))), wait())
    assert ended.is_set()


async def test_all_that_end_are_waited_for() -> None:
    done: list[int] = []

    async def note(number: int) -> None:
        done.append(number)

    await together(note(1), note(2))
    assert sorted(done) == [1, 2]
