"""What each key has is written between rows: wherever a process is killed, it goes on as one that was not."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.key_log import KeyLog, LogSizes, restored
from cep.apps.engine.snapshots import KeysApart, Segments, Snapshot, SnapshotError, read, written
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app
from tests.cep.apps.engine.test_processors import ACTS, CODE

SMALL = LogSizes(slice_keys=2, slice_bytes=200, first_keys=1, walk_slices=2, entries=2, spare_entries=3, segments=3)
Given = tuple[int, tuple[Any, ...]]


class Files:
    """Segments in memory."""

    def __init__(self) -> None:
        self.content: dict[int, bytes] = {}
        self.most = 0
        """Of bytes in one write."""

    def numbers(self) -> list[int]:
        return list(self.content)

    def append(self, number: int, data: bytes) -> None:
        self.most = max(self.most, len(data))
        self.content[number] = self.content.get(number, b"") + data

    def open(self, number: int) -> BinaryIO:
        if number not in self.content:
            raise FileNotFoundError(number)
        return io.BytesIO(self.content[number])

    def drop_before(self, number: int) -> None:
        self.content = {one: data for one, data in self.content.items() if one >= number}


class Machine:
    """An app with its log, the newest snapshot, and what it did since."""

    def __init__(self, folder: Path, sizes: LogSizes = SMALL) -> None:
        self._app, self._terms, self._sizes = parse_app(ACTS), OperatorTerms(functions=folder), sizes
        self.files = Files()
        self.given: list[Given] = []
        self._since: list[tuple[int, str, str]] = []
        self.snapshot, self._given_before = b"", 0
        self.engine = self._made()
        self.log = KeyLog(self.files, self.engine.state, (), sizes)

    def _made(self) -> StreamEngine:
        engine = StreamEngine(self._app, 0, terms=self._terms)
        engine.listen("Out", lambda at, row: self.given.append((at, row)))
        return engine

    def take(self, at: int, key: str, acts: str) -> None:
        self._since.append((at, key, acts))
        self.engine.send("Act", at, (key, acts, None, None))
        self.log.write_changed()

    def save(self) -> None:
        self.snapshot = written(Snapshot("it", {}, self.log.taken()))
        self.files.drop_before(self.log.first_segment)
        self._since, self._given_before = [], len(self.given)

    def kill(self) -> None:
        """Go on from the newest snapshot, with the rows since; what they give comes again."""
        again, self._since, expected = self._since, [], self.given[self._given_before :]
        del self.given[self._given_before :]
        self.engine, segments = self._made(), Segments()
        if self.snapshot:
            segments = restored(self.engine.state, read(self.snapshot, "it").state, self.files)
        self.log = KeyLog(self.files, self.engine.state, segments, self._sizes)
        for at, key, acts in again:
            self.take(at, key, acts)
        assert self.given[self._given_before :] == expected


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("functions")
    (made / "acts.py").write_text(CODE)
    return made


ACT = st.sampled_from(["alarm x 3", "alarm y 1;emit", "clear x", "emit", "retire", "emit;random", "alarm chain 2"])
STEP = st.one_of(
    st.tuples(st.just("take"), st.integers(0, 3), st.sampled_from("abcdefg"), ACT),
    st.sampled_from([("save",), ("slice",), ("kill",)]),
)


@given(st.lists(STEP, max_size=60))
def test_wherever_it_is_killed_it_goes_on_as_one_that_never_was(folder: Path, steps: Sequence[tuple[Any, ...]]) -> None:
    one, whole, at = Machine(folder), Machine(folder), 0
    for word, *rest in steps:
        if word == "take":
            at += rest[0] * 1_000
            for machine in (one, whole):
                machine.take(at, rest[1], rest[2])
        elif word == "save":
            one.save()
        elif word == "slice":
            next(one.log.walk(), None)
        else:
            one.kill()
    one.kill()
    for machine in (one, whole):
        machine.take(at + 9_000, "a", "emit")
    assert one.given == whole.given


def test_a_snapshot_has_what_changed_and_all_keys_are_written_again_now_and_then(folder: Path) -> None:
    machine = Machine(folder, LogSizes(slice_keys=50, spare_entries=100, walk_slices=1))
    for number in range(1_000):
        machine.take(number, f"key {number}", "alarm x 9000")
    machine.save()
    whole = sum(map(len, machine.files.content.values()))
    machine.take(1_001, "key 7", "emit")
    machine.save()
    assert sum(map(len, machine.files.content.values())) - whole < whole / 500
    for number in range(9_000):
        machine.take(2_000 + number, f"key {number % 7}", "emit")
        if number % 40 == 0:
            machine.save()
            list(machine.log.walk())
    assert sum(map(len, machine.files.content.values())) < 4 * whole
    assert machine.files.most < whole / 10
    machine.kill()
    machine.take(20_000, "key 500", "emit")
    assert machine.given[-1] == (20_000, ("key 500", "row", 2))


def test_keys_that_are_gone_take_no_room(folder: Path) -> None:
    machine = Machine(folder)
    for number in range(50):
        machine.take(number, f"key {number}", "alarm x 9000")
    machine.save()
    for number in range(50):
        machine.take(100 + number, f"key {number}", "retire")
    machine.save()
    # that one still names what there was
    machine.kill()
    machine.save()
    machine.save()
    assert machine.files.content == {}


def test_a_state_that_came_whole_is_written_before_the_first_snapshot(folder: Path) -> None:
    machine, other = Machine(folder), Machine(folder)
    for number in range(20):
        machine.take(number, f"key {number}", "alarm x 9")
    state = read(written(Snapshot("it", {}, machine.engine.state.saved())), "it").state
    assert restored(other.engine.state, state, None) == ()
    other.log = KeyLog(other.files, other.engine.state, (), SMALL)
    # rows may come between any two slices
    assert sum(1 for _ in other.log.walk()) >= 10
    other.save()
    other.kill()
    for one in (machine, other):
        one.take(20_000, "key 3", "emit")
    assert len(other.given) == 21
    assert other.given == machine.given


@pytest.mark.parametrize("spoilt", ["gone", "short", "changed"])
def test_a_segment_that_is_not_what_it_was_is_refused(folder: Path, spoilt: str) -> None:
    machine = Machine(folder)
    for number in range(9):
        machine.take(number, f"key {number}", "emit")
    machine.save()
    number, data = next(iter(machine.files.content.items()))
    turned = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
    machine.files.content = {"gone": {}, "short": {number: data[:-1]}, "changed": {number: turned}}[spoilt]
    with pytest.raises(SnapshotError, match="segment 0 of its keys is"):
        machine.kill()


def test_what_is_written_behind_a_snapshot_says_nothing_to_it(folder: Path) -> None:
    machine = Machine(folder)
    machine.take(1, "a", "emit")
    machine.save()
    machine.files.append(0, b"half a slice of a process that was kil")
    machine.kill()
    machine.take(2, "a", "emit")
    assert machine.given == [(1, ("a", "row", 1)), (2, ("a", "row", 2))]


def test_keys_apart_need_their_files(folder: Path) -> None:
    machine = Machine(folder)
    machine.take(1, "a", "emit")
    with pytest.raises(SnapshotError, match="its keys in other files"):
        restored(Machine(folder).engine.state, machine.log.taken(), None)
    assert isinstance(machine.log.taken(), KeysApart)
