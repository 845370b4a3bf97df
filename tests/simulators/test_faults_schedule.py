"""Faults by the clock: in time, the same again, and rejected at the start if they make no sense."""

import json
from itertools import islice
from pathlib import Path

import pytest

from simulators.catalogue import EXCHANGES
from simulators.faults.fault_kinds import FAULT_KINDS, Fault, FaultRejectedError, Faults
from simulators.faults.schedule import FaultSchedule, ScheduledFault, schedule_of, seeded_faults
from simulators.server import listed_symbols
from tests.exchanges.stepped_clock import SteppedClock

SYMBOLS = listed_symbols(EXCHANGES)


def test_faults_come_in_their_time() -> None:
    clock = SteppedClock()
    faults = Faults(clock, SYMBOLS)
    entries = [ScheduledFault(1.0, Fault("kraken", "ban", 1)), ScheduledFault(2.5, Fault("binance", "latency", 1))]
    schedule = FaultSchedule(faults, clock, entries)
    seen = []
    for _ in range(4):
        schedule.advance()
        seen.append([active.fault.kind for active in faults.active()])
        clock.advance(1)
    assert seen == [[], ["ban"], ["ban"], ["ban", "latency"]]


def test_a_seed_gives_the_same_faults_at_its_rate_and_all_kinds_of_them() -> None:
    faults = list(islice(seeded_faults(7, 30, EXCHANGES), 600))
    assert faults == list(islice(seeded_faults(7, 30, EXCHANGES), 600))
    assert faults != list(islice(seeded_faults(8, 30, EXCHANGES), 600))
    assert 1_000 < faults[-1].at < 1_400
    assert {entry.fault.kind for entry in faults} == set(FAULT_KINDS)
    assert {entry.fault.exchange for entry in faults} == set(EXCHANGES)
    for entry in faults:
        entry.fault.check(SYMBOLS)


def test_a_file_is_read_in_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    rows = [
        {"at": 9, "exchange": "kraken", "kind": "ban", "count": 1},
        {"at": 0.5, "exchange": "binance", "kind": "http_5xx", "seconds": 2, "status": 502},
    ]
    path.write_text(json.dumps(rows))
    assert list(schedule_of(str(path), SYMBOLS)) == [
        ScheduledFault(0.5, Fault("binance", "http_5xx", seconds=2, status=502)),
        ScheduledFault(9.0, Fault("kraken", "ban", count=1)),
    ]


def test_a_seed_may_say_its_rate() -> None:
    assert next(iter(schedule_of("3:60", SYMBOLS))) == next(seeded_faults(3, 60, EXCHANGES))
    assert next(iter(schedule_of("-3", SYMBOLS))) == next(seeded_faults(-3, 2, EXCHANGES))


@pytest.mark.parametrize("text", ["3:0", "3:-1", "3:much", "3:nan", "3:1e9"])
def test_a_rate_that_is_none_is_rejected(text: str) -> None:
    with pytest.raises(FaultRejectedError, match="is not a number of faults a minute"):
        schedule_of(text, SYMBOLS)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read"),
        ("[", "is not JSON"),
        ("{}", "not a JSON list"),
        ("[1]", 'fault 1: it needs "at"'),
        ('[{"at": true, "exchange": "kraken", "kind": "ban", "count": 1}]', 'fault 1: it needs "at"'),
        ('[{"at": 1, "exchange": "kraken", "kind": "ban"}]', "fault 1: A fault needs a count"),
        ('[{"at": 1, "exchange": "mtgox", "kind": "ban", "count": 1}]', "no exchange 'mtgox'"),
    ],
)
def test_a_file_that_makes_no_sense_is_rejected_in_one_sentence(
    tmp_path: Path, content: str | None, sentence: str
) -> None:
    path = tmp_path / "faults.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(FaultRejectedError) as rejected:
        schedule_of(str(path), SYMBOLS)
    assert sentence in str(rejected.value)
    assert "\n" not in str(rejected.value)
