"""What an app's earlier versions gave and nobody took is taken by the next one, once, and for its own sinks alone."""

from pathlib import Path

import orjson
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.transports.outbox import RowOutbox
from launch.apps.version_logs import version_logs
from streams.records import Record

FIRST = {0: 10, 1: 4}
SINKS = {"Out (http to a)": "Out"}
TOPIC = "9nzYOzmwQh2XoiwVCPnQ/Q"
"""Ids of topics may have a slash: the client writes them in base64."""


def record(offset: int, label: str = "app-1", stream: str = "Out", partition: int = 0, app: str = "app") -> Record:
    row = {
        "app": app,
        "id": f"{label}:{partition}:{offset}:0",
        "stream": stream,
        "time": offset,
        "values": {"n": offset},
    }
    return Record("apps", partition, offset, label, orjson.dumps(row), offset)


def numbers(outbox: RowOutbox, label: str, *records: Record, topic: str = TOPIC, saves: bool = True) -> list[int]:
    """Return the rows that the version takes; it is killed before it has noted them unless it `saves`."""
    logs = version_logs(outbox, topic, "app", label, SINKS, FIRST)
    begin = logs.begin()
    rows = [logs.take(one) for one in records if one.offset >= begin[one.partition]]
    if saves:
        outbox.add([], logs.saved_places(logs), now=0)
    return [one[1].values["n"] for one in rows if one is not None]


def test_a_version_takes_what_the_one_before_gave_and_nobody_took(tmp_path: Path) -> None:
    outbox = RowOutbox(tmp_path / "outbox.db")
    rows = [record(10), record(11), record(12)]
    assert numbers(outbox, "app-1", *rows[:2]) == [10, 11]
    of_second = [record(13, "app-2"), record(14, "other-1")]
    assert numbers(outbox, "app-2", *rows, *of_second, saves=False) == [12, 13]
    assert numbers(outbox, "app-2", *rows, *of_second) == [12, 13]
    assert numbers(outbox, "app-2", *rows, *of_second) == []
    # the first one again
    assert numbers(outbox, "app-1", *rows, *of_second, record(15), record(16, "app-2")) == [15, 16]
    # of an app whose name differs in marks alone
    assert numbers(outbox, "app-1", record(17, app="App"), record(18)) == [18]
    outbox.close()


def test_a_version_that_was_killed_before_its_first_row_is_known(tmp_path: Path) -> None:
    outbox = RowOutbox(tmp_path / "outbox.db")
    assert numbers(outbox, "app-1", saves=False) == []
    assert numbers(outbox, "app-2", record(10)) == [10]
    outbox.close()


def test_rows_of_a_topic_that_was_deleted_are_nobodys(tmp_path: Path) -> None:
    outbox = RowOutbox(tmp_path / "outbox.db")
    assert numbers(outbox, "app-1", record(10), record(20)) == [10, 20]
    # another topic of the name: both versions begin where the session does
    assert numbers(outbox, "app-2", record(10), record(11, "app-2"), topic="U") == [11]
    assert list(outbox.places()) == ["U/app-2"]
    outbox.close()


def test_a_sink_gets_rows_of_versions_that_had_it(tmp_path: Path) -> None:
    outbox = RowOutbox(tmp_path / "outbox.db")
    outbox.begin(f"{TOPIC}/app-0", {"Out (http to b)": "Out"}, {0: (10, -1, -1, -1), 1: (4, -1, -1, -1)})
    logs = version_logs(outbox, TOPIC, "app", "app-1", SINKS, FIRST)
    found = logs.take(record(10, "app-0"))
    # its sink is the earlier version's, by which it is told that nobody sends it
    assert found is not None
    assert found[0].sinks == {"Out (http to b)": "Out"}
    outbox.close()


@given(
    st.lists(st.tuples(st.sampled_from(["app-1", "app-2", "app-3", "other-1"]), st.integers(0, 1)), max_size=40),
    st.lists(st.tuples(st.sampled_from(["app-1", "app-2", "app-3"]), st.integers(0, 15), st.booleans()), max_size=12),
)
def test_every_row_of_a_version_that_began_is_taken_once_whatever_is_killed(
    given_rows: list[tuple[str, int]], runs: list[tuple[str, int, bool]]
) -> None:
    """Each run begins before its version gives a row, takes what is there, and may be killed before it notes it."""
    outbox, topic, taken, waiting = RowOutbox(Path(":memory:")), list[Record](), list[int](), list(given_rows)
    for label in ("app-1", "app-2", "app-3"):
        numbers(outbox, label)
    for label, count, saves in [*runs, ("app-1", len(given_rows), True)]:
        for of, partition in waiting[:count]:
            offset = FIRST[partition] + sum(one.partition == partition for one in topic)
            topic.append(record(offset, of, partition=partition))
        del waiting[:count]
        logs = version_logs(outbox, TOPIC, "app", label, SINKS, FIRST)
        begin = logs.begin()
        found = [logs.take(one) for one in topic if one.offset >= begin[one.partition]]
        if saves:
            outbox.add([], logs.saved_places(logs), now=0)
            taken += [topic.index(record) for record in topic for one in found if one and one[1].id == id_of(record)]
    outbox.close()
    assert sorted(taken) == [number for number, one in enumerate(topic) if one.key != "other-1"]


def id_of(found: Record) -> str:
    return str(orjson.loads(found.value)["id"])
