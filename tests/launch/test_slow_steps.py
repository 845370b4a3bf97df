"""What a step says that takes long."""

import asyncio

import pytest

from launch.supervisor.slow_steps import reported_if_slow


async def test_a_step_that_takes_long_says_what_it_waits_for_until_it_ends() -> None:
    said: list[str] = []
    is_over = asyncio.Event()

    async def step() -> int:
        await is_over.wait()
        return 7

    def hear(line: str) -> None:
        said.append(line)
        if len(said) == 3:
            is_over.set()

    left = ["kafka, ui", "", "kafka", "ui"]
    assert await reported_if_slow(step(), lambda: left.pop(0), hear, 0.01, 0.01) == 7
    assert said == ["kafka, ui", "kafka", "ui"]


async def test_a_quick_step_says_nothing_and_a_failed_one_fails() -> None:
    said: list[str] = []

    async def fail() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await reported_if_slow(fail(), lambda: "waiting", said.append)
    assert said == []


async def test_who_is_stopped_stops_its_step() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    telling = asyncio.create_task(reported_if_slow(step(), lambda: "", print))
    await began.wait()
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    assert telling.cancelled()
    assert ended.is_set()
