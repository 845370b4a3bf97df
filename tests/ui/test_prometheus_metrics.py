"""What Prometheus is told: it parses, it is documented, and no label grows without bounds."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from market.accounting.profit_groups import profit_from
from market.trade.reservation_state import BalanceRow
from store.aggregates.session_totals import SessionTotals
from tests.ui.health_reports import detection, part, query, report
from ui.services.prometheus_metrics import Metrics, MonotonicCounts, TradingNow
from ui.services.request_metrics import RequestMetrics

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
TOTALS = SessionTotals(profit_from("USD", {"net": Decimal("-1.25")}), {"closed": 4, "reserved": 1}, {"stale": 7})
ROW = re.compile(r"^\| `(?P<name>[a-z_]+)` \| (?P<kind>\w+) \|(?P<labels>[^|]*)\|", re.MULTILINE)


BALANCE = BalanceRow("alpha", "USD", Decimal("12.5"), Decimal(3))


def reported(accept: str = "", metrics: Metrics | None = None) -> tuple[str, str]:
    trading = TradingNow(TOTALS, 12, (BALANCE,), {"BTC": -3.5})
    body, media_type = (metrics or Metrics()).text(report(), trading, accept)
    return body.decode(), media_type


def families(text: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(text: str, name: str, **labels: str) -> float:
    (found,) = [
        sample.value
        for family in families(text).values()
        for sample in family.samples
        if (sample.name, sample.labels) == (name, labels)
    ]
    return float(found)


def test_every_line_parses_and_has_a_help_and_a_type() -> None:
    text, media_type = reported()
    assert media_type.startswith("text/plain")
    found = families(text)
    assert len(found) > 40
    assert all(family.documentation and family.type != "unknown" for family in found.values())


def test_open_metrics_is_sent_to_who_asks_for_it() -> None:
    text, media_type = reported("application/openmetrics-text; version=1.0.0")
    assert media_type.startswith("application/openmetrics-text")
    reported_again = openmetrics(text)  # type: ignore[no-untyped-call]  # the library's own
    assert {family.name for family in reported_again} == set(families(reported()[0]))


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("arbitrage_opportunities_total", {}, 12),
        ("arbitrage_rejections_total", {"reason": "stale"}, 7),
        ("arbitrage_trades_total", {"state": "closed"}, 4),
        ("arbitrage_trades_open", {}, 1),
        ("arbitrage_net_profit", {"currency": "USD"}, -1.25),
        ("arbitrage_best_net_bps", {"asset": "BTC"}, -3.5),
        ("arbitrage_balance_free", {"exchange": "alpha", "currency": "USD"}, 12.5),
        ("arbitrage_balance_held", {"exchange": "alpha", "currency": "USD"}, 3),
        ("arbitrage_feed_state", {"exchange": "alpha", "symbol": "BTC/USD", "state": "live"}, 1),
        ("arbitrage_feed_state", {"exchange": "alpha", "symbol": "BTC/USD", "state": "down"}, 0),
        ("arbitrage_feed_age_seconds", {"exchange": "alpha", "symbol": "BTC/USD"}, 0.4),
        ("arbitrage_feed_clock_offset_seconds", {"exchange": "alpha", "symbol": "BTC/USD"}, -0.012),
        ("arbitrage_feed_rejected_total", {"exchange": "beta", "symbol": "BTC/EUR", "reason": "crossed"}, 2),
        ("arbitrage_kafka_end_offset", {"topic": "ticks", "partition": "0"}, 1000),
        ("arbitrage_kafka_lag_rows", {"topic": "ticks", "partition": "0", "reader": "dashboard"}, 10),
        ("arbitrage_change_stream_lag_seconds", {"reader": "bot-alpha"}, 0.1),
        ("arbitrage_spark_query_processed_rows_per_second", {"query": "spreads"}, 1200),
        ("arbitrage_detection_probe_delay_seconds", {"partition": "0"}, 0.02),
        ("arbitrage_latency_seconds_bucket", {"stage": "sent_to_filled", "le": "0.01"}, 3),
        ("arbitrage_latency_seconds_bucket", {"stage": "sent_to_filled", "le": "+Inf"}, 4),
        ("arbitrage_latency_seconds_sum", {"stage": "sent_to_filled"}, 0.05),
        ("arbitrage_process_up", {"part": "cep"}, 1),
        ("arbitrage_websocket_clients", {}, 2),
    ],
)
def test_the_report_becomes_metrics(name: str, labels: dict[str, str], expected: float) -> None:
    assert value(reported()[0], name, **labels) == expected


def test_what_is_not_known_is_left_out() -> None:
    unknown = report(
        detection=[detection(delay=None)], queries=[query("opportunities", is_real_time=True)], processes=[part("cep")]
    )
    found = families(Metrics().text(unknown, TradingNow(TOTALS, 0), "")[0].decode())
    for name in ("arbitrage_best_net_bps", "arbitrage_detection_probe_delay_seconds", "arbitrage_spark_query_batch"):
        assert found[name].samples == []


def test_a_count_never_goes_back_while_its_rows_are_deleted() -> None:
    rising = MonotonicCounts()
    assert rising.follow([("stale", 10)]) == {"stale": 10}
    assert rising.follow([("stale", 4)]) == {"stale": 10}
    assert rising.follow([("stale", 6), ("crossed", 1)]) == {"stale": 12, "crossed": 1}


def documented() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for row in ROW.finditer(DOCUMENT.read_text()):
        labels = re.findall(r"`(\w+)`", row["labels"])
        yield row["name"], row["kind"], tuple(sorted(labels))


def test_every_metric_is_documented_with_its_kind_and_labels_and_no_other() -> None:
    metrics = Metrics()
    metrics.requests.record("GET", "/api/health", 200, 5)
    known = {name: (kind, labels) for name, kind, labels in documented()}
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for family in families(reported(metrics=metrics)[0]).values():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        shown = {label for sample in family.samples for label in sample.labels} - {"le"}
        if name.endswith("_created"):
            continue
        found[name] = (family.type, tuple(sorted(shown)))
    assert found.keys() == known.keys()
    for name, (kind, labels) in found.items():
        assert kind == known[name][0], name
        # without a sample its labels do not show
        assert labels in (known[name][1], ()), name


def test_methods_that_anybody_makes_up_are_one_label() -> None:
    requests = RequestMetrics()
    for method in ("BREW", "X" * 500, "GET"):
        requests.record(method, "other", 405, 1)
    labels = {
        sample.labels["method"] for family in requests.registry.collect() for sample in family.samples if sample.labels
    }
    assert labels == {"other", "GET"}
