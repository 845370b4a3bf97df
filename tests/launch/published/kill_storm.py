"""Published apps whose processes and services are killed while versions come and go, and what they had to give."""

import asyncio
import os
import random
import signal
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import psutil
from pymongo.errors import PyMongoError

from launch.published.hosted import published_source
from launch.supervisor.children import Child
from launch.supervisor.forks import Template
from launch.supervisor.process_groups import group_members, signal_group
from launch.supervisor.process_plan import APPS as PART
from launch.supervisor.process_plan import own_processes
from market.time_units import MICROSECONDS
from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError
from runtime.backoff import retry_on
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.errors import StoreUnavailableError
from store.mongo.store import open_store
from store.records.apps import AppVersion, AppWanted
from streams.broker.embedded_broker import wait_ready
from streams.errors import StreamError
from streams.message_format import row_of
from streams.records import Record
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, TICKS
from tests.launch.published.published_world import TERMS
from tests.service_process import ServiceProcess
from tests.services import note_session, wait_primary
from tests.ui.serving import Served, served_again

NUMBERED = "from quotes select sequence, exchange, count() as n insert into Numbered;"
LASTS = """from quotes select exchange, bid, count() as n group by exchange
update or insert into Lasts set Lasts.bid = bid, Lasts.n = n on Lasts.exchange == exchange;
"""
SUMS = """define aggregation Sums from quotes select exchange, sum(bid) as total, count() as n
group by exchange aggregate every sec ... hour;
"""
ONE_MORE = "from quotes select exchange, count() as quotes group by exchange insert into Counted;"
TEXTS = {
    "plain": f"""@App:name('plain') define table Lasts (exchange string, bid double, n long); {SUMS} {NUMBERED} {LASTS}
    from quotes#window.length(50) select sequence, avg(bid) as mean insert into Means;""",
    "kept": f"""@App:name('kept') @store(type = 'c8db', collection = 'lasts') @PrimaryKey('exchange')
    define table Lasts (exchange string, bid double, n long);
    @store(type = 'c8db', collection = 'sums') {SUMS} {NUMBERED} {LASTS}""",
}
"""One on `ticks` alone, and one with an input log and stored tables. A second version of each has one more query."""
EXCHANGES = ("alpha", "beta", "gamma")
WINDOW = 50
ROWS_AT_A_TIME, PAUSE_SECONDS = 10, 0.03
LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 180.0
MINUTE_MS = 60_000

Moment = tuple[str, str | None]
"""Who is killed, and what was ordered just before."""
ORDERS: Mapping[str, tuple[AppWanted, int | None]] = {
    "newer": ("published", 2),
    "older": ("published", 1),
    "stop": ("stopped", None),
}


def quotes(count: int, begin: int) -> list[bytes]:
    """Return prices in quarters, so that their sums are exact; a row each half second from `begin` (microseconds)."""
    chance, rows = random.Random(count), list[bytes]()
    for number in range(count):
        at, bid = begin + number * MICROSECONDS // 2, 100 + chance.randrange(-80, 80) / 4
        market = {"kind": "quote", "exchange": chance.choice(EXCHANGES), "symbol": "BTC/USD", "base": "BTC"}
        best = {"quote_currency": "USD", "bid": str(bid), "bid_amount": "1", "ask": str(bid + 0.25), "ask_amount": "1"}
        rows.append(orjson.dumps({**market, **best, "exchange_time": at, "received_time": at, "sequence": number}))
    return rows


class Feed:
    """Writes rows of the log, each once, through outages of Kafka."""

    def __init__(self, kafka: str, rows: Sequence[bytes], first: int) -> None:
        self._kafka, self._rows, self._first = kafka, rows, first
        self.written = 0

    async def run(self) -> None:
        while self.written < len(self._rows):
            writer = TopicWriter(self._kafka, is_gapless=True)
            try:
                await writer.open()
                self.written = await log_end(self._kafka) - self._first
                await self._write(writer)
            except StreamError:
                await SystemClock().sleep(PAUSE_SECONDS)
            finally:
                with suppress(StreamError):
                    await writer.close()

    async def until(self, count: int) -> None:
        while self.written < min(count, len(self._rows)):
            await SystemClock().sleep(PAUSE_SECONDS)

    async def _write(self, writer: TopicWriter) -> None:
        while rows := self._rows[self.written : self.written + ROWS_AT_A_TIME]:
            for row in rows:
                writer.write(TICKS, row, partition=0)
            await writer.flush()
            self.written += len(rows)
            await SystemClock().sleep(PAUSE_SECONDS)


async def log_end(kafka: str) -> int:
    async with TopicReader(kafka, (TICKS,), "latest") as reader:
        return (await reader.end_offsets())[TICKS, 0]


@dataclass
class KilledWorld:
    """The services, and the part that runs published apps, as a supervisor would have them. `ui`: if there is one."""

    session: Session
    kafka: ServiceProcess
    mongodb: ServiceProcess
    template: Template
    part: Child | None = None
    ui: Served | None = None
    held: ExitStack = field(default_factory=ExitStack)

    @property
    def door(self) -> AppDoor:
        return AppDoor(self.session.home)

    async def start_part(self) -> None:
        (part,) = (one for one in own_processes(self.session, (), fed=True) if one.name == PART)
        self.part = await self.template.start_part(part, self.session.home / "logs" / "apps.log")

    async def start_ui(self) -> None:
        self.ui = await asyncio.to_thread(self.held.enter_context, served_again(self.session))

    async def kill(self, victim: str) -> None:
        """Kill by signal 9, and start again what a supervisor starts again."""
        match victim:
            case "worker":
                await self._kill_worker()
            case "part":
                await self.kill_part()
                await self.start_part()
            case "kafka":
                self.kafka.kill()
                await self._start_kafka()
            case "mongodb":
                self.mongodb.kill()
                await self._start_mongodb()
            case "ui":
                if self.ui is not None:
                    await asyncio.to_thread(self.ui.kill)
                await self.start_ui()
            case _:
                await self.kill_everything()
                await self.start_everything()

    async def kill_everything(self) -> None:
        self.kafka.kill()
        self.mongodb.kill()
        await self.kill_part()

    async def start_everything(self) -> None:
        await asyncio.gather(self._start_kafka(), self._start_mongodb())
        await self.start_part()

    async def kill_part(self) -> None:
        child, self.part = self.part, None
        if child is not None:
            signal_group(child.pid, signal.SIGKILL)
            while group_members(child.pid):
                child.poll()
                await SystemClock().sleep(LOOK_SECONDS)

    async def supervise(self) -> None:
        """Start the part again if it ends by itself, as a supervisor does."""
        while True:
            await SystemClock().sleep(LOOK_SECONDS)
            if self.part is not None and self.part.poll() is not None:
                await self.kill_part()
                await self.start_part()

    async def order(self, what: str) -> None:
        """Order the same of both apps, as soon as the store takes it."""

        async def ordered() -> None:
            wanted, version = ORDERS[what]
            async with await open_store(self.session) as store:
                for name in TEXTS:
                    assert await store.apps.order(name, wanted, "ada", version) is not None

        await retry_on(ordered, (StoreUnavailableError,), lambda _: None, first=LOOK_SECONDS)

    async def until_running(self) -> None:
        """Wait until both apps run, by what the store and the door say."""
        async with asyncio.timeout(PATIENCE_SECONDS), await open_store(self.session) as store:
            while True:
                with suppress(AppDoorSilentError, StoreUnavailableError):
                    found = {one.name: one.state_in(self.session.session_id) for one in await store.apps.apps()}
                    assert all(state != "failed" for state, _ in found.values()), found
                    is_said = all(found[name][0] == "running" for name in TEXTS)
                    if is_said and set(await self.door.all_status()) >= set(TEXTS):
                        return
                await SystemClock().sleep(LOOK_SECONDS)

    async def _kill_worker(self) -> None:
        """Kill the process that has the apps, unless it is being started at this moment."""
        with suppress(AppDoorSilentError, AppDoorRefusedError, psutil.NoSuchProcess, KeyError):
            for worker in (await self.door.status("plain"))["workers"]:
                if worker["pid"] is not None:
                    os.kill(worker["pid"], signal.SIGKILL)

    async def _start_kafka(self) -> None:
        self.kafka.start()
        await wait_ready(self.session.services.kafka, PATIENCE_SECONDS)

    async def _start_mongodb(self) -> None:
        self.mongodb.start()
        # one that recovers on a busy machine may lose its place again for a moment
        await retry_on(lambda: wait_primary(self.mongodb), (PyMongoError,), lambda _: None)


@asynccontextmanager
async def killed_world(session: Session, kafka: ServiceProcess, mongodb: ServiceProcess) -> AsyncIterator[KilledWorld]:
    """Yield it with the part running, and two versions of both apps stored, the first of which is wanted."""
    note_session(session)
    template = Template(session.home)
    template.start()
    world = KilledWorld(session, kafka, mongodb, template)
    supervising = asyncio.ensure_future(world.supervise())
    try:
        async with await open_store(session) as store:
            for name, text in TEXTS.items():
                await store.apps.create(name, text, "ada")
                await store.apps.replace(name, text + ONE_MORE, 1, "ada")
        await world.order("older")
        await world.start_part()
        yield world
    finally:
        supervising.cancel()
        await asyncio.gather(supervising, return_exceptions=True)
        await world.kill_part()
        template.stop()
        world.held.close()


def moments(victims: Sequence[str], count: int, seed: int) -> list[Moment]:
    """Return `count` moments of each, mixed; before two of three something is ordered."""
    chance, found = random.Random(seed), [victim for victim in victims for _ in range(count)]
    chance.shuffle(found)
    return [(victim, chance.choice((*ORDERS, "newer", "older", None, None))) for victim in found]


async def storm(world: KilledWorld, feed: Feed, planned: Iterable[Moment], rows_between: int, seed: int) -> None:
    """Kill while rows are written; what was ordered just before may be half done."""
    chance, at = random.Random(seed), 0
    for victim, order in planned:
        at = max(at, feed.written) + chance.randrange(rows_between // 3, rows_between)
        await feed.until(at)
        if order is not None:
            await world.order(order)
        await world.kill(victim)


@dataclass(frozen=True, slots=True)
class Truth:
    """What follows from the log, computed plainly. By sequence: how many rows there were with it, and the mean of the
    last ones; by exchange the last price and how many; by minute and exchange the sum and how many."""

    numbers: Mapping[int, int]
    means: Mapping[int, float]
    lasts: Mapping[str, tuple[float, int]]
    sums: Mapping[tuple[int, str], tuple[float, int]]


async def truth(kafka: str, first: int) -> Truth:
    """Return what follows from the rows of `ticks` from `first` on."""
    numbers, means, lasts = dict[int, int](), dict[int, float](), dict[str, tuple[float, int]]()
    sums: dict[tuple[int, str], tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    bids = list[float]()
    async with TopicReader(kafka, (TICKS,), {(TICKS, 0): first}) as reader:
        async for record in reader.records_to_end():
            row = row_of(record.value)
            exchange, bid, minute = row["exchange"], float(row["bid"]), row["received_time"] // 1_000 // MINUTE_MS
            bids.append(bid)
            numbers[row["sequence"]] = len(bids)
            means[row["sequence"]] = sum(bids[-WINDOW:]) / len(bids[-WINDOW:])
            lasts[exchange] = bid, lasts.get(exchange, (0.0, 0))[1] + 1
            total, count = sums[minute * MINUTE_MS, exchange]
            sums[minute * MINUTE_MS, exchange] = total + bid, count + 1
    return Truth(numbers, means, lasts, dict(sums))


@dataclass(frozen=True, slots=True)
class Given:
    """What an app wrote, all versions together. `rows`: by stream and sequence, the values of each id. `repeats`: rows
    that were written again."""

    rows: Mapping[str, Mapping[int, Sequence[Mapping[str, Any]]]]
    repeats: int


def given(records: Iterable[Record], labels: frozenset[str]) -> Given:
    """Raise AssertionError if a row that was written again is another one."""
    by_id, written = dict[str, bytes](), 0
    for record in records:
        if record.key in labels:
            written += 1
            identity = row_of(record.value)["id"]
            first = by_id.setdefault(identity, record.value)
            assert first == record.value, f"at {record.offset}: {record.value!r}, and before {first!r}"
    rows: dict[str, dict[int, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in map(row_of, by_id.values()):
        if "sequence" in row["values"]:
            rows[row["stream"]][row["values"]["sequence"]].append(row["values"])
    return Given(rows, written - len(by_id))


def labels_of(session: Session, name: str) -> frozenset[str]:
    texts = (TEXTS[name], TEXTS[name] + ONE_MORE)
    versions = (AppVersion(name, number, text, "ada", 1) for number, text in enumerate(texts, 1))
    return frozenset(published_source(session, one, TERMS).label for one in versions)


async def all_given(session: Session, wanted: Truth) -> dict[str, Given]:
    """Wait until both apps have given a row for each of the log; return what they gave."""
    labels = {name: labels_of(session, name) for name in TEXTS}
    missing, records = {name: set(wanted.numbers) for name in TEXTS}, list[Record]()
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        TopicReader(session.services.kafka, (APPS,), "earliest") as reader,
    ):
        async for record in reader.records():
            records.append(record)
            for name in (one for one in TEXTS if record.key in labels[one]):
                row = row_of(record.value)
                if row["stream"] == "Numbered":
                    missing[name].discard(row["values"]["sequence"])
            if not any(missing.values()):
                break
        records += [record async for record in reader.records_to_end()]
    return {name: given(records, labels[name]) for name in TEXTS}


def faults(found: Given, wanted: Truth, *, has_means: bool) -> Iterator[str]:
    """Yield what is lost, there twice, or another value than the log's."""
    for stream, column, values in (("Numbered", "n", wanted.numbers), ("Means", "mean", wanted.means)):
        if stream == "Means" and not has_means:
            continue
        rows = found.rows.get(stream, {})
        for sequence, value in values.items():
            got = [row[column] for row in rows.get(sequence, ())]
            if got != [value]:
                yield f"{stream} {sequence}: {got} in place of {value}"


async def asked(door: AppDoor, app: str, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of an on-demand query, once the app can be asked."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(AppDoorSilentError):
                return [tuple(row) for row in (await door.query(app, query)).rows]
            await SystemClock().sleep(LOOK_SECONDS)


async def state_of(door: AppDoor, app: str) -> tuple[dict[str, tuple[float, int]], dict[tuple[int, str], Any]]:
    """Return what the app's table and aggregation have, as Truth has it."""
    lasts = await asked(door, app, "from Lasts select exchange, bid, n;")
    within = "within '2020-01-01 00:00:00', '2100-01-01 00:00:00' per 'minutes'"
    sums = await asked(door, app, f"from Sums {within} select AGG_TIMESTAMP, exchange, total, n;")
    assert Counter(len(row) for row in sums) == {4: len(sums)}
    return {one: (bid, n) for one, bid, n in lasts}, {(at, one): (total, n) for at, one, total, n in sums}


def begin_of_log() -> int:
    """Return the time of the first row: a whole minute."""
    return wall_now() // (60 * MICROSECONDS) * 60 * MICROSECONDS


def home_of(folder: Path) -> Path:
    home = folder / "session"
    (home / "logs").mkdir(parents=True)
    return home
