"""Many apps over made-up logs, by what each host runs, without Spark and Kafka: the resident host's kernel, cut
and gone on from its snapshots on disk, that of batch, that of the structured host by key, and the tester. `make soak`
does the same with both."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from backtest.apps.replay import replayed
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.log_rows import RowReading
from cep.apps.resident.kernel import PlacedApp, ResidentKernel
from cep.apps.structured.keyed_app import KeyedApp
from streams.message_format import row_of
from streams.records import Record
from tests.cep.apps.equality.app_logs import PARTITIONS, all_sources, input_rows
from tests.cep.apps.equality.host_runs import Logged
from tests.cep.apps.equality.tester_runs import differences_of_tester
from tests.cep.apps.hosts.test_hosts_agree import rows_by_partition
from tests.cep.apps.structured.test_keyed_app import DictStates
from tests.cep.logs import LogMaker

SOURCES = all_sources()
QUIET = frozenset(("unusual-price", "bars", "churn", "spread-widening", "exchange-signals"))
"""Apps that so short a log, or a market as made up here, gives nothing to do."""
TICK_ROWS, INPUT_ROWS, CUTS = 600, 200, 3


@cache
def log_of(name: str) -> Logged:
    source = SOURCES[name]
    if source.is_merged:
        rows = list(input_rows(source, 41, INPUT_ROWS))
    else:
        maker = LogMaker(41)
        maker.write(TICK_ROWS)
        rows = list(rows_by_partition(maker.end()))
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    log = list[Record]()
    for partition, row in rows:
        log.append(Record(source.topic, partition, offsets[partition], None, row, 1_700_000_000_000_000))
        offsets[partition] += 1
    return Logged(source, log)


def wanted(name: str) -> list[bytes]:
    return [app_message(row) for row in log_of(name).rows]


def of_partition(one: Logged, partition: int) -> list[Record]:
    return [record for record in one.mine if record.partition == partition]


def parts_of(records: list[Record], chance: random.Random) -> Iterable[list[Record]]:
    cuts = sorted(chance.sample(range(len(records) + 1), min(CUTS, len(records))))
    for begin, end in zip((0, *cuts), (*cuts, len(records)), strict=True):
        yield records[begin:end]


def test_they_are_more_than_twenty_and_give_rows() -> None:
    assert len(SOURCES) > 20
    assert {name for name in SOURCES if not wanted(name)} <= QUIET


@pytest.mark.parametrize("name", SOURCES)
def test_cut_and_gone_on_from_its_snapshots_the_resident_kernel_gives_the_same(name: str, tmp_path: Path) -> None:
    one, found = log_of(name), list[bytes]()
    for partition in range(PARTITIONS):
        placed = PlacedApp(one.source, tmp_path, {(one.source.topic, partition): 0})
        for part in parts_of(of_partition(one, partition), random.Random(name)):
            kernel = ResidentKernel(placed, partition)
            found += [
                app_message(row) for record in part for row in kernel.take(record, row_of(record.value), RowReading())
            ]
            kernel.keep(kernel.snapshot())
    assert sorted(found) == sorted(wanted(name))


@dataclass(frozen=True, slots=True)
class Recorded:
    """One partition, as recordings give it."""

    partition: int
    records: list[Record]

    def messages(self) -> Iterable[tuple[int, int, dict[str, object]]]:
        return ((one.offset, one.time, row_of(one.value)) for one in self.records)


@pytest.mark.parametrize("name", SOURCES)
def test_batch_gives_the_same(name: str) -> None:
    one = log_of(name)
    partitions = [Recorded(number, of_partition(one, number)) for number in range(PARTITIONS)]
    found = [message for each in partitions for message in replayed(one.source, each)]  # type: ignore[arg-type]
    assert sorted(found) == sorted(wanted(name))


def by_key() -> list[str]:
    return [name for name, source in SOURCES.items() if source.host == "structured"]


@pytest.mark.parametrize("name", by_key())
def test_by_key_it_gives_the_same(name: str) -> None:
    one, found = log_of(name), list[bytes]()
    for partition in range(PARTITIONS):
        states = DictStates()
        for part in parts_of(of_partition(one, partition), random.Random(name)):
            found += _batch(one.source, partition, states, part)
    assert sorted(found) == sorted(wanted(name))


def _batch(source: AppSource, partition: int, states: DictStates, part: list[Record]) -> list[bytes]:
    app = KeyedApp(source, partition, states)
    rows = [row for record in part for row in app.take(record.offset, record.time, row_of(record.value))]
    app.keep()
    return [app_message(row) for row in rows]


@pytest.mark.parametrize("name", SOURCES)
def test_the_tester_gives_the_same(name: str) -> None:
    assert differences_of_tester(log_of(name)) == []
