"""Prometheus metrics from the health report and the session's sums. `docs/metrics.md` explains each name."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import get_args

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from market.prices.episodes import EpisodeOutcome
from market.time_units import MICROSECONDS
from market.trade.arbitrages import FINAL_STATES, OPEN_STATES
from market.trade.reservation_state import BalanceRow
from store.aggregates.session_totals import SessionTotals
from ui.live.state import LiveState
from ui.rows.health import ARRIVAL, DELIVERY, FeedHealthRow, HealthReportRow, LatencyRow, QueryRow
from ui.services.request_metrics import RequestMetrics

FEED_STATES = ("live", "stale", "resyncing", "down")
FEED_COUNTERS = {
    "quotes": "Quotes read from the exchange.",
    "reconnects": "Reconnects.",
    "gaps": "Sequence gaps.",
    "checksums": "Order books with a wrong checksum.",
    "malformed": "Malformed messages.",
    "resyncs": "Resyncs of the order book.",
    "rest_mismatches": "REST mismatches.",
}
QUERY_GAUGES: tuple[tuple[str, str, Callable[[QueryRow], float | None]], ...] = (
    ("active", "1 while Spark runs the query.", lambda query: float(query["is_active"])),
    ("report_age_seconds", "Age of its driver's last report.", lambda query: query["report_age"]),
    ("batch", "Number of the newest batch that has ended.", lambda query: query["batch"]),
    ("batch_age_seconds", "Since that batch began.", lambda query: query["batch_age"]),
    ("batch_duration_seconds", "How long that batch took.", lambda query: query["batch_seconds"]),
    ("batch_rows", "Rows of that batch.", lambda query: query["batch_rows"]),
    ("input_rows_per_second", "Input rows per second in that batch.", lambda query: query["input_rows_per_second"]),
    (
        "processed_rows_per_second",
        "Processed rows per second in that batch.",
        lambda query: query["processed_rows_per_second"],
    ),
    ("state_rows", "Rows of Spark's state.", lambda query: query["state_rows"]),
    ("state_bytes", "Memory of Spark's state.", lambda query: query["state_bytes"]),
    ("checkpoint_age_seconds", "Age of the checkpoint's last offsets.", lambda query: query["checkpoint_age"]),
)

Labelled = tuple[tuple[str, ...], float | None]


@dataclass(frozen=True, slots=True)
class TradingNow:
    """What is known of trading. `best_net_bps`: asset → of the pair of fresh markets that would bring most."""

    totals: SessionTotals
    opportunities: int
    balances: tuple[BalanceRow, ...] = ()
    best_net_bps: Mapping[str, float] = field(default_factory=dict)


def trading_now(state: LiveState) -> TradingNow:
    best = {line.base: line.best.net_bps for line in state.lines() if line.best is not None}
    return TradingNow(state.ledger.totals, state.opportunity_count, state.ledger.balances, best)


class MonotonicCounts:
    """A monotonic counter from counts that may decrease: old rows are deleted, and an arbitrage may be reopened."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._totals: dict[str, int] = {}

    def follow(self, counts: Iterable[tuple[str, int]]) -> dict[str, int]:
        """Return the totals of all increases; a decrease adds nothing."""
        for name, count in counts:
            self._totals[name] = self._totals.get(name, 0) + max(0, count - self._last.get(name, 0))
            self._last[name] = count
        return dict(self._totals)


class Metrics:
    """Metrics of one process; counts begin at its start."""

    def __init__(self) -> None:
        self.requests = RequestMetrics()
        self._rejections = MonotonicCounts()
        self._trades = MonotonicCounts()
        self._episodes = MonotonicCounts()

    def text(self, report: HealthReportRow, trading: TradingNow, accept: str) -> tuple[bytes, str]:
        """Return the body and its media type, as `accept` (a request header) wants it."""
        encode, media_type = choose_encoder(accept)
        registry = CollectorRegistry()
        families = [*self.families(report, trading), *self.requests.registry.collect()]
        registry.register(_Collected(families))
        return encode(registry), media_type

    def families(self, report: HealthReportRow, trading: TradingNow) -> list[Metric]:
        """Return all but those of requests."""
        return list(
            chain(
                self._trading(trading.totals, trading.opportunities),
                _market(trading),
                _sources(report),
                _feeds(report["feeds"]),
                _streams(report),
                _queries(report["queries"]),
                _latencies(report["latencies"]),
                _parts(report),
            )
        )

    def _trading(self, totals: SessionTotals, opportunities: int) -> Iterator[Metric]:
        rejections = self._rejections.follow(totals.rejections.items())
        ended = ((state, totals.arbitrages.get(state, 0)) for state in FINAL_STATES)
        trades = self._trades.follow(ended)
        open_now = sum(totals.arbitrages.get(state, 0) for state in OPEN_STATES)
        yield _counter("arbitrage_opportunities", "Distinct opportunities seen.", (), [((), opportunities)])
        yield _counter("arbitrage_rejections", "Rejected opportunities.", ("reason",), _by_name(rejections))
        yield _counter("arbitrage_trades", "Arbitrages that ended.", ("state",), _by_name(trades))
        decided = ((name, totals.episodes.get(name, 0)) for name in get_args(EpisodeOutcome) if name != "undecided")
        episodes = self._episodes.follow(decided)
        yield _counter("arbitrage_episodes", "Episodes of opportunities.", ("outcome",), _by_name(episodes))
        yield _gauge("arbitrage_trades_open", "Arbitrages that have not ended.", (), [((), open_now)])
        net = [((totals.profit.currency,), float(totals.profit.net))]
        yield _gauge("arbitrage_net_profit", "Net profit of the session, in the currency.", ("currency",), net)


def _market(trading: TradingNow) -> Iterator[Metric]:
    best: list[Labelled] = [((base,), bps) for base, bps in trading.best_net_bps.items()]
    yield _gauge(
        "arbitrage_best_net_bps", "Spread of the best pair of markets, net of both taker fees.", ("asset",), best
    )
    labels = ("exchange", "currency")
    free: list[Labelled] = [((row.exchange, row.currency), float(row.free)) for row in trading.balances]
    held: list[Labelled] = [((row.exchange, row.currency), float(row.held)) for row in trading.balances]
    yield _gauge("arbitrage_balance_free", "Free balance.", labels, free)
    yield _gauge("arbitrage_balance_held", "Balance that open orders hold.", labels, held)


class _Collected(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _sources(report: HealthReportRow) -> Iterator[Metric]:
    followed: list[Labelled] = [((name,), float(bool(is_live))) for name, is_live in report["sources"].items()]
    yield _gauge("arbitrage_source_followed", "1 while the dashboard follows it.", ("source",), followed)
    yield _gauge("arbitrage_kafka_answers", "1 while Kafka answers.", (), [((), float(report["kafka_answers"]))])
    severities = [finding["severity"] for finding in report["findings"]]
    found: list[Labelled] = [((name,), float(severities.count(name))) for name in ("failing", "warning")]
    yield _gauge("arbitrage_health_findings", "Findings of the page Health.", ("severity",), found)
    yield _gauge("arbitrage_session_info", "Always 1.", ("mode",), [((report["mode"],), 1.0)])


def _feeds(feeds: list[FeedHealthRow]) -> Iterator[Metric]:
    labels = ("exchange", "symbol")
    named = [((feed["exchange"], feed["symbol"]), feed) for feed in feeds]
    states: list[Labelled] = [
        ((*name, state), float(feed["status"] == state)) for name, feed in named for state in FEED_STATES
    ]
    yield _gauge("arbitrage_feed_state", "1 for the state that the feed is in.", (*labels, "state"), states)
    ages: list[Labelled] = [(name, feed["age"]) for name, feed in named]
    yield _gauge("arbitrage_feed_age_seconds", "Age of the newest update or heartbeat.", labels, ages)
    offsets: list[Labelled] = [
        (name, None if feed["offset_us"] is None else feed["offset_us"] / MICROSECONDS) for name, feed in named
    ]
    yield _gauge(
        "arbitrage_feed_clock_offset_seconds", "Offset of the exchange's clock ahead of ours.", labels, offsets
    )
    for counter, explained in FEED_COUNTERS.items():
        counts: list[Labelled] = [(name, feed[counter]) for name, feed in named]  # type: ignore[literal-required]  # of FeedRow
        yield _counter(f"arbitrage_feed_{counter}", explained, labels, counts)
    rejected: list[Labelled] = [
        ((*name, reason), count) for name, feed in named for reason, count in feed["rejected"].items()
    ]
    yield _counter("arbitrage_feed_rejected", "Rejected order books.", (*labels, "reason"), rejected)


def _streams(report: HealthReportRow) -> Iterator[Metric]:
    labels, rows = ("topic", "partition"), report["topics"]
    ends: list[Labelled] = [((row["topic"], str(row["partition"])), row["end_offset"]) for row in rows]
    yield _gauge("arbitrage_kafka_end_offset", "The next row's offset.", labels, ends)
    behind: list[Labelled] = [
        ((row["topic"], str(row["partition"]), reader["reader"]), reader["behind"])
        for row in rows
        for reader in row["readers"]
    ]
    yield _gauge("arbitrage_kafka_lag_rows", "Consumer lag.", (*labels, "reader"), behind)
    changes: list[Labelled] = [((row["reader"],), row["lag"]) for row in report["change_streams"]]
    yield _gauge("arbitrage_change_stream_lag_seconds", "Change stream lag.", ("reader",), changes)
    lost: list[Labelled] = [((row["reader"],), row["lost"]) for row in report["change_streams"]]
    yield _counter("arbitrage_change_stream_lost", "Change stream resyncs.", ("reader",), lost)
    age: list[Labelled] = [((), report["publisher"]["repeated_age"])]
    yield _gauge("arbitrage_settings_repeated_age_seconds", "Age of the settings' last publication.", (), age)


def _queries(queries: list[QueryRow]) -> Iterator[Metric]:
    for name, explained, value in QUERY_GAUGES:
        values: list[Labelled] = [((query["query"],), value(query)) for query in queries]
        yield _gauge(f"arbitrage_spark_query_{name}", explained, ("query",), values)


def _latencies(rows: list[LatencyRow]) -> Iterator[Metric]:
    arrivals = HistogramMetricFamily(
        "arbitrage_feed_latency_seconds", "From the exchange's time to receipt.", labels=("exchange",)
    )
    stages = HistogramMetricFamily("arbitrage_latency_seconds", "Stages of a trade.", labels=("stage",))
    delivery = HistogramMetricFamily("arbitrage_websocket_delivery_seconds", "From publishing to delivery to a client.")
    for row in rows:
        match row["stage"]:
            case stage if stage == ARRIVAL:
                _add(arrivals, (row["exchange"] or "",), row)
            case stage if stage == DELIVERY:
                _add(delivery, (), row)
            case stage:
                _add(stages, (stage,), row)
    yield from (arrivals, stages, delivery)


def _add(family: HistogramMetricFamily, labels: tuple[str, ...], row: LatencyRow) -> None:
    buckets, below = [], 0
    for bucket in row["buckets"]:
        below += bucket["count"]
        bound = "+Inf" if bucket["seconds"] is None else str(bucket["seconds"])
        buckets.append((bound, float(below)))
    family.add_metric(labels, buckets, row["total_seconds"])


def _parts(report: HealthReportRow) -> Iterator[Metric]:
    detection = report["detection"]
    delays: list[Labelled] = [((str(row["partition"]),), row["delay"]) for row in detection]
    waiting: list[Labelled] = [((str(row["partition"]),), row["waiting"]) for row in detection]
    ages: list[Labelled] = [((str(row["partition"]),), row["output_age"]) for row in detection]
    yield _gauge("arbitrage_detection_probe_delay_seconds", "Delay of the newest probe row.", ("partition",), delays)
    yield _gauge(
        "arbitrage_detection_probe_waiting_seconds", "Age of the oldest waiting probe row.", ("partition",), waiting
    )
    yield _gauge("arbitrage_detection_output_age_seconds", "Age of Spark's newest output.", ("partition",), ages)
    up: list[Labelled] = [((part["name"],), float(part["state"] == "ready")) for part in report["processes"]]
    restarts: list[Labelled] = [((part["name"],), part["restarts"]) for part in report["processes"]]
    yield _gauge("arbitrage_process_up", "1 while the process is ready.", ("part",), up)
    yield _counter("arbitrage_process_restarts", "Unplanned restarts.", ("part",), restarts)
    clients = report["clients"]
    yield _gauge("arbitrage_websocket_clients", "Connected browser pages.", (), [((), clients["clients"])])
    drops: list[Labelled] = [((), clients["resynchronisations"])]
    yield _counter("arbitrage_websocket_resynchronisations", "Client resyncs.", (), drops)


def _by_name(counts: dict[str, int]) -> list[Labelled]:
    return [((name,), count) for name, count in sorted(counts.items())]


def _gauge(name: str, explained: str, labels: tuple[str, ...], values: Iterable[Labelled]) -> Metric:
    return _filled(GaugeMetricFamily(name, explained, labels=labels), values)


def _counter(name: str, explained: str, labels: tuple[str, ...], values: Iterable[Labelled]) -> Metric:
    return _filled(CounterMetricFamily(name, explained, labels=labels), values)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, values: Iterable[Labelled]) -> Metric:
    """Add the known values; unknown ones are left out, not reported as 0."""
    for labels, value in values:
        if value is not None:
            family.add_metric(labels, float(value))
    return family
