"""One order for rows of several topics: by time if they are old, as they are seen if they are new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.hosts.input_log import SourceRow
from cep.apps.hosts.row_merge import RowMerge, by_time


def rows(topic: str, *times: int) -> list[SourceRow]:
    return [SourceRow(topic, 0, offset, time, ()) for offset, time in enumerate(times)]


def told(found: list[SourceRow]) -> str:
    return " ".join(f"{row.topic}{row.time}" for row in found)


@pytest.mark.parametrize(
    ("times", "order"),
    [
        ({"a": (1, 3), "b": (2, 4)}, "a1 b2 a3 b4"),
        # at one time the earlier topic is first
        ({"a": (2,), "b": (2, 2)}, "a2 b2 b2"),
        # rows of a topic stay in their order: one whose time is earlier than the one before counts as that
        ({"a": (5, 1, 6), "b": (2, 5)}, "b2 a5 a1 b5 a6"),
        ({"a": (), "b": (1, 2)}, "b1 b2"),
        ({"a": (), "b": ()}, ""),
    ],
)
def test_old_rows_come_by_their_times(times: dict[str, tuple[int, ...]], order: str) -> None:
    made = [rows(topic, *of_topic) for topic, of_topic in times.items()]
    assert told(list(by_time(made))) == order
    merge = RowMerge(list(times))
    for topic, of_topic in zip(times, made, strict=True):
        merge.add(topic, of_topic)
    merge.note_present(times)
    assert told(list(merge.ready())) == order


def test_what_leads_comes_before_rows_of_earlier_times() -> None:
    """What tables had is there before a row of a clock that was set back, and in its own order."""
    merge = RowMerge(["a", "tables"], leading="tables")
    merge.add("a", rows("a", 1, 2))
    assert list(merge.ready()) == []
    merge.add("tables", rows("tables", 9, 8))
    assert told(list(merge.ready())) == "tables9 tables8"
    merge.note_present(["a", "tables"])
    assert told(list(merge.ready())) == "a1 a2"


def test_while_a_topic_is_behind_what_may_come_after_its_rows_waits() -> None:
    merge = RowMerge(["a", "b"])
    a, b = rows("a", 1, 5, 9), rows("b", 2, 3)
    merge.add("a", a[:2])
    assert list(merge.ready()) == []
    merge.add("b", b[:1])
    # after b2 another row of b may be before a5
    assert told(list(merge.ready())) == "a1 b2"
    assert (merge.waiting("a"), merge.waiting("b")) == (1, 0)
    merge.note_present(["a"])
    assert list(merge.ready()) == []
    merge.add("b", b[1:])
    merge.note_present(["b"])
    assert told(list(merge.ready())) == "b3 a5"
    # new ones in the order in which they are seen
    merge.add("b", rows("b", 20))
    assert told(list(merge.ready())) == "b20"
    merge.add("a", a[2:])
    assert told(list(merge.ready())) == "a9"


@given(
    st.lists(st.lists(st.integers(0, 20), max_size=12), min_size=1, max_size=4),
    st.lists(st.integers(1, 5), min_size=1, max_size=30),
)
def test_however_old_rows_arrive_their_order_is_that_of_a_recording(times: list[list[int]], sizes: list[int]) -> None:
    made = {f"t{number}": rows(f"t{number}", *of_topic) for number, of_topic in enumerate(times)}
    merge, got, left = RowMerge(list(made)), list[SourceRow](), {topic: list(one) for topic, one in made.items()}
    turn = 0
    while any(left.values()):
        topic = list(left)[turn % len(left)]
        size, turn = sizes[turn % len(sizes)], turn + 1
        merge.add(topic, left[topic][:size])
        del left[topic][:size]
        merge.note_present(topic for topic, rest in left.items() if not rest)
        got += merge.ready()
    merge.note_present(made)
    got += merge.ready()
    assert got == list(by_time(list(made.values())))
