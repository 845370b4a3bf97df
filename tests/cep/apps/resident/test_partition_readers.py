"""Each app of a process gets each row of its log from its own next one on, whoever begins and leaves meanwhile."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from cep.apps.resident.partition_readers import PartitionReaders


@dataclass
class Kernel:
    next: int
    taken: list[int] = field(default_factory=list)

    def take(self, offset: int) -> None:
        self.taken.append(offset)
        self.next = offset + 1


class Log:
    """One partition of a topic, and both who read it."""

    def __init__(self) -> None:
        self.readers = PartitionReaders[Kernel]()
        self.second: int | None = None
        """Where the second reader is; None while nobody is behind."""

    def read(self, rows: int) -> None:
        first = self.readers.begin()
        for offset in range(first, first + rows):
            for _, kernel in self.readers.due(offset):
                kernel.take(offset)

    def catch_up(self, rows: int) -> None:
        """Read so many rows by the second reader, which begins if it has not, and ends with its turn."""
        if self.second is None:
            if not self.readers.late:
                return
            self.second = self.readers.begin_turn()
        for offset in range(self.second, self.second + rows):
            for _, kernel in self.readers.due_in_turn(offset):
                kernel.take(offset)
        self.second = self.second + rows if self.readers.is_in_turn() else None


def test_who_is_further_is_not_asked_until_the_reader_is_there() -> None:
    readers, first, ahead = PartitionReaders[Kernel](), Kernel(3), Kernel(100)
    readers.add(1, first)
    assert readers.begin() == 3
    # it comes from another process, which was faster
    readers.add(2, ahead)
    assert [place for place, _ in readers.due(3)] == [1]
    assert [place for place, _ in readers.due(99)] == [1]
    assert sorted(place for place, _ in readers.due(100)) == [1, 2]


def test_of_those_that_begin_together_the_one_that_is_furthest_waits_for_nobody() -> None:
    """Processes that are started again have some app that had just begun, and is thousands of rows behind."""
    readers, ahead, behind = PartitionReaders[Kernel](), Kernel(100), Kernel(3)
    readers.add(1, ahead)
    readers.add(2, behind)
    assert readers.begin() == 100
    assert readers.due(100) == [(1, ahead)]
    assert readers.begin_turn() == 3
    assert readers.due_in_turn(3) == [(2, behind)]


def test_nobody_gets_rows_of_a_reader_that_has_begun_before_he_came() -> None:
    """Else a row far behind its own next one would come first, and those between would be lost."""
    log, first, second = Log(), Kernel(0), Kernel(2)
    log.readers.add(1, first)
    log.read(5)
    log.readers.add(2, second)
    assert log.readers.due(5) == [(1, first)]
    first.take(5)
    log.catch_up(1)
    third = Kernel(1)
    log.readers.add(3, third)
    assert [place for place, _ in log.readers.due_in_turn(3)] == [2]
    second.take(3)
    log.second = 4
    log.catch_up(10)
    log.read(2)
    assert (first.taken, second.taken, third.taken) == (list(range(8)), list(range(2, 8)), [])
    log.catch_up(10)
    log.read(1)
    assert third.taken == list(range(1, 9))


def test_who_is_behind_a_gap_of_the_log_reads_on_with_the_others() -> None:
    """Kafka has deleted the rows between: it would be behind for ever."""
    log, first, behind = Log(), Kernel(20), Kernel(10)
    log.readers.add(1, first)
    log.read(5)
    log.readers.add(2, behind)
    assert log.readers.begin_turn() == 10
    # the second reader's first row is one that is there
    assert log.readers.due_in_turn(25) == []
    assert not log.readers.is_in_turn()
    assert [place for place, _ in log.readers.due(25)] == [1, 2]


def test_who_left_gets_nothing_wherever_it_was() -> None:
    readers = PartitionReaders[Kernel]()
    here, ahead = Kernel(0), Kernel(9)
    readers.add(1, here)
    readers.begin()
    readers.add(2, ahead)
    assert readers.due(0) == [(1, here)]
    readers.due(5)
    readers.add(3, Kernel(2))
    readers.begin_turn()
    readers.remove(3)
    assert readers.due_in_turn(2) == []
    readers.remove(1)
    readers.remove(2)
    assert readers.due(9) == []
    assert not readers


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.integers(0, 30)),
        st.tuples(st.just("leave"), st.integers(0, 5)),
        st.tuples(st.just("read"), st.integers(1, 12)),
        st.tuples(st.just("catch up"), st.integers(1, 12)),
    ),
    max_size=40,
)


@given(STEPS)
def test_each_gets_each_row_once_in_order(steps: list[tuple[str, int]]) -> None:
    log, kernels, firsts = Log(), list[Kernel](), list[int]()
    for what, number in steps:
        if what == "begin":
            kernels.append(Kernel(number))
            firsts.append(number)
            log.readers.add(len(kernels) - 1, kernels[-1])
        elif what == "leave" and number < len(kernels):
            log.readers.remove(number)
        elif what == "read" and (log.readers or log.readers.next is not None):
            log.read(number)
        elif what == "catch up":
            log.catch_up(number)
    for first, kernel in zip(firsts, kernels, strict=True):
        assert kernel.taken == list(range(first, kernel.next))


@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), st.integers(1, 7), st.integers(1, 7))
def test_all_are_with_the_reader_in_the_end(nexts: list[int], rows: int, faster: int) -> None:
    log, kernels = Log(), [Kernel(one) for one in nexts]
    log.readers.add(0, kernels[0])
    for place, kernel in enumerate(kernels[1:], 1):
        log.read(rows)
        log.readers.add(place, kernel)
    for _ in range(200):
        log.read(rows)
        log.catch_up(rows + faster)
    assert not log.readers.late
    assert [place for place, _ in sorted(log.readers.due(log.readers.begin()))] == list(range(len(kernels)))
