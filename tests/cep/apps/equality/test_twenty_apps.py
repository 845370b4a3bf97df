"""Many apps over made-up logs and over a recording: resident, structured, batch and tester give the same rows,
with the same ids if the host gives ids."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pytest

from backtest.apps.recorded_log import KeptInput
from backtest.apps.recorded_messages import RecordedPartition, recorded_ticks
from backtest.apps.replay import replayed_in_spark
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.resident.apps import resident_master
from cep.apps.resident.task import ResidentTask
from launch.sessions.live_apps import Hosting
from launch.setup.data_dir import home_folder
from launch.supervisor.spark_command import quiet_session
from streams.message_format import row_of
from streams.topics import TICKS
from tests.backtest.detection_recordings import binance_set
from tests.cep.apps.equality.app_logs import PARTITIONS, all_sources, input_rows
from tests.cep.apps.equality.host_runs import (
    FIRST,
    Logged,
    collected,
    differing,
    ends,
    logged,
    patient_kafka,
    placed,
    structured,
    with_input_log,
    write_logs,
)
from tests.cep.apps.equality.tester_runs import differences_of_tester
from tests.cep.apps.hosts.test_hosts_agree import recorded, rows_by_partition, running
from tests.cep.logs import LogMaker, session
from tick_sets.sets.log_parts import LogParts

pytestmark = pytest.mark.soak
SEED = 23
TICK_ROWS, INPUT_ROWS, RECORDED_ROWS = 5_000, 800, 6_000
QUIET = frozenset(("unusual-price", "spread-widening"))
"""Apps that a made-up market gives nothing to do; others must give rows."""


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[str]:
    with patient_kafka(tmp_path / "kafka") as address:
        yield address


def kept_partitions(one: Logged, folder: Path) -> list[RecordedPartition]:
    """As the log is kept beside a recording."""
    LogParts(folder).write(one.source.topic, one.mine)
    numbers = sorted({record.partition for record in one.mine})
    return [KeptInput(number, one.source.topic, folder) for number in numbers]


def test_all_hosts_give_the_same_over_made_up_logs(own_kafka: str, tmp_path: Path) -> None:
    (tmp_path / "jars").symlink_to(home_folder() / "jars")
    sources = tuple(all_sources().values())
    asked = tuple(one for one in sources if one.host == "structured")
    assert len(sources) >= 20
    assert len(asked) >= 4
    logs = _made_up_logs(own_kafka, sources)
    halves = [{topic: part(rows) for topic, rows in logs.items()} for part in (_first_half, _second_half)]
    resident = ResidentTask(placed(sources, tmp_path / "resident"), own_kafka)
    settings = {**Hosting(placed(sources, tmp_path), own_kafka).settings}
    with quiet_session(tmp_path, resident_master(PARTITIONS * (1 + len(asked))), settings) as spark:
        for half in halves:
            # ended in between, and gone on
            with running(spark, resident):
                asyncio.run(write_logs(own_kafka, half))
                of_apps = asyncio.run(logged(own_kafka, sources))
                wanted = {app_message(row) for one in of_apps for row in one.rows}
                found = asyncio.run(collected(own_kafka, wanted, FIRST))
            assert differing(found, wanted) == {}
        assert {row_of(one)["app"] for one in wanted} == {one.name for one in sources} - QUIET

        begin = asyncio.run(ends(own_kafka))
        of_keys = {app_message(row) for one in of_apps if one.source in asked for row in one.rows}
        with structured(spark, own_kafka, asked, tmp_path / "structured"):
            by_key = asyncio.run(collected(own_kafka, of_keys, begin))
        assert differing(by_key, of_keys) == {}

        made = session(tmp_path, own_kafka)
        of_session = replace(made, services=replace(made.services, partitions=PARTITIONS))
        of_ticks = next(one.log for one in of_apps if one.source.topic == TICKS)
        session_log = recorded(tmp_path / "log", of_session, of_ticks)
        ticks = recorded_ticks(session_log.tick_set(), session_log)
        for one in of_apps:
            kept = one.source.is_merged
            partitions = kept_partitions(one, tmp_path / "kept" / one.source.label) if kept else [*ticks]
            replayed = list(replayed_in_spark(spark, one.source, partitions))
            rows = {app_message(row) for row in one.rows}
            assert (one.source.name, {message for message, _ in replayed} ^ rows) == (one.source.name, set())
            assert len(replayed) == len(one.rows)
    assert [(one.source.name, problems) for one in of_apps if (problems := differences_of_tester(one))] == []


def _made_up_logs(kafka: str, sources: Iterable[AppSource]) -> dict[str, list[tuple[int, bytes]]]:
    maker = LogMaker(SEED)
    maker.write(TICK_ROWS)
    logs = {TICKS: list(rows_by_partition(maker.end()))}
    for source in sources:
        if source.is_merged:
            asyncio.run(with_input_log(kafka, source.topic))
            logs[source.topic] = list(input_rows(source, SEED, INPUT_ROWS))
    return logs


def _first_half(rows: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    return rows[: len(rows) // 2]


def _second_half(rows: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    return rows[len(rows) // 2 :]


def test_all_hosts_give_the_same_over_a_recording(own_kafka: str, tmp_path: Path) -> None:
    """Ticks of Binance, spot and futures, of 8 August 2024."""
    (tmp_path / "jars").symlink_to(home_folder() / "jars")
    (whole,) = recorded_ticks(binance_set(tmp_path / "set"), None)
    # as the first rows of partition 0, with the offsets that they have in the set
    first = [(offset, row) for offset, _, row in islice(whole.messages(), RECORDED_ROWS)]
    assert [offset for offset, _ in first] == list(range(RECORDED_ROWS))
    sources = tuple(one for one in all_sources().values() if one.topic == TICKS)
    asked = tuple(one for one in sources if one.host == "structured")
    assert len(sources) >= 8
    settings = Hosting(placed(sources, tmp_path), own_kafka).settings
    with quiet_session(tmp_path, resident_master(PARTITIONS * (1 + len(asked))), settings) as spark:
        with running(spark, ResidentTask(placed(sources, tmp_path / "resident"), own_kafka)):
            rows = [(0, orjson.dumps(row, default=str)) for _, row in first]
            asyncio.run(write_logs(own_kafka, {TICKS: rows}))
            of_apps = asyncio.run(logged(own_kafka, sources))
            wanted = {app_message(row) for one in of_apps for row in one.rows}
            found = asyncio.run(collected(own_kafka, wanted, FIRST))
        assert differing(found, wanted) == {}
        begin = asyncio.run(ends(own_kafka))
        of_keys = {app_message(row) for one in of_apps if one.source in asked for row in one.rows}
        with structured(spark, own_kafka, asked, tmp_path / "structured"):
            by_key = asyncio.run(collected(own_kafka, of_keys, begin))
        assert differing(by_key, of_keys) == {}
        for one in of_apps:
            part = FirstRows(replace(whole, partition=0), RECORDED_ROWS)
            replayed = list(replayed_in_spark(spark, one.source, [part]))
            rows_of_app = {app_message(row) for row in one.rows}
            assert (one.source.name, {message for message, _ in replayed} ^ rows_of_app) == (one.source.name, set())
    assert len(wanted) > 1_000
    assert [(one.source.name, problems) for one in of_apps if (problems := differences_of_tester(one))] == []


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows of a recorded partition."""

    whole: RecordedPartition
    count: int

    @property
    def partition(self) -> int | str:
        return self.whole.partition

    def messages(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        yield from islice(self.whole.messages(), self.count)
