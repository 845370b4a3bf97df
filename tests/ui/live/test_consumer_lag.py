"""How far detection has come, as outputs and probes show it."""

import pytest

from streams.message_format import WireError
from streams.query_progress import QueryProgress, progress_row
from streams.records import Record
from streams.topics import HEALTH, OPPORTUNITIES, TICKS
from tests.ui.samples import START
from ui.live.consumer_lag import DetectionLag, StreamLag

SECOND = 1_000_000


def record(topic: str, offset: int, seconds: float, partition: int = 0, value: bytes = b"") -> Record:
    return Record(topic, partition, offset, None, value, START + int(seconds * SECOND))


def probed(signs: StreamLag, offset: int, seconds: float) -> None:
    signs.record_tick(record(TICKS, offset, seconds), {"kind": "probe"})


def came_out(signs: StreamLag, offset: int, seconds: float) -> DetectionLag:
    signs.record_output(record(OPPORTUNITIES, 3, seconds), {"kind": "opportunity", "offset": offset})
    return signs.detection[0]


def test_a_probe_that_came_out_shows_how_long_it_took() -> None:
    signs = StreamLag("session-1")
    probed(signs, 10, 0)
    assert signs.detection[0].oldest_wait(START + 3 * SECOND) == 3 * SECOND
    detection = came_out(signs, 10, 0.02)
    assert (detection.next_offset, detection.probe_delay, detection.oldest_wait(START + SECOND)) == (11, 20_000, 0)


def test_outputs_of_later_rows_pass_a_probe_over() -> None:
    signs = StreamLag("session-1")
    probed(signs, 10, 0)
    probed(signs, 20, 2)
    detection = came_out(signs, 15, 2.5)
    assert (list(detection.waiting), detection.probe_delay) == ([(20, START + 2 * SECOND)], None)


def test_a_reemission_after_a_crash_takes_nothing_back() -> None:
    signs = StreamLag("session-1")
    came_out(signs, 500, 9)
    detection = came_out(signs, 100, 10)
    assert (detection.next_offset, detection.came_out_at) == (501, START + 10 * SECOND)


def test_probes_that_never_come_out_take_bounded_room() -> None:
    signs = StreamLag("session-1")
    for number in range(1_000):
        probed(signs, number, number)
    assert len(signs.detection[0].waiting) == 300


def test_settings_rows_and_positions_are_kept_by_partition() -> None:
    signs = StreamLag("session-1")
    signs.record_tick(record(TICKS, 1, 0, 1), {"kind": "settings", "settings_version": 4})
    signs.record_tick(record(TICKS, 2, 0), {"kind": "quote"})
    signs.record_position(record(TICKS, 2, 0))
    assert (signs.settings[1].version, list(signs.settings), signs.next_offsets) == (4, [1], {(TICKS, 0): 3})


def test_progress_of_another_session_is_passed_over() -> None:
    signs = StreamLag("session-1")
    for session_id in ("session-1", "session-0"):
        progress = QueryProgress(session_id, "spreads", False, True, START, START, "Waiting")
        signs.record_health(record(HEALTH, 0, 0, value=progress_row(progress)))
    assert [progress.session_id for progress in signs.queries.values()] == ["session-1"]


@pytest.mark.parametrize("row", [{}, {"offset": "12"}, {"offset": None}])
def test_an_output_without_its_offset_is_no_row_of_ours(row: dict[str, object]) -> None:
    with pytest.raises(WireError):
        StreamLag("session-1").record_output(record(OPPORTUNITIES, 0, 0), row)
