import asyncio

import pytest

from runtime.clock import SystemClock
from runtime.tasks import run_again, run_all


async def _wait() -> None:
    await asyncio.Event().wait()


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
        await run_all(wait(), run_all(wait(), _fail(KeyError("first"))), wait())
    assert ended.is_set()


async def test_all_that_end_are_waited_for() -> None:
    done: list[int] = []

    async def note(number: int) -> None:
        done.append(number)

    await run_all(note(1), note(2))
    assert sorted(done) == [1, 2]
    # of none, each has ended
    await run_all()


async def test_a_failure_in_the_moment_of_being_cancelled_does_not_undo_that() -> None:
    release = asyncio.Event()

    async def fail_when_released() -> None:
        await release.wait()
        raise KeyError("in the same moment")

    async def outlive() -> None:
        while True:
            try:
                await run_all(fail_when_released(), _wait())
            except KeyError:
                continue

    task = asyncio.create_task(outlive())
    for _ in range(5):
        await SystemClock().sleep(0)
    release.set()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=5)
    assert done == {task}
    assert task.cancelled()


async def test_what_fails_is_told_and_run_again() -> None:
    told: list[BaseException] = []
    failures: list[Exception] = [KeyError("a"), ValueError("b")]

    async def fail_twice() -> None:
        if len(told) < len(failures):
            raise failures[len(told)]

    await asyncio.wait_for(run_again(fail_twice, told.append, first=0.001), 30)
    assert told == failures


async def test_what_is_run_again_ends_when_it_is_cancelled() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = asyncio.create_task(run_again(wait, lambda _: None))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()
