"""An outage is told, not drummed."""

import logging

import pytest

from streams.log_throttle import REPEAT_AFTER, LogThrottle


@pytest.mark.parametrize(
    ("moments", "reported"),
    [
        ([0], [0]),
        ([0, 1, REPEAT_AFTER - 1], [0]),
        ([0, 1, 2, REPEAT_AFTER], [0, 2]),
        ([0, REPEAT_AFTER, 2 * REPEAT_AFTER], [0, 0, 0]),
    ],
)
def test_one_cause_is_reported_at_once_and_then_with_its_count(
    moments: list[int], reported: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    times = iter(moments)
    troubles = LogThrottle("127.0.0.1:9", lambda: next(times))
    with caplog.at_level(logging.WARNING, "streams"):
        for _ in moments:
            troubles.log_cause("connection refused")
    assert [getattr(record, "suppressed", None) for record in caplog.records] == reported


def test_another_cause_is_reported_beside_it(caplog: pytest.LogCaptureFixture) -> None:
    troubles = LogThrottle("127.0.0.1:9", lambda: 0)
    with caplog.at_level(logging.WARNING, "streams"):
        for cause in ("connection refused", "all brokers down", "connection refused"):
            troubles.log_cause(cause)
    assert [getattr(record, "cause", None) for record in caplog.records] == ["connection refused", "all brokers down"]
