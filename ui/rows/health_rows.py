"""The rows of `/api/health/parts`. Times in microseconds UTC; lags, delays and ages in seconds."""

from typing import Literal

from typing_extensions import TypedDict

from ui.rows.api_rows import FeedRow, SourcesRow

Severity = Literal["warning", "failing"]
Verdict = Literal["well", "warning", "failing"]


class FindingRow(TypedDict):
    """A finding: the part, what is wrong, and what to do."""

    severity: Severity
    part: str
    what: str
    todo: str


class FeedHealthRow(FeedRow):
    """`age`: since the newest update or heartbeat; None before the first."""

    age: float | None


class ReaderRow(TypedDict):
    """A consumer of a topic. `behind`: its lag in rows; None where an end is unknown. `is_bound`: `behind` is an
    upper bound: for the real-time query only the row of its newest output is known."""

    reader: str
    next_offset: int | None
    behind: int | None
    is_bound: bool


class PartitionRow(TypedDict):
    """One partition of a topic; `end_offset` is the next row's, None while Kafka does not answer.

    `rows_per_second`: written between the last two looks, some seconds apart; None before the second.
    """

    topic: str
    partition: int
    end_offset: int | None
    rows_per_second: float | None
    readers: list[ReaderRow]


class DetectionRow(TypedDict):
    """One partition of the log going through the real-time query: what probe rows and outputs show, in seconds.

    `delay`: the newest probe's from being written until it came out. `waiting`: how long the oldest has been in it.
    """

    partition: int
    next_offset: int | None
    output_age: float | None
    delay: float | None
    waiting: float


class QueryRow(TypedDict):
    """A Spark query, as reported `report_age` seconds ago. Batch figures are None until the first batch has ended;
    those of the real-time query are up to five minutes old."""

    query: str
    is_real_time: bool
    is_active: bool
    message: str
    report_age: float
    started_at: int
    batch: int | None
    batch_age: float | None
    batch_seconds: float | None
    batch_rows: int | None
    input_rows_per_second: float | None
    processed_rows_per_second: float | None
    state_rows: int | None
    state_bytes: int | None
    checkpoint_age: float | None


class SettingsPublisherRow(TypedDict):
    """The settings publisher: the version in force, the lowest newest version over the log's partitions, and the
    time since it was last published there (each second)."""

    version: int | None
    version_in_log: int | None
    repeated_age: float | None


class ChangeStreamRow(TypedDict):
    """A consumer of MongoDB's change streams. `lag`: since the last moment up to which all changes were read; half a
    second is normal. `report_age`: age of that report. `lost`: how often the history was gone and a resync was
    needed."""

    reader: str
    lag: float | None
    report_age: float
    lost: int


class BucketRow(TypedDict):
    """How many took at most `seconds` and more than the bucket before; None: longer than all others."""

    seconds: float | None
    count: int


class LatencyRow(TypedDict):
    """One stage since the dashboard started; `exchange` where it is one exchange's. p50 and p95 are estimates from the
    buckets, in seconds."""

    stage: str
    exchange: str | None
    count: int
    total_seconds: float
    p50: float | None
    p95: float | None
    buckets: list[BucketRow]


class PartRow(TypedDict):
    """One process of the session, as reported by its supervisor."""

    name: str
    kind: str
    exchange: str | None
    state: str
    is_wanted: bool
    pid: int | None
    since: int
    restarts: int
    last_end: str | None


class ClientsRow(TypedDict):
    """Browser pages that are open, not programs; `resynchronisations`: how often one fell behind and got a snapshot."""

    clients: int
    resynchronisations: int


class HealthReportRow(TypedDict):
    """The health of all parts, and the findings. `kafka_answers`: just now; a consumer only sees that rows stop
    coming."""

    verdict: Verdict
    summary: str
    findings: list[FindingRow]
    now: int
    mode: str
    session_id: str
    sources: SourcesRow
    kafka_answers: bool
    feeds: list[FeedHealthRow]
    topics: list[PartitionRow]
    detection: list[DetectionRow]
    queries: list[QueryRow]
    publisher: SettingsPublisherRow
    change_streams: list[ChangeStreamRow]
    latencies: list[LatencyRow]
    processes: list[PartRow]
    clients: ClientsRow
