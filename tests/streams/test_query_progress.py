"""Rows of the topic `health`."""

import pytest

from streams.message_format import WireError
from streams.query_progress import QueryProgress, progress_of, progress_row

WHOLE = QueryProgress(
    "session-1", "spreads", False, True, 5_000_000, 1_000_000, "Waiting for data to arrive",
    batch=7, batch_at=4_000_000, batch_ms=320, batch_rows=600, input_rows_per_second=120.5,
    processed_rows_per_second=1_800.0, state_rows=12, state_bytes=4_096, offsets={"0": 700, "1": 12}, checkpoint_at=3,
)  # fmt: skip
BEFORE_ITS_FIRST_BATCH = QueryProgress("session-1", "opportunities", True, True, 5_000_000, 1_000_000, "Processing")


@pytest.mark.parametrize("progress", [WHOLE, BEFORE_ITS_FIRST_BATCH])
def test_what_is_written_is_read(progress: QueryProgress) -> None:
    assert progress_of(progress_row(progress)) == progress


def test_kinds_of_other_versions_are_passed_over() -> None:
    assert progress_of(b'{"kind": "weather"}') is None


@pytest.mark.parametrize("message", [b"", b"\x00", b"[]", b'{"kind": "query"}', b'{"kind": "query", "query": {}}'])
def test_what_is_no_row_is_said_to_be_none(message: bytes) -> None:
    with pytest.raises(WireError):
        progress_of(message)
