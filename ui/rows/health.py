"""The rows of `/api/health/parts`. Times in microseconds UTC; lags, delays and ages in seconds."""

from collections.abc import Iterable, Mapping
from typing import Literal

from typing_extensions import TypedDict

from market.decide.settings import Settings
from market.prices.feed_state import FeedState
from market.time_units import MICROSECONDS
from session.session import Session
from store.records.consumer_position import ConsumerPosition
from store.records.processes import Process
from store.server.change_streams import ChangeStreamProgress
from streams.query_progress import CYCLES_QUERY, QueryProgress
from streams.records import Position
from streams.topics import HEALTH, OPPORTUNITIES, SPREADS, TICKS
from ui.live.consumer_lag import StreamLag
from ui.live.latency_histograms import BOUNDS, LatencyHistogram, TradeLatencies
from ui.rows.attribute import row_from
from ui.rows.market import FeedRow, SourcesRow

DASHBOARD = "dashboard"
DETECTION = "cep (opportunities)"
WINDOWS = "cep (spreads)"
CYCLES = "cep (cycles)"
ARRIVAL = "exchange_to_received"
DELIVERY = "hub_to_client"
FOLLOWED = (TICKS, OPPORTUNITIES, SPREADS, HEALTH)

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
    """A consumer of a topic. `behind`: its lag in rows; None if an end is unknown. `is_bound`: `behind` is an
    upper bound: for the real-time query only the row of its newest output is known."""

    reader: str
    next_offset: int | None
    behind: int | None
    is_bound: bool


class PartitionRow(TypedDict):
    """One partition of a topic; `end_offset` is the next row's, None while Kafka does not answer.

    `rows_per_second`: written between the last two polls, some seconds apart; None before the second.
    """

    topic: str
    partition: int
    end_offset: int | None
    rows_per_second: float | None
    readers: list[ReaderRow]


class DetectionRow(TypedDict):
    """One partition of the log, read by the real-time query: what probe rows and outputs show, in seconds.

    `delay`: of the newest probe, from its write to its output. `waiting`: age of the oldest probe in it.
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
    """The settings publisher: the version in force, the oldest of the newest versions in the log's partitions, and the
    time since it was last published there (each second)."""

    version: int | None
    version_in_log: int | None
    repeated_age: float | None


class ChangeStreamRow(TypedDict):
    """A consumer of MongoDB's change streams. `lag`: time since the moment up to which all changes were read; half a
    second is normal. `report_age`: age of that report. `lost`: how often the history was gone and a resync was
    needed."""

    reader: str
    lag: float | None
    report_age: float
    lost: int


class BucketRow(TypedDict):
    """Number of durations of at most `seconds` and above the bucket before; None: longer than all others."""

    seconds: float | None
    count: int


class LatencyRow(TypedDict):
    """One stage since the dashboard started; `exchange` if it belongs to one exchange. p50 and p95 are estimates from
    the buckets, in seconds."""

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
    """Open browser pages, without programs; `resynchronisations`: how often one fell behind and got a snapshot."""

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


def feed_health_row(feed: FeedState, now: int) -> FeedHealthRow:
    return row_from(FeedHealthRow, feed, age=_age(feed.last_received or None, now))


def topic_rows(
    session: Session,
    lag: StreamLag,
    ends: Mapping[Position, int],
    rates: Mapping[Position, float],
    positions: Iterable[ConsumerPosition],
) -> list[PartitionRow]:
    """Return a row for each partition that is known, by topic and number."""
    consumers = list(positions)
    known = sorted(ends.keys() | lag.next_offsets.keys())
    return [
        PartitionRow(
            topic=topic,
            partition=partition,
            end_offset=ends.get((topic, partition)),
            rows_per_second=rates.get((topic, partition)),
            readers=[
                _reader_row(reader, at, ends.get((topic, partition)), is_bound=reader == DETECTION)
                for reader, at in _readers(session, lag, consumers, (topic, partition))
            ],
        )
        for topic, partition in known
    ]


def _readers(
    session: Session, lag: StreamLag, consumers: list[ConsumerPosition], position: Position
) -> Iterable[tuple[str, int | None]]:
    topic, partition = position
    if topic in FOLLOWED:
        yield DASHBOARD, lag.next_offsets.get(position)
    if topic == TICKS:
        detection = lag.detection.get(partition)
        yield DETECTION, None if detection is None else detection.next_offset
        windows = lag.queries.get("spreads")
        yield WINDOWS, None if windows is None else windows.offsets.get(str(partition))
        cycles = lag.queries.get(CYCLES_QUERY)
        if cycles is not None:
            yield CYCLES, cycles.offsets.get(str(partition))
    name = f"{topic}/{partition}"
    for one in consumers:
        if one.exchange in session.exchanges and name in one.offsets:
            yield one.part, one.offsets[name]


def _reader_row(reader: str, next_offset: int | None, end: int | None, *, is_bound: bool) -> ReaderRow:
    known = next_offset is not None and end is not None
    return ReaderRow(
        reader=reader,
        next_offset=next_offset,
        # the ends were read before the positions
        behind=max(0, (end or 0) - (next_offset or 0)) if known else None,
        is_bound=is_bound,
    )


def detection_rows(lag: StreamLag, now: int) -> list[DetectionRow]:
    return [
        row_from(
            DetectionRow,
            one,
            partition=partition,
            output_age=_age(one.came_out_at, now),
            delay=_seconds(one.probe_delay),
            waiting=_seconds(one.oldest_wait(now)),
        )
        for partition, one in sorted(lag.detection.items())
    ]


def query_row(query: QueryProgress, now: int) -> QueryRow:
    return row_from(
        QueryRow,
        query,
        report_age=_age(query.reported_at, now),
        batch_age=_age(query.batch_at, now),
        batch_seconds=None if query.batch_ms is None else query.batch_ms / 1_000,
        checkpoint_age=_age(query.checkpoint_at, now),
    )


def publisher_row(settings: Settings | None, lag: StreamLag, now: int) -> SettingsPublisherRow:
    rows = lag.settings.values()
    return SettingsPublisherRow(
        version=None if settings is None else settings.version,
        version_in_log=min((row.version for row in rows), default=None),
        repeated_age=_age(min((row.written_at for row in rows), default=None), now),
    )


def change_stream_rows(
    progress: ChangeStreamProgress, positions: Iterable[ConsumerPosition], now: int, server_ahead: int
) -> list[ChangeStreamRow]:
    """Return the dashboard's row first, then the bots'."""
    own = ChangeStreamRow(
        reader=DASHBOARD, lag=_seconds(progress.lag(now, server_ahead)), report_age=0.0, lost=progress.lost
    )
    others = [
        ChangeStreamRow(
            reader=one.part,
            lag=_seconds(one.change_lag),
            report_age=_age(one.reported_at - server_ahead, now) or 0.0,
            lost=one.lost_streams,
        )
        for one in positions
    ]
    return [own, *others]


def latency_rows(latencies: TradeLatencies, deliveries: LatencyHistogram) -> list[LatencyRow]:
    """Return the stages in the order in which data pass them."""
    arrivals = [_latency_row(ARRIVAL, one, exchange) for exchange, one in sorted(latencies.arrivals.items())]
    stages = [_latency_row(stage, one) for stage, one in latencies.stages.items()]
    return [*arrivals, *stages, _latency_row(DELIVERY, deliveries)]


def _latency_row(stage: str, histogram: LatencyHistogram, exchange: str | None = None) -> LatencyRow:
    bounds = zip((*BOUNDS, None), histogram.counts, strict=True)
    return row_from(
        LatencyRow,
        histogram,
        stage=stage,
        exchange=exchange,
        total_seconds=histogram.seconds,
        p50=histogram.quantile(0.50),
        p95=histogram.quantile(0.95),
        buckets=[BucketRow(seconds=bound, count=count) for bound, count in bounds],
    )


def part_row(process: Process) -> PartRow:
    return row_from(PartRow, process, is_wanted=process.order.wanted == "running")


def _age(moment: int | None, now: int) -> float | None:
    return None if moment is None else max(0.0, (now - moment) / MICROSECONDS)


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / MICROSECONDS
