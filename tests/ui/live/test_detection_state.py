"""Whether detection is up, by its driver's signs of life and by what came out of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from store.records.processes import ProcessState
from streams.query_progress import QueryProgress
from tests.ui.samples import START, session_of
from ui.live.consumer_lag import DetectionLag, StreamLag
from ui.live.detection_state import DetectionState, detection_state

SECOND = 1_000_000
SESSION = replace(session_of(Path("unused")), started_at=START)
NOW = START + 100 * SECOND
QUERY = QueryProgress("session-1", "opportunities", True, True, NOW - SECOND, START + 60 * SECOND, "")
CAME_OUT = START + 61 * SECOND


@pytest.mark.parametrize(
    ("query", "came_out_at", "probe_at", "state"),
    [
        (None, None, None, "starting"),
        (None, START - 5 * SECOND, START - 4 * SECOND, "starting"),
        (replace(QUERY, is_real_time=False), CAME_OUT, None, "starting"),
        (QUERY, None, None, "starting"),
        (QUERY, START + 59 * SECOND, None, "starting"),
        (QUERY, CAME_OUT, None, "working"),
        (QUERY, CAME_OUT, NOW - 2 * SECOND, "working"),
        (QUERY, CAME_OUT, NOW - 21 * SECOND, "silent"),
        (replace(QUERY, is_active=False), CAME_OUT, None, "silent"),
        (replace(QUERY, reported_at=NOW - 21 * SECOND), CAME_OUT, None, "silent"),
    ],
)
def test_how_detection_is(
    query: QueryProgress | None, came_out_at: int | None, probe_at: int | None, state: DetectionState
) -> None:
    signs = StreamLag("session-1")
    if query is not None:
        signs.queries[query.query] = query
    partition = DetectionLag(came_out_at=came_out_at)
    if probe_at is not None:
        partition.waiting.append((1, probe_at))
    signs.detection[0] = partition
    assert detection_state(SESSION, signs, NOW) == state


@pytest.mark.parametrize(
    ("process", "state"),
    [
        ("ready", "working"),
        ("unknown", "working"),
        (None, "working"),
        ("starting", "starting"),
        ("restarting", "silent"),
        ("failed", "silent"),
        ("stopping", "silent"),
        ("stopped", "silent"),
    ],
)
def test_the_end_of_its_process_is_known_at_once(process: ProcessState | None, state: DetectionState) -> None:
    signs = StreamLag("session-1")
    signs.queries[QUERY.query] = QUERY
    signs.detection[0] = DetectionLag(came_out_at=CAME_OUT)
    assert detection_state(SESSION, signs, NOW, process) == state


def test_nothing_is_said_where_nobody_said_when_the_session_began() -> None:
    assert detection_state(replace(SESSION, started_at=0), StreamLag("session-1"), NOW) == "unknown"
