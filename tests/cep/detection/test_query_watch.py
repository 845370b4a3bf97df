"""What is read of Spark's own report of a query, and when it is told."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from cep.detection.query_watch import QueryHeartbeat, WatchedQuery, batch_figures, newest_offsets_at
from tests.cep.logs import session

MICRO_BATCH = {
    "id": "1", "runId": "2", "name": "spreads", "timestamp": "2026-11-21T17:15:38.123Z", "batchId": 41,
    "batchDuration": 480, "numInputRows": 600, "inputRowsPerSecond": 120.5, "processedRowsPerSecond": 1250.0,
    "durationMs": {"addBatch": 300, "triggerExecution": 480}, "stateOperators": [],
    "sources": [{"endOffset": {"ticks": {"0": 700, "1": 12}}, "numInputRows": 600}],
}  # fmt: skip
REAL_TIME = MICRO_BATCH | {
    "name": "opportunities",
    "processedRowsPerSecond": "NaN",
    "stateOperators": [{"numRowsTotal": 3, "memoryUsedBytes": 2_048}, {"numRowsTotal": 1, "memoryUsedBytes": 1_024}],
    "sources": [{"endOffset": '{"ticks":{"0":9}}'}],
}


def test_a_micro_batch_is_read_whole() -> None:
    assert batch_figures(json.dumps(MICRO_BATCH)) == {
        "batch": 41,
        "batch_at": 1_795_281_338_123_000,
        "batch_ms": 480,
        "batch_rows": 600,
        "input_rows_per_second": 120.5,
        "processed_rows_per_second": 1250.0,
        "state_rows": None,
        "state_bytes": None,
        "offsets": {"0": 700, "1": 12},
    }


def test_state_is_summed_and_what_is_no_number_is_none() -> None:
    figures = batch_figures(json.dumps(REAL_TIME))
    assert (figures["state_rows"], figures["state_bytes"], figures["offsets"]) == (4, 3_072, {"0": 9})
    assert figures["processed_rows_per_second"] is None


@pytest.mark.parametrize("report", [{}, {"sources": [{}], "durationMs": None, "stateOperators": None}])
def test_what_spark_leaves_out_is_none(report: dict[str, object]) -> None:
    figures = batch_figures(json.dumps(report))
    assert figures.pop("offsets") == {}
    assert set(figures.values()) == {None}


def test_the_newest_offsets_of_a_checkpoint_report_its_age(tmp_path: Path) -> None:
    assert newest_offsets_at(tmp_path) is None
    (tmp_path / "offsets").mkdir()
    assert newest_offsets_at(tmp_path) is None
    for name, seconds in (("0", 100), ("1", 200), (".2.crc", 300), ("3.tmp", 300)):
        (tmp_path / "offsets" / name).touch()
        os.utime(tmp_path / "offsets" / name, (seconds, seconds))
    assert newest_offsets_at(tmp_path) == 200_000_000


class Reports:
    """A query that counts how often it is asked."""

    name = "opportunities"
    isActive = True  # noqa: N815 - Spark's name

    def __init__(self, report: str | None = None) -> None:
        self.asked = 0
        self._report = report
        self._jsq = SimpleNamespace(lastProgress=self._last)

    @property
    def status(self) -> dict[str, str]:
        return {"message": "Processing new data"}

    def _last(self) -> SimpleNamespace | None:
        self.asked += 1
        return None if self._report is None else SimpleNamespace(json=lambda: self._report)


def test_spark_is_asked_once_a_pace_and_a_kafka_that_is_gone_harms_nothing(tmp_path: Path) -> None:
    reports, time = Reports(), [0]
    heartbeat = QueryHeartbeat(session(tmp_path, "127.0.0.1:1"), interval=2, now=lambda: time[0])
    watched = [WatchedQuery(cast(StreamingQuery, reports), True, 0, tmp_path)]
    for seconds in (0, 1, 2, 2.5, 3.9, 4):
        time[0] = int(seconds * 1_000_000)
        heartbeat.send(watched)
    assert reports.asked == 2


@pytest.mark.parametrize(
    "report",
    [
        "no JSON",
        "[]",
        json.dumps({"sources": [{"endOffset": "-"}]}),
        json.dumps({"sources": [{"endOffset": {"ticks": {"0": None}}}]}),
        json.dumps({"timestamp": "now"}),
    ],
)
def test_a_report_that_cannot_be_read_does_not_end_detection(
    tmp_path: Path, report: str, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = QueryHeartbeat(session(tmp_path, "127.0.0.1:1"), interval=0, now=lambda: 1)
    heartbeat.send([WatchedQuery(cast(StreamingQuery, Reports(report)), True, 0, tmp_path)])
    assert caplog.messages.count("a query's report cannot be read") == 1
