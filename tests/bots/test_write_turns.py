"""Who of a deciding process writes next."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from bots.decide.write_turns import MAX_IN_A_ROW, WriteTurns


class Writers:
    """Tasks that each take one turn, which lasts until `end` is called."""

    def __init__(self) -> None:
        self.waiting_opportunities = 0
        self.turns = WriteTurns(lambda: self.waiting_opportunities > 0)
        self.began: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, *names: str) -> None:
        """Decisions begin with `d`, bookings with `b`."""
        for name in names:
            turn = self.turns.to_decide() if name.startswith("d") else self.turns.to_book()
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._write(name, turn))
            await self._settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._settle()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await self._settle()

    async def _write(self, name: str, turn: AbstractAsyncContextManager[None]) -> None:
        async with turn:
            self.began.append(name)
            await self._ends[name].wait()

    async def _settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("arrivals", "order"),
    [
        (["b1", "b2", "b3"], ["b1", "b2", "b3"]),
        (["d1", "d2", "d3"], ["d1", "d2", "d3"]),
        (["b1", "b2", "d1"], ["b1", "d1", "b2"]),
        (["d1", "b1", "d2", "b2", "d3"], ["d1", "d2", "d3", "b1", "b2"]),
    ],
)
async def test_decisions_pass_bookings_that_wait(arrivals: list[str], order: list[str]) -> None:
    writers = Writers()
    await writers.start(*arrivals)
    for name in order:
        assert writers.began[-1] == name, "one writes at a time"
        await writers.end(name)
    assert writers.began == order


async def test_a_booking_waits_for_opportunities_that_nobody_has_taken_out_yet() -> None:
    writers = Writers()
    writers.waiting_opportunities = 1
    await writers.start("b1")
    assert writers.began == []
    writers.waiting_opportunities = 0
    await writers.start("d1")
    await writers.end("d1")
    assert writers.began == ["d1", "b1"]


async def test_so_many_decisions_pass_a_booking_and_no_more() -> None:
    writers = Writers()
    decisions = [f"d{number}" for number in range(MAX_IN_A_ROW + 2)]
    await writers.start(decisions[0], "b1", *decisions[1:])
    for name in [*decisions[:MAX_IN_A_ROW], "b1", *decisions[MAX_IN_A_ROW:]]:
        assert writers.began[-1] == name
        await writers.end(name)


@pytest.mark.parametrize("cancelled", ["d1", "d2"])
async def test_a_decision_that_is_cancelled_holds_nobody_up(cancelled: str) -> None:
    writers = Writers()
    await writers.start("d1", "d2", "b1")
    await writers.cancel(cancelled)
    await writers.end("d2" if cancelled == "d1" else "d1")
    assert writers.began[-1] == "b1"


async def test_a_booking_that_is_cancelled_leaves_the_turn_to_the_next() -> None:
    writers = Writers()
    await writers.start("d1", "b1", "b2")
    await writers.cancel("b1")
    await writers.end("d1")
    assert writers.began == ["d1", "b2"]
