"""The note of what ran last of an app: read as it was written, or not at all."""

from pathlib import Path

import pytest

from cep.apps.engine.app_labels import file_label
from cep.apps.hosts.input_log import InputPlace
from cep.apps.hosts.input_merger import LogBegin
from cep.snapshot_folder import SnapshotFolder
from launch.published.run_notes import RunNote, forget_app, read_note, takes_over, write_note
from store.records.apps import AppOrder

DIGESTS = ("0123456789", "abcdef0123")
NOTES = (
    RunNote(1, "wide-1a2b", 1),
    RunNote(2, "wide-3c4d", 7, {0: LogBegin(12)}),
    RunNote(3, "wide-5e6f", 9, {0: LogBegin(5, InputPlace({"ticks": 40, "store": 2}, "token")), 3: LogBegin(0)}),
)


@pytest.mark.parametrize("note", NOTES, ids=lambda note: f"version {note.version}")
def test_a_note_is_read_as_it_was_written(tmp_path: Path, note: RunNote) -> None:
    write_note(tmp_path, "wide", RunNote(9, "of before", 99))
    write_note(tmp_path, "wide", note)
    assert read_note(tmp_path, "wide") == note
    assert read_note(tmp_path, "other") is None


def test_an_app_that_was_removed_has_not_run(tmp_path: Path) -> None:
    write_note(tmp_path, "wide", NOTES[0])
    write_note(tmp_path, "other", NOTES[1])
    for _ in range(2):
        forget_app(tmp_path, "wide")
        assert (read_note(tmp_path, "wide"), read_note(tmp_path, "other")) == (None, NOTES[1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"version": 1, "label": "a", "order": 1}',
        '{"version": null, "label": "a", "order": 1, "begin": {}}',
        '{"version": 1, "label": "a", "order": 1, "begin": []}',
        '{"version": 1, "label": "a", "order": 1, "begin": {"x": [1, {}, null]}}',
        '{"version": 1, "label": "a", "order": 1, "begin": {"0": [1, {}]}}',
        '{"version": 1, "label": "a", "order": 1, "begin": {"0": [1, 2, null]}}',
        b"\xff\xfe",
    ],
)
def test_a_note_that_cannot_be_read_counts_as_none(tmp_path: Path, text: str | bytes) -> None:
    write_note(tmp_path, "wide", NOTES[0])
    (file,) = tmp_path.iterdir()
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert read_note(tmp_path, "wide") is None


def test_nothing_is_left_of_a_removed_app_and_all_of_others(tmp_path: Path) -> None:
    for name in ("a", "a-b", "a-0123abcd"):
        for digest in DIGESTS:
            SnapshotFolder(tmp_path / file_label(name, digest)).save(0, b"state")
        write_note(tmp_path, name, RunNote(1, file_label(name, DIGESTS[0]), 1))
    forget_app(tmp_path, "a")
    assert read_note(tmp_path, "a") is None
    others = {file_label(name, digest) for name in ("a-b", "a-0123abcd") for digest in DIGESTS}
    assert {one.name for one in tmp_path.iterdir()} == {*others, "a-b.run", "a-0123abcd.run"}


# name: (the order after the version that ran, the label of its version, whether something else is to run)
ORDERS: dict[str, tuple[AppOrder, str, bool]] = {
    "the same order again": (AppOrder("published", 1, number=1), "wide-1a2b", False),
    "the same version": (AppOrder("published", 1, number=2), "wide-1a2b", False),
    "another version": (AppOrder("published", 2, number=2), "wide-3c4d", True),
    "nothing of what it kept": (AppOrder("published", 1, keeps_state=False, number=2), "wide-1a2b", True),
    "a savepoint": (AppOrder("published", 1, number=2, savepoint="20261130T000000Z"), "wide-1a2b", True),
    "a savepoint, begun with already": (
        AppOrder("published", 1, number=1, savepoint="20261130T000000Z"),
        "wide-1a2b",
        False,
    ),
}


@pytest.mark.parametrize(("order", "label", "expected"), ORDERS.values(), ids=ORDERS.keys())
def test_whatever_begins_otherwise_takes_over_from_what_ran_last(order: AppOrder, label: str, expected: bool) -> None:
    """What ran last has to catch up first, if it was cut: its rows are behind its last snapshot."""
    assert takes_over(RunNote(1, "wide-1a2b", 1), order, label) is expected
    assert not takes_over(None, order, label)
