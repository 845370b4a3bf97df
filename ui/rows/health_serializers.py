"""Health reports of the parts, as rows. Pure."""

from collections.abc import Iterable, Mapping

from market.decide.settings import Settings
from market.prices.feed_state import FeedState
from market.time_units import MICROSECONDS
from session.lag import ConsumerPosition, QueryProgress
from session.processes import Process
from session.session import Session
from store.server.change_streams import ChangeStreamProgress
from streams.records import Position
from streams.topics import HEALTH, OPPORTUNITIES, SPREADS, TICKS
from ui.live.consumer_lag import StreamLag
from ui.live.latency_histograms import BOUNDS, LatencyHistogram, TradeLatencies
from ui.rows.health_rows import (
    BucketRow,
    ChangeStreamRow,
    DetectionRow,
    FeedHealthRow,
    LatencyRow,
    PartitionRow,
    PartRow,
    QueryRow,
    ReaderRow,
    SettingsPublisherRow,
)
from ui.rows.serializers import feed_row

DASHBOARD = "dashboard"
DETECTION = "cep (opportunities)"
WINDOWS = "cep (spreads)"
ARRIVAL = "exchange_to_received"
DELIVERY = "hub_to_client"
FOLLOWED = (TICKS, OPPORTUNITIES, SPREADS, HEALTH)


def feed_health_row(feed: FeedState, now: int) -> FeedHealthRow:
    return FeedHealthRow(**feed_row(feed), age=_age(feed.last_received or None, now))


def topic_rows(
    session: Session,
    signs: StreamLag,
    ends: Mapping[Position, int],
    rates: Mapping[Position, float],
    reaches: Iterable[ConsumerPosition],
) -> list[PartitionRow]:
    """One for each partition that is known, by topic and number."""
    told = list(reaches)
    known = sorted(ends.keys() | signs.next_offsets.keys())
    return [
        PartitionRow(
            topic=topic,
            partition=partition,
            end_offset=ends.get((topic, partition)),
            rows_per_second=rates.get((topic, partition)),
            readers=[
                _reader_row(reader, at, ends.get((topic, partition)), is_bound=reader == DETECTION)
                for reader, at in _readers(session, signs, told, (topic, partition))
            ],
        )
        for topic, partition in known
    ]


def _readers(
    session: Session, signs: StreamLag, reaches: list[ConsumerPosition], position: Position
) -> Iterable[tuple[str, int | None]]:
    topic, partition = position
    if topic in FOLLOWED:
        yield DASHBOARD, signs.next_offsets.get(position)
    if topic == TICKS:
        detection = signs.detection.get(partition)
        yield DETECTION, None if detection is None else detection.next_offset
        windows = signs.queries.get("spreads")
        yield WINDOWS, None if windows is None else windows.offsets.get(str(partition))
    name = f"{topic}/{partition}"
    for reach in reaches:
        if reach.exchange in session.exchanges and name in reach.offsets:
            yield reach.part, reach.offsets[name]


def _reader_row(reader: str, next_offset: int | None, end: int | None, *, is_bound: bool) -> ReaderRow:
    known = next_offset is not None and end is not None
    return ReaderRow(
        reader=reader,
        next_offset=next_offset,
        # the ends were asked for before what was read was looked up
        behind=max(0, (end or 0) - (next_offset or 0)) if known else None,
        is_bound=is_bound,
    )


def detection_rows(signs: StreamLag, now: int) -> list[DetectionRow]:
    return [
        DetectionRow(
            partition=partition,
            next_offset=one.next_offset,
            output_age=_age(one.came_out_at, now),
            delay=None if one.probe_delay is None else one.probe_delay / MICROSECONDS,
            waiting=one.waited(now) / MICROSECONDS,
        )
        for partition, one in sorted(signs.detection.items())
    ]


def query_row(query: QueryProgress, now: int) -> QueryRow:
    return QueryRow(
        query=query.query,
        is_real_time=query.is_real_time,
        is_active=query.is_active,
        message=query.message,
        report_age=_age(query.told_at, now) or 0.0,
        started_at=query.started_at,
        batch=query.batch,
        batch_age=_age(query.batch_at, now),
        batch_seconds=None if query.batch_ms is None else query.batch_ms / 1_000,
        batch_rows=query.batch_rows,
        input_rows_per_second=query.input_rows_per_second,
        processed_rows_per_second=query.processed_rows_per_second,
        state_rows=query.state_rows,
        state_bytes=query.state_bytes,
        checkpoint_age=_age(query.checkpoint_at, now),
    )


def publisher_row(settings: Settings | None, signs: StreamLag, now: int) -> SettingsPublisherRow:
    rows = signs.settings.values()
    return SettingsPublisherRow(
        version=None if settings is None else settings.version,
        version_in_log=min((row.version for row in rows), default=None),
        repeated_age=_age(min((row.written_at for row in rows), default=None), now),
    )


def change_stream_rows(
    standing: ChangeStreamProgress, reaches: Iterable[ConsumerPosition], now: int, server_ahead: int
) -> list[ChangeStreamRow]:
    """The dashboard's first, then the bots'."""
    own = ChangeStreamRow(
        reader=DASHBOARD, lag=_seconds(standing.lag(now, server_ahead)), report_age=0.0, lost=standing.lost
    )
    others = [
        ChangeStreamRow(
            reader=reach.part,
            lag=_seconds(reach.change_lag),
            report_age=_age(reach.told_at - server_ahead, now) or 0.0,
            lost=reach.streams_lost,
        )
        for reach in reaches
    ]
    return [own, *others]


def latency_rows(latencies: TradeLatencies, deliveries: LatencyHistogram) -> list[LatencyRow]:
    """In the order of the way of the data."""
    arrivals = [_latency_row(ARRIVAL, one, exchange) for exchange, one in sorted(latencies.arrivals.items())]
    stages = [_latency_row(stage, one) for stage, one in latencies.stages.items()]
    return [*arrivals, *stages, _latency_row(DELIVERY, deliveries)]


def _latency_row(stage: str, histogram: LatencyHistogram, exchange: str | None = None) -> LatencyRow:
    return LatencyRow(
        stage=stage,
        exchange=exchange,
        count=histogram.count,
        total_seconds=histogram.seconds,
        p50=histogram.quantile(0.50),
        p95=histogram.quantile(0.95),
        buckets=[
            BucketRow(seconds=bound, count=count)
            for bound, count in zip((*BOUNDS, None), histogram.counts, strict=True)
        ],
    )


def part_row(process: Process) -> PartRow:
    return PartRow(
        name=process.name,
        kind=process.kind,
        exchange=process.exchange,
        state=process.state,
        is_wanted=process.order.wanted == "running",
        pid=process.pid,
        since=process.since,
        restarts=process.restarts,
        last_end=process.last_end,
    )


def _age(moment: int | None, now: int) -> float | None:
    return None if moment is None else max(0.0, (now - moment) / MICROSECONDS)


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / MICROSECONDS
