"""How far the task that finds cycles has come: it goes on from its newest state, and rows that are gone, or cannot be
read, end nothing."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from cep.detection.cycle_query import CycleFollower, CycleTask, saved_figures
from streams.broker.embedded_broker import wait_ready
from streams.errors import StreamUnavailableError
from streams.message_format import row_of, settings_row
from streams.records import Record
from streams.topic_admin import check_reachable, ensure_topics
from streams.topics import CYCLE_OPPORTUNITIES, TICKS, session_topics
from tests.backtest.cycle_sets import BEGIN, SETTINGS, random_rows
from tests.cep.detection.test_cycle_detection import CYCLES, log_row
from tests.cep.detection.test_job import rows_of, until, write
from tests.service_process import ServiceProcess
from tests.services import START_SECONDS, embedded_kafka

FIRST = 100


def task(folder: Path) -> CycleTask:
    settings = settings_row(SETTINGS, BEGIN, ("BTC", "ETH")).decode()
    return CycleTask(CYCLES, "unused", FIRST, settings, folder)


def log(count: int = 200) -> list[Record]:
    rows = [orjson.dumps(log_row(row, number)) for number, row in enumerate(random_rows(8, count), 1)]
    return [Record(TICKS, 0, FIRST + number, None, value, BEGIN) for number, value in enumerate(rows)]


def ids(follower: CycleFollower, records: Iterable[Record]) -> list[str]:
    return [str(row_of(message)["opportunity_id"]) for record in records for _, message in follower.take(record)]


def test_it_begins_where_the_query_of_pairs_began(tmp_path: Path) -> None:
    before = Record(TICKS, 0, FIRST - 1, None, b"no row", BEGIN)
    follower = CycleFollower(task(tmp_path))
    assert follower.next == FIRST
    assert ids(follower, [before]) == []
    assert follower.next == FIRST
    assert len(ids(follower, log())) > 20
    assert follower.next == FIRST + 200


def test_after_a_kill_it_repeats_what_came_behind_its_newest_state_and_loses_nothing(tmp_path: Path) -> None:
    records = log()
    whole = ids(CycleFollower(task(tmp_path / "whole")), records)
    first = CycleFollower(task(tmp_path / "killed"))
    found = ids(first, records[:90])
    first.save(first.state())
    ids(first, records[90:120])
    second = CycleFollower(task(tmp_path / "killed"))
    assert second.next == FIRST + 90
    assert found + ids(second, records[90:]) == whole


def test_what_was_being_written_when_it_was_killed_is_no_state(tmp_path: Path) -> None:
    first = CycleFollower(task(tmp_path))
    ids(first, log()[:50])
    state = first.state()
    ids(first, log()[50:])
    first.save(state)
    assert CycleFollower(task(tmp_path)).next == FIRST + 50


@pytest.mark.parametrize("state", [b"", b"x\n{}", b"150\nno JSON", b"150\n{}", b'150\n{"quotes": [[{}, 1]]}'])
def test_a_state_that_is_none_is_not_used(tmp_path: Path, state: bytes, caplog: pytest.LogCaptureFixture) -> None:
    CycleFollower(task(tmp_path)).save(state)
    assert CycleFollower(task(tmp_path)).next == FIRST
    assert "state of cycles not used: the log is read again" in caplog.messages


def test_a_row_that_cannot_be_read_leads_to_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records = log()
    whole = ids(CycleFollower(task(tmp_path / "one")), records)
    follower = CycleFollower(task(tmp_path / "two"))
    bad = (b"no JSON", b"[]", orjson.dumps({**orjson.loads(records[0].value), "bid": None, "kind": "quote"}))
    spoilt = [Record(TICKS, 0, FIRST + number, None, value, BEGIN) for number, value in enumerate(bad)]
    moved = [Record(TICKS, 0, one.offset + len(bad), None, one.value, BEGIN) for one in records]
    assert ids(follower, [*spoilt, *moved]) == whole
    assert caplog.messages.count("row not read") == len(bad)


def test_rows_that_are_gone_take_the_quotes_before_them_along(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records = log()
    follower, other = CycleFollower(task(tmp_path / "one")), CycleFollower(task(tmp_path / "two"))
    ids(follower, records[:50])
    ids(other, records[:40])
    assert ids(follower, records[60:]) == ids(other, records[60:])
    assert caplog.messages.count("rows are gone from the log: cycles are found without them") == 2


def test_rows_that_are_gone_leave_the_newest_settings_in_force(tmp_path: Path) -> None:
    records = log()
    closed = settings_row(SETTINGS.model_copy(update={"emit_net_bps": 9_000.0}), BEGIN, ("BTC", "ETH"))
    follower = CycleFollower(task(tmp_path))
    assert ids(follower, records[:50])
    assert ids(follower, [replace(records[50], value=closed)]) == []
    assert ids(follower, records[60:]) == []


@pytest.mark.slow
async def test_an_outage_of_kafka_is_waited_for(own_kafka: ServiceProcess, tmp_path: Path) -> None:
    address, rows = own_kafka.address, [record.value for record in log()]
    await ensure_topics(address, 1, session_topics(has_regions=False, has_cycles=True))
    await write(address, rows[:100])
    own_kafka.kill()
    here = replace(task(tmp_path), kafka=address, first=0)
    following = asyncio.create_task(here.stay())
    # long enough for it to be told that nobody is there
    with pytest.raises(StreamUnavailableError):
        await check_reachable(address)
    own_kafka.start()
    await wait_ready(address, START_SECONDS)
    await write(address, rows[100:])
    whole = [Record(TICKS, 0, number, None, value, BEGIN) for number, value in enumerate(rows)]
    expected = ids(CycleFollower(replace(here, folder=tmp_path / "other")), whole)
    found = await until(lambda: rows_of(address, CYCLE_OPPORTUNITIES), lambda found: len(found) >= len(expected))
    assert [row["opportunity_id"] for row in found] == expected
    assert not following.done()
    following.cancel()
    await asyncio.wait([following])


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[ServiceProcess]:
    with embedded_kafka(tmp_path) as process:
        yield process


def test_its_newest_state_says_how_far_it_has_come(tmp_path: Path) -> None:
    assert saved_figures(tmp_path) == {}
    follower = CycleFollower(task(tmp_path))
    ids(follower, log()[:50])
    state = follower.state()
    follower.save(state)
    figures = saved_figures(tmp_path)
    assert (figures["offsets"], figures["state_bytes"]) == ({"0": FIRST + 50}, len(state))
    assert isinstance(figures["checkpoint_at"], int)
