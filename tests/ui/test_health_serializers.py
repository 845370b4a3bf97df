"""What parts told, as rows."""

from pathlib import Path

from session.session import Session
from store.records.consumer_position import ConsumerPosition
from store.server.change_streams import ChangeStreamProgress
from streams.query_progress import QueryProgress
from tests.ui.samples import SETTINGS, START, session_of
from ui.live.consumer_lag import DetectionLag, SettingsRow, StreamLag
from ui.rows.health import change_stream_rows, detection_rows, publisher_row, query_row, topic_rows

SECOND = 1_000_000
BOT = ConsumerPosition("bot-alpha", "alpha", START, 2 * SECOND, {"opportunities/0": 90}, 1)


def signs_of(session: Session) -> StreamLag:
    signs = StreamLag(session.session_id)
    signs.next_offsets = {("ticks", 0): 980, ("opportunities", 0): 99}
    signs.detection[0] = DetectionLag(next_offset=950, came_out_at=START - SECOND, probe_delay=20_000)
    return signs


def test_who_reads_what_and_how_far_behind(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    signs = signs_of(session)
    signs.queries["spreads"] = QueryProgress("session-1", "spreads", False, True, START, START, "", offsets={"0": 900})
    signs.queries["cycles"] = QueryProgress("session-1", "cycles", False, True, START, START, "", offsets={"0": 970})
    ends = {("ticks", 0): 1_000, ("opportunities", 0): 100, ("rejects", 0): 4}
    stranger = ConsumerPosition("bot-other", "other", START, 0, {"opportunities/0": 1})
    rows = {row["topic"]: row for row in topic_rows(session, signs, ends, {("ticks", 0): 118.0}, [BOT, stranger])}
    behind = [(reader["reader"], reader["behind"], reader["is_bound"]) for reader in rows["ticks"]["readers"]]
    assert behind == [
        ("dashboard", 20, False),
        ("cep (opportunities)", 50, True),
        ("cep (spreads)", 100, False),
        ("cep (cycles)", 30, False),
    ]
    assert [(reader["reader"], reader["behind"]) for reader in rows["opportunities"]["readers"]] == [
        ("dashboard", 1),
        ("bot-alpha", 10),
    ]
    assert (rows["ticks"]["rows_per_second"], rows["opportunities"]["rows_per_second"]) == (118.0, None)
    assert (rows["rejects"]["end_offset"], rows["rejects"]["readers"]) == (4, [])


def test_while_kafka_does_not_answer_nobody_is_behind(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    for row in topic_rows(session, signs_of(session), {}, {}, [BOT]):
        assert row["end_offset"] is None
        assert {reader["behind"] for reader in row["readers"]} == {None}


def test_who_has_read_further_than_the_end_that_was_asked_for_before_is_not_behind(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    (row, *_) = topic_rows(session, signs_of(session), {("opportunities", 0): 95}, {}, [])
    assert row["readers"][0]["behind"] == 0


def test_detection_is_reported_in_seconds(tmp_path: Path) -> None:
    (row,) = detection_rows(signs_of(session_of(tmp_path)), START)
    assert row == {"partition": 0, "next_offset": 950, "output_age": 1.0, "delay": 0.02, "waiting": 0.0}


def test_a_query_before_its_first_batch_says_nothing_of_batches() -> None:
    progress = QueryProgress(
        "session-1", "opportunities", True, True, START - SECOND, START - 60 * SECOND, "Processing"
    )
    row = query_row(progress, START)
    assert (row["report_age"], row["batch"], row["batch_age"], row["state_rows"]) == (1.0, None, None, None)


def test_the_publisher_is_as_far_as_its_slowest_partition(tmp_path: Path) -> None:
    signs = signs_of(session_of(tmp_path))
    assert publisher_row(SETTINGS, signs, START) == {"version": 1, "version_in_log": None, "repeated_age": None}
    signs.settings = {0: SettingsRow(3, START - SECOND), 1: SettingsRow(2, START - 5 * SECOND)}
    assert publisher_row(None, signs, START) == {"version": None, "version_in_log": 2, "repeated_age": 5.0}


def test_lags_of_change_streams_are_by_one_clock() -> None:
    standing = ChangeStreamProgress(newest_at=START + SECOND, caught_up_at=START - 3 * SECOND)
    own, bot = change_stream_rows(standing, [BOT], START + 4 * SECOND, server_ahead=SECOND)
    assert (own["reader"], own["lag"], own["lost"]) == ("dashboard", 4.0, 0)
    assert (bot["reader"], bot["lag"], bot["report_age"], bot["lost"]) == ("bot-alpha", 2.0, 5.0, 1)
