"""A health report of a session that is well, to change one thing in."""

from typing import Any, cast

from tests.ui.samples import START
from ui.rows.health import (
    DetectionRow,
    FeedHealthRow,
    FindingRow,
    HealthReportRow,
    LatencyRow,
    PartitionRow,
    PartRow,
    QueryRow,
)

FINDING = FindingRow(severity="failing", part="kafka", what="It is gone & silent.", todo="Start it.")
LATENCY = LatencyRow(
    stage="sent_to_filled",
    exchange=None,
    count=4,
    total_seconds=0.05,
    p50=0.007,
    p95=0.01,
    buckets=[{"seconds": 0.005, "count": 0}, {"seconds": 0.01, "count": 3}, {"seconds": None, "count": 1}],
)


def part(name: str, state: str = "ready", **changes: Any) -> PartRow:
    row = PartRow(
        name=name,
        kind=name.partition("-")[0],
        exchange=None,
        state=state,
        is_wanted=True,
        pid=7,
        since=START - 3_600_000_000,
        restarts=0,
        last_end=None,
    )
    return cast(PartRow, row | changes)


def feed(exchange: str, symbol: str, **changes: Any) -> FeedHealthRow:
    row = FeedHealthRow(
        exchange=exchange,
        region="us",
        symbol=symbol,
        status="live",
        changed_at=START,
        last_received=START,
        quotes=100,
        reconnects=0,
        rejected={"crossed": 2},
        gaps=0,
        checksums=0,
        malformed=0,
        resyncs=0,
        rest_checks=0,
        rest_mismatches=0,
        rest_failures=0,
        offset_us=-12_000,
        age=0.4,
    )
    return cast(FeedHealthRow, row | changes)


def query(name: str, *, is_real_time: bool = False, **changes: Any) -> QueryRow:
    row = QueryRow(
        query=name,
        is_real_time=is_real_time,
        is_active=True,
        message="Processing new data",
        report_age=1.0,
        started_at=START,
        batch=None if is_real_time else 12,
        batch_age=None if is_real_time else 4.0,
        batch_seconds=None if is_real_time else 0.5,
        batch_rows=None if is_real_time else 600,
        input_rows_per_second=None if is_real_time else 120.0,
        processed_rows_per_second=None if is_real_time else 1_200.0,
        state_rows=None,
        state_bytes=None,
        checkpoint_age=None,
    )
    return cast(QueryRow, row | changes)


def detection(**changes: Any) -> DetectionRow:
    row = DetectionRow(partition=0, next_offset=960, output_age=1.0, delay=0.02, waiting=0.0)
    return cast(DetectionRow, row | changes)


def partition(**changes: Any) -> PartitionRow:
    row = PartitionRow(
        topic="ticks",
        partition=0,
        end_offset=1_000,
        rows_per_second=118.0,
        readers=[
            {"reader": "dashboard", "next_offset": 990, "behind": 10, "is_bound": False},
            {"reader": "cep (opportunities)", "next_offset": 960, "behind": 40, "is_bound": True},
        ],
    )
    return cast(PartitionRow, row | changes)


def report(**changes: Any) -> HealthReportRow:
    """Return a report of the session of `tests.ui.samples`."""
    row = HealthReportRow(
        verdict="well",
        summary="All healthy",
        findings=[],
        now=START,
        mode="paper",
        session_id="session-1",
        sources={"kafka": True, "mongodb": True},
        kafka_answers=True,
        feeds=[feed("alpha", "BTC/USD"), feed("beta", "BTC/EUR"), feed("fx", "EUR/USD")],
        topics=[partition()],
        detection=[detection()],
        queries=[query("opportunities", is_real_time=True), query("spreads")],
        publisher={"version": 3, "version_in_log": 3, "repeated_age": 0.5},
        change_streams=[
            {"reader": "dashboard", "lag": 0.2, "report_age": 0.0, "lost": 0},
            {"reader": "bot-alpha", "lag": 0.1, "report_age": 1.0, "lost": 0},
        ],
        latencies=[LATENCY],
        processes=[part("supervisor"), part("cep"), part("kafka"), part("bot-alpha"), part("feed-alpha")],
        clients={"clients": 2, "resynchronisations": 0},
    )
    return cast(HealthReportRow, row | changes)
