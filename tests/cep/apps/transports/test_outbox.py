"""The outbox on a real disk."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cep.apps.transports.outbox import BATCH_BYTES, AddedRow, OutboxHeldError, RowOutbox
from cep.apps.transports.ports import OutgoingRow


def added(number: int, destination: str = "a", sink: str = "S", server: str = "h") -> AddedRow:
    return AddedRow(sink, server, destination, OutgoingRow(f"id:{number}", 1_000 + number, {"n": number}))


def test_rows_and_the_place_are_there_after_the_process_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "app" / "outbox.db"
    first = RowOutbox(path)
    first.begin("topic/label", {"S": "Out"}, {0: (5, -1, -1, -1), 1: (2, -1, -1, -1)})
    first.add([added(1), added(2, "b"), added(3)], {"topic/label": {0: (7, 1_003, 6, 0)}}, now=5)
    first.begin("topic/before", {"S": "Out", "T": "Out"}, {0: (3, 1, 2, 3)})
    first.begin("other/label", {"S": "Out"}, {0: (3, 1, 2, 3)})
    first.forget("other/label")
    first.close()
    again = RowOutbox(path)
    assert again.places() == {
        "topic/label": {0: (7, 1_003, 6, 0), 1: (2, -1, -1, -1)},
        "topic/before": {0: (3, 1, 2, 3)},
    }
    assert [again.sinks_of(one) for one in ("topic/label", "topic/before", "other/label")] == [
        {"S": "Out"},
        {"S": "Out", "T": "Out"},
        {},
    ]
    assert [one.row.values["n"] for one in again.first("S", "a", 10)] == [1, 3]
    assert [(one.destination, one.rows, one.time) for one in again.oldest("S", 10)] == [
        ("a", 2, 1_001),
        ("b", 1, 1_002),
    ]
    assert again.sinks() == {"S": 3}
    again.close()


def test_rows_of_a_destination_keep_their_order_and_count_attempts(tmp_path: Path) -> None:
    outbox = RowOutbox(tmp_path / "outbox.db")
    outbox.add([added(number) for number in range(5)], {}, now=5)
    head = outbox.first("S", "a", 2)
    outbox.note_attempt(head)
    assert [one.attempts for one in outbox.first("S", "a", 3)] == [1, 1, 0]
    outbox.remove("S", "a", head, now=6)
    assert [one.row.id for one in outbox.first("S", "a", 2)] == ["id:2", "id:3"]
    assert outbox.sinks() == {"S": 3}
    outbox.close()


def test_destinations_take_turns_and_wait_as_long_as_they_are_told(tmp_path: Path) -> None:
    outbox = RowOutbox(tmp_path / "outbox.db")
    outbox.add([added(1, "b"), added(2, "b")], {}, now=1)
    outbox.add([added(3, "a"), added(4, "other", server="g")], {}, now=2)
    assert outbox.servers("S") == ["g", "h"]
    assert outbox.due("S", "h", now=2, most=10) == ["b", "a"]
    assert (outbox.due("S", "h", now=1, most=10), outbox.next_due("S", "h", now=1)) == (["b"], 2)
    # who had his turn is behind the others
    outbox.remove("S", "b", outbox.first("S", "b", 1), now=3)
    assert outbox.due("S", "h", now=3, most=1) == ["a"]
    outbox.put_off("S", "a", 10, "away")
    outbox.put_off("S", "a", 20, "away")
    assert (outbox.due("S", "h", now=30, most=10), outbox.next_due("S", "h", now=9)) == (["b"], None)
    assert outbox.due("S", "h", now=19, most=10, retried=True) == []
    assert outbox.next_due("S", "h", now=19, retried=True) == 20
    assert outbox.due("S", "h", now=20, most=10, retried=True) == ["a"]
    found = outbox.destination("S", "a")
    assert found is not None
    assert (found.failures, found.reason, found.time) == (2, "away", 1_003)
    outbox.remove("S", "a", outbox.first("S", "a", 1), now=30)
    assert outbox.destination("S", "a") is None
    assert [(one.destination, one.time) for one in outbox.oldest("S", 10)] == [("b", 1_002), ("other", 1_004)]
    outbox.close()


def test_rows_that_wait_for_more_are_due_once_there_are_so_many(tmp_path: Path) -> None:
    outbox = RowOutbox(tmp_path / "outbox.db")
    outbox.add([added(1)], {}, now=1)
    outbox.linger("S", "a", 100)
    outbox.end_linger("S", "a", 2, 5)
    assert outbox.due("S", "h", now=50, most=10) == []
    outbox.add([added(2)], {}, now=3)
    outbox.end_linger("S", "a", 2, 5)
    assert outbox.due("S", "h", now=5, most=10) == ["a"]
    outbox.close()


def test_one_process_has_it_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    held = RowOutbox(path)
    with pytest.raises(OutboxHeldError, match="another run sends the rows of this app"):
        RowOutbox(path)
    held.close()
    RowOutbox(path).close()


def changed(path: Path, *commands: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for one in commands:
            connection.execute(one)


def test_what_is_sent_at_once_has_an_end_in_bytes(tmp_path: Path) -> None:
    path, long = tmp_path / "outbox.db", BATCH_BYTES // 2
    outbox = RowOutbox(path)
    rows = [OutgoingRow(f"id:{number}", number, {"text": "x" * size}) for number, size in enumerate((long, 9, long, 9))]
    outbox.add([AddedRow("S", "h", "a", one) for one in rows], {}, now=0)
    assert [one.row.id for one in outbox.first("S", "a", 10)] == ["id:0", "id:1"]
    size = outbox.sizes()["S"]
    assert size == 2 * long + 18 + 4 * len(b'{"text":""}')
    outbox.close()
    changed(path, "UPDATE rows SET body = '{}' WHERE number = 4")
    again = RowOutbox(path)
    # counted as they came: nobody looks through the rows again
    assert (again.sinks(), again.sizes()) == ({"S": 4}, {"S": size})
    again.close()
    # a file of before is counted once
    changed(path, "DROP TABLE totals", "PRAGMA user_version = 0")
    again = RowOutbox(path)
    size += len(b"{}") - len(b'{"text":"xxxxxxxxx"}')
    assert (again.sinks(), again.sizes()) == ({"S": 4}, {"S": size})
    again.remove("S", "a", again.first("S", "a", 10), now=1)
    assert [one.row.id for one in again.first("S", "a", 10)] == ["id:2", "id:3"]
    again.remove("S", "a", again.first("S", "a", 10), now=2)
    assert again.sizes() == {}
    # one that is longer goes alone
    again.add([AddedRow("S", "h", "a", OutgoingRow("id:9", 9, {"text": "x" * BATCH_BYTES}))], {}, now=3)
    assert len(again.first("S", "a", 10)) == 1
    again.close()
