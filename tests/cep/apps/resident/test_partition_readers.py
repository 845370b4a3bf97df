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


def read(readers: PartitionReaders[Kernel], rows: int) -> None:
    """Read so many rows by a new reader."""
    first = readers.begin()
    for offset in range(first, first + rows):
        for _, kernel in readers.due(offset):
            kernel.take(offset)


def test_who_is_further_is_not_asked_until_the_reader_is_there() -> None:
    readers, ahead, behind = PartitionReaders[Kernel](), Kernel(100), Kernel(3)
    readers.add(1, ahead)
    readers.add(2, behind)
    assert readers.begin() == 3
    assert [place for place, _ in readers.due(3)] == [2]
    assert [place for place, _ in readers.due(99)] == [2]
    assert sorted(place for place, _ in readers.due(100)) == [1, 2]


def test_who_begins_gets_no_row_of_the_reader_before() -> None:
    """Else a row far behind its own next one would come first, and those between would be lost."""
    readers, first, second = PartitionReaders[Kernel](), Kernel(0), Kernel(2)
    readers.add(1, first)
    read(readers, 5)
    readers.add(2, second)
    assert readers.due(5) == [(1, first)]
    first.take(5)
    read(readers, 6)
    assert (first.taken, second.taken) == (list(range(8)), list(range(2, 8)))


def test_who_left_gets_nothing_wherever_it_was() -> None:
    readers = PartitionReaders[Kernel]()
    here, ahead = Kernel(0), Kernel(9)
    readers.add(1, here)
    readers.add(2, ahead)
    readers.begin()
    assert readers.due(0) == [(1, here)]
    readers.remove(1)
    readers.remove(2)
    assert readers.due(9) == []
    assert not readers


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.integers(0, 30)),
        st.tuples(st.just("leave"), st.integers(0, 5)),
        st.tuples(st.just("read"), st.integers(1, 12)),
    ),
    max_size=30,
)


@given(STEPS)
def test_each_gets_each_row_once_in_order(steps: list[tuple[str, int]]) -> None:
    readers, kernels, firsts = PartitionReaders[Kernel](), list[Kernel](), list[int]()
    for what, number in steps:
        if what == "begin":
            kernels.append(Kernel(number))
            firsts.append(number)
            readers.add(len(kernels) - 1, kernels[-1])
        elif what == "leave" and number < len(kernels):
            readers.remove(number)
        elif what == "read" and readers:
            read(readers, number)
    for first, kernel in zip(firsts, kernels, strict=True):
        assert kernel.taken == list(range(first, kernel.next))
