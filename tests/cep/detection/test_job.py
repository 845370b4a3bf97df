"""The whole process on a real broker in real-time mode: the jar mix, order, bits, and kill -9."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from cep.spark_session import archive_options, archive_path
from launch.setup.data_dir import home_folder
from runtime.clock import SystemClock, wall_now
from session.session import Session
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import OPPORTUNITIES, SPREADS, TICKS
from tests.cep.detection.oracle import Row, Spread, as_written, expected_output
from tests.cep.detection.windows import expected_windows, found_windows
from tests.cep.logs import BASES, LogMaker, session
from tests.services import embedded_kafka, note_session

T = TypeVar("T")
START_SECONDS = 240.0
PROJECT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return a broker of our own: the topics' names are fixed and their rows must be ours alone."""
    with embedded_kafka(tmp_path_factory.mktemp("kafka")) as process:
        yield process.address


@pytest.fixture
def home(tmp_path: Path) -> Path:
    jars = home_folder() / "jars"
    if not (jars / "spark").is_dir():
        pytest.skip("Spark's Kafka connector is not there: run `make setup`")
    # the folder is our own, as the archive of classes that a test makes lands in it
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark").symlink_to(jars / "spark", target_is_directory=True)
    return tmp_path


@pytest.mark.slow
async def test_real_time_mode_equals_a_plain_loop_and_a_kill_changes_nothing(own_kafka: str, home: Path) -> None:
    here = session(home, own_kafka)
    await ensure_topics(own_kafka, here.services.partitions)
    maker = LogMaker(21)
    async with running_cep(here):
        maker.write(4_000)
        await write(own_kafka, maker.end())
        found = await until(lambda: rows_of(own_kafka, OPPORTUNITIES), ends_are_in)
        log = await messages_of(own_kafka, TICKS)
        wanted = expected(log, here)
        assert sum(row["kind"] == "opportunity" for row in wanted) > 500
        # the first row of the log is the probe of spread windows, before the query began
        assert by_base(found) == by_base([row for row in wanted if row["kind"] != "probe" or row["offset"] > 0])
        windows = expected_windows(log, here)
        spreads = await until(lambda: rows_of(own_kafka, SPREADS), lambda rows: len(rows) >= len(windows))
        got = found_windows(spreads)
        assert got.keys() == windows.keys()
        assert all(got[window] == pytest.approx(windows[window], rel=1e-9, abs=1e-5) for window in windows)
    async with running_cep(here):
        maker.rows.clear()
        maker.write(500)
        await write(own_kafka, maker.end())
        both = await until(
            lambda: rows_of(own_kafka, OPPORTUNITIES),
            lambda rows: sum(row["kind"] == "end" for row in rows) >= 3 * len(BASES),
        )
    wanted = expected(await messages_of(own_kafka, TICKS), here)
    assert len(both) > len(wanted), "the second process emitted again what the first had"
    assert distinct(both) == distinct(wanted)


@pytest.mark.soak
async def test_with_an_archive_of_its_classes_the_process_starts_as_well(own_kafka: str, home: Path) -> None:
    here = session(home, own_kafka)
    await ensure_topics(own_kafka, here.services.partitions)
    note_session(here)
    making = await started(home, "archive")
    assert await making.wait() == 0, (home / "cep.log").read_text()[-2_000:]
    assert archive_options(archive_path(home))
    async with running_cep(here):
        assert "[warning]" not in (home / "cep.log").read_text()


@asynccontextmanager
async def running_cep(here: Session) -> AsyncIterator[None]:
    """Return the process, ready; at the end killed with all its children, as no process expects it."""
    note_session(here)
    ready = here.home / "cep_ready"
    ready.unlink(missing_ok=True)
    process = await started(here.home)
    try:
        await until(lambda: asyncio.to_thread(_is_there, ready, process), bool)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def started(home: Path, *arguments: str) -> asyncio.subprocess.Process:
    with (home / "cep.log").open("ab") as output:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.cep.detection.process", str(home), *arguments,
            cwd=PROJECT, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip


def _is_there(ready: Path, process: asyncio.subprocess.Process) -> bool:
    log = (ready.parent / "cep.log").read_text()
    assert process.returncode is None, f"the process ended: {log[-2_000:]}"
    return ready.exists()


async def write(address: str, rows: list[bytes]) -> None:
    writer = TopicWriter(address)
    for row in rows:
        writer.write(TICKS, row, None, 0)
    await writer.flush()
    await writer.close()


async def messages_of(address: str, topic: str) -> list[bytes]:
    async with TopicReader(address, (topic,), "earliest") as reader:
        return [record.value async for record in reader.records_to_end()]


async def rows_of(address: str, topic: str) -> list[Row]:
    return [row_of(message) for message in await messages_of(address, topic)]


async def until(look: Callable[[], Awaitable[T]], is_enough: Callable[[T], bool]) -> T:
    deadline = wall_now() + START_SECONDS * 1_000_000
    while True:
        seen = await look()
        if is_enough(seen):
            return seen
        assert wall_now() < deadline, "what was waited for did not come"
        await SystemClock().sleep(0.3)


def ends_are_in(rows: list[Row]) -> bool:
    return {row["base"] for row in rows if row["kind"] == "end"} == set(BASES)


def expected(log: list[bytes], here: Session) -> list[Row]:
    return [as_written(item) if isinstance(item, Spread) else item for item in expected_output(log, here)]


def by_base(rows: list[Row]) -> dict[str, list[Row]]:
    return {base: [row for row in rows if row["base"] == base] for base in BASES}


def distinct(rows: list[Row]) -> dict[str, dict[str, Row]]:
    """Per base the first opportunity of each id, in the order in which they first came."""
    first: dict[str, dict[str, Row]] = {base: {} for base in BASES}
    for row in rows:
        if row["kind"] == "opportunity":
            first[row["base"]].setdefault(row["opportunity_id"], row)
    return first
