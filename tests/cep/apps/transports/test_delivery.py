"""Queues for each destination: none waits for another, rows keep their order, none is lost."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.apps.ends.sink_ends import OnError
from cep.apps.transports.delivery import MOST_AT_ONCE, MOST_ATTEMPTS, MOST_REFUSED, SinkDelivery
from cep.apps.transports.outbox import AddedRow, RowOutbox
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError
from tests.cep.apps.transports.scripted_sender import ScriptedSender

LIMIT_SECONDS = 30.0


@dataclass(slots=True)
class World:
    """A sink with its outbox. `failed`: ids of rows that were kept as failed, with the reason."""

    outbox: RowOutbox
    sender: ScriptedSender
    failed: list[tuple[str, str]] = field(default_factory=list)

    def delivery(self, on_error: OnError = "wait", first_seconds: float = 0.001) -> SinkDelivery:
        async def keep(rows: Sequence[OutgoingRow], reason: str) -> None:
            self.failed += [(row.id, reason) for row in rows]

        return SinkDelivery("S", self.sender, self.outbox, on_error, keep, first_seconds)

    def add(self, destinations: Sequence[str], first: int = 0) -> list[AddedRow]:
        rows = [
            AddedRow("S", self.sender.server(to), to, OutgoingRow(f"id:{n}", 1_000 + n, {"n": n, "to": to}))
            for n, to in enumerate(destinations, first)
        ]
        self.outbox.add(rows, {}, now=0)
        return rows


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - the other task changes it
            await asyncio.sleep(0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(RowOutbox(tmp_path / "outbox.db"), ScriptedSender())


async def run(delivery: SinkDelivery) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        await delivery.run(until_done=True)


async def test_dead_and_slow_destinations_hold_up_no_other(world: World) -> None:
    dead, slow = {f"h/d{n}" for n in range(5)}, {f"h/s{n}" for n in range(5)}
    away = asyncio.Event()

    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        if destination in dead:
            raise NotTakenError("nobody is there")
        if destination in slow and not away.is_set():
            raise NotTakenError("not now", 0.001)

    world.sender.script = script
    names = [f"h/x{n}" for n in range(40)] + sorted(dead | slow)
    world.add(names * 10)
    delivery = world.delivery()
    task = asyncio.create_task(delivery.run())
    await until(lambda: len(world.sender.taken) >= 400)
    away.set()
    await until(lambda: len(world.sender.taken) >= 450)
    figures = delivery.figures(now=2_000)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert {one["destination"] for one in figures["destinations"]} == dead
    assert {one["reason"] for one in figures["destinations"]} <= {"nobody is there"}
    assert (figures["delivered"], figures["waiting"], figures["dead"]) == (450, 50, 0)
    assert figures["retries"] > 0
    for name in names:
        of_one = [number for to, number in world.sender.taken if to == name]
        assert of_one == sorted(of_one)
    assert world.sender.is_closed


async def test_what_waits_is_sent_by_the_next_run(world: World) -> None:
    world.add(["a", "b"])

    def broken(destination: str, rows: Sequence[OutgoingRow]) -> None:
        raise NotTakenError("away")

    world.sender.script = broken
    task = asyncio.create_task((delivery := world.delivery()).run())
    await until(lambda: delivery.counts.retries >= 4)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    world.sender.script = lambda destination, rows: None
    await run(world.delivery())
    assert sorted(world.sender.taken) == [("a", 0), ("b", 1)]
    assert world.outbox.sinks() == {}


async def test_a_refused_row_of_a_batch_is_found_and_given_up_alone(world: World) -> None:
    attempts = 0

    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        nonlocal attempts
        attempts += 1
        if any(row.values["n"] in (3, 700) for row in rows):
            raise RowsRefusedError("no number of ours")

    world.sender.script, world.sender.most_rows = script, 1_000
    world.add(["a"] * 1_000)
    delivery = world.delivery("store")
    await run(delivery)
    assert [number for _, number in world.sender.taken] == [n for n in range(1_000) if n not in (3, 700)]
    assert world.failed == [("id:3", "no number of ours"), ("id:700", "no number of ours")]
    assert (delivery.counts.delivered, delivery.counts.dead) == (998, 2)
    # by halves, and not one by one
    assert attempts < 60


async def test_of_a_batch_what_was_taken_is_not_sent_again(world: World) -> None:
    batches: list[list[int]] = []

    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        batches.append([row.values["n"] for row in rows])
        if len(batches) == 1:
            raise NotTakenError("slow", taken=3)
        if len(batches) == 2:
            raise RowsRefusedError("no number of ours", ("id:4", "id:8"))

    world.sender.script, world.sender.most_rows = script, 7
    world.add(["a"] * 12)
    delivery = world.delivery("store")
    await run(delivery)
    assert batches == [[*range(7)], [*range(3, 10)], [10, 11]]
    assert [name for name, _ in world.failed] == ["id:4", "id:8"]
    assert (delivery.counts.delivered, delivery.counts.dead) == (10, 2)
    assert world.outbox.sinks() == world.outbox.sizes() == {}


@pytest.mark.parametrize(("on_error", "kept"), [("log", 0), ("store", 1), ("wait", 1)])
async def test_a_row_that_is_refused_is_lost_only_if_the_sink_says_so(
    world: World, on_error: OnError, kept: int
) -> None:
    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        raise RowsRefusedError("no number of ours")

    world.sender.script = script
    world.add(["a"])
    delivery = world.delivery(on_error)
    await run(delivery)
    assert delivery.counts.dead == 1
    assert world.failed == [("id:0", "no number of ours")][:kept]


def refusing_until(count: int, seen: list[int]) -> Callable[[str, Sequence[OutgoingRow]], None]:
    """Return a script that refuses so many rows, and notes which."""

    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        if len(rows) == 1 and len(seen) < count:
            seen.append(rows[0].values["n"])
            raise RowsRefusedError("the answer is 400")
        if len(seen) < count:
            raise RowsRefusedError("the answer is 400")

    return script


@pytest.mark.parametrize("most_rows", [1, 7])
async def test_a_server_that_refuses_everything_is_put_off_by_a_sink_that_waits(world: World, most_rows: int) -> None:
    refused: list[int] = []
    world.sender.script, world.sender.most_rows = refusing_until(10_000, refused), most_rows
    world.add(["a"] * 500)
    # the second attempt is not in this test
    delivery = world.delivery("wait", first_seconds=3_600.0)
    task = asyncio.create_task(delivery.run())
    await until(lambda: bool(delivery.figures(2_000)["destinations"][0]["reason"]))
    (shown,) = delivery.figures(2_000)["destinations"]
    assert (shown["waiting"], shown["reason"]) == (490, "10 rows in turn are refused (the answer is 400)")
    assert [name for name, _ in world.failed] == [f"id:{n}" for n in range(MOST_REFUSED)]
    # another destination of the server has its turn, and its row is taken
    world.sender.script = lambda destination, rows: None
    delivery.note(world.add(["b"], first=500))
    await until(lambda: world.sender.taken == [("b", 500)])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("to", ["one destination", "as many as rows"])
async def test_whatever_is_refused_by_a_server_that_comes_round_is_kept_or_taken(world: World, to: str) -> None:
    refused: list[int] = []
    world.sender.script = refusing_until(MOST_REFUSED + 5, refused)
    world.add([f"s/{0 if to == 'one destination' else n}" for n in range(100)])
    delivery = world.delivery("wait")
    await run(delivery)
    assert [name for name, _ in world.failed] == [f"id:{n}" for n in refused]
    assert sorted(refused + [number for _, number in world.sender.taken]) == list(range(100))
    assert (delivery.counts.dead, delivery.counts.delivered) == (MOST_REFUSED + 5, 85)


async def test_a_bad_row_here_and_there_puts_nobody_off(world: World) -> None:
    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        if rows[0].values["n"] % 3:
            raise RowsRefusedError("no number of ours")

    world.sender.script = script
    world.add(["a"] * 60)
    await run(world.delivery("wait", first_seconds=3_600.0))
    assert (len(world.sender.taken), len(world.failed)) == (20, 40)


async def test_a_batch_is_given_up_only_for_rows_that_had_their_attempts(world: World) -> None:
    batches: list[list[str]] = []

    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        batches.append([row.id for row in rows])
        if len(batches) == MOST_ATTEMPTS - 1:
            delivery.note(world.add(["a", "a"], first=1))
        if len(batches) <= MOST_ATTEMPTS:
            raise NotTakenError("away")

    world.sender.script, world.sender.most_rows = script, 10
    world.add(["a"])
    delivery = world.delivery("store")
    await run(delivery)
    # the last attempt had all three, and only the first was sent in vain often enough
    assert batches[MOST_ATTEMPTS - 1] == ["id:0", "id:1", "id:2"]
    assert world.failed == [("id:0", "away")]
    assert world.sender.taken == [("a", 1), ("a", 2)]
    assert world.outbox.sinks() == {}


async def test_a_bounded_number_of_destinations_has_its_turn_at_a_time(world: World) -> None:
    held = world.sender.held = asyncio.Event()
    before = len(asyncio.all_tasks())
    names = [f"orders/{n}" for n in range(MOST_AT_ONCE * 3)]
    world.add(names)
    task = asyncio.create_task(world.delivery().run())
    await until(lambda: world.sender.most_asked > 0)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) - before <= MOST_AT_ONCE + 1
    held.set()
    await until(lambda: len(world.sender.taken) == len(names))
    assert world.sender.most_asked == MOST_AT_ONCE
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_server_that_is_away_is_asked_for_one_destination_until_it_is_back(world: World) -> None:
    asked: list[int] = []
    is_away = True

    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        if destination.startswith("down/"):
            asked.append(world.sender.most_asked)
            world.sender.most_asked = 0
            if is_away:
                raise NotTakenError("nobody is there", is_of_server=True)

    world.sender.script = script
    names = [f"down/{n}" for n in range(MOST_AT_ONCE * 3)]
    world.add([*names, "up/0", "up/1"])
    delivery = world.delivery()
    task = asyncio.create_task(delivery.run())
    await until(lambda: len(world.sender.taken) == 2 and len(asked) >= MOST_AT_ONCE + 5)
    # those that were on their way at first, then one at a time, beside one of those that were asked before
    assert max(asked[MOST_AT_ONCE + 1 :]) <= 2
    assert delivery.figures(2_000)["destinations"][0]["reason"] == "nobody is there"
    is_away = False
    await until(lambda: len(world.sender.taken) == len(names) + 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_server_that_takes_nothing_from_anybody_is_not_asked_by_all_of_them(world: World) -> None:
    asked: list[tuple[str, int]] = []
    is_overloaded = True

    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        asked.append((destination, world.sender.most_asked))
        world.sender.most_asked = 0
        if is_overloaded:
            raise NotTakenError("the answer is 503")

    world.sender.script = script
    names = [f"h/{n}" for n in range(MOST_AT_ONCE * 3)]
    world.add(names)
    # nobody is asked twice in this test
    delivery = world.delivery(first_seconds=3_600.0)
    task = asyncio.create_task(delivery.run())
    await until(lambda: len(asked) == len(names))
    assert {most for _, most in asked[MOST_AT_ONCE + 1 :]} == {1}
    is_overloaded = False
    # one that has taken nothing yet is asked at once, and shows that the server takes rows again
    delivery.note(world.add(["h/new"], first=len(names)))
    await until(lambda: world.sender.taken == [("h/new", len(names))])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_rows_wait_for_more_only_while_a_batch_is_not_full(world: World) -> None:
    world.sender.most_rows, world.sender.linger_seconds = 3, 3_600.0
    world.add(["a", "a"])
    delivery = world.delivery()
    task = asyncio.create_task(delivery.run())
    await until(lambda: (found := world.outbox.destination("S", "a")) is not None and found.lingers)
    assert world.sender.taken == []
    delivery.note(world.add(["a"], first=2))
    await until(lambda: len(world.sender.taken) == 3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(("on_error", "kept"), [("log", 0), ("store", 1)])
async def test_a_row_that_is_not_taken_is_given_up_if_the_sink_says_so(
    world: World, on_error: OnError, kept: int
) -> None:
    attempts = 0

    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        nonlocal attempts
        attempts += 1
        raise NotTakenError("away")

    world.sender.script = script
    world.add(["a"])
    delivery = world.delivery(on_error)
    await run(delivery)
    assert attempts == MOST_ATTEMPTS
    assert delivery.counts.dead == 1
    assert world.failed == [("id:0", "away")][:kept]


async def test_rows_stay_if_the_store_of_failed_rows_is_away(world: World) -> None:
    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        raise RowsRefusedError("no")

    times = 0

    async def keep(rows: Sequence[OutgoingRow], reason: str) -> None:
        nonlocal times
        times += 1
        if times < 3:
            raise NotTakenError("MongoDB is not reachable")

    world.sender.script = script
    world.add(["a"])
    delivery = SinkDelivery("S", world.sender, world.outbox, "store", keep, first_seconds=0.001)
    await run(delivery)
    assert (times, delivery.counts.dead) == (3, 1)


async def test_a_fault_of_ours_is_raised(world: World) -> None:
    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        raise ZeroDivisionError

    world.sender.script = script
    world.add(["a"])
    with pytest.raises(ZeroDivisionError):
        await run(world.delivery())


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["a/1", "a/2", "b/1"]), max_size=30),
    st.integers(1, 5),
    st.lists(st.sampled_from([None, False, True]), max_size=30),
)
def test_every_row_is_taken_once_and_in_order_whatever_fails(
    tos: list[str], most: int, fails: list[bool | None]
) -> None:
    def script(destination: str, rows: Sequence[OutgoingRow]) -> None:
        if fails and (is_of_server := fails.pop()) is not None:
            raise NotTakenError("away", is_of_server=is_of_server)

    with TemporaryDirectory() as folder:
        world = World(RowOutbox(Path(folder) / "outbox.db"), ScriptedSender(script, most))
        world.add(tos)
        asyncio.run(run(world.delivery(first_seconds=0.0)))
        for name in set(tos):
            expected = [number for number, to in enumerate(tos) if to == name]
            assert [number for to, number in world.sender.taken if to == name] == expected
        world.outbox.close()
