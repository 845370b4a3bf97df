"""What is kept of the metrics: every look of a day, or of what there is room for."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from ui.desk.alert_rules import SeriesKey
from ui.desk.metric_history import DAY_LOOKS, FEWEST_LOOKS, MetricHistory

AGE = "arbitrage_feed_age_seconds"


def ages(**values: float) -> Metric:
    family = GaugeMetricFamily(AGE, "Age.", labels=("exchange",))
    for exchange, value in values.items():
        family.add_metric((exchange,), value)
    return family


def key(exchange: str) -> SeriesKey:
    return AGE, (("exchange", exchange),)


def all_of(history: MetricHistory, looks: int = DAY_LOOKS) -> dict[SeriesKey, list[float | None]]:
    return history.samples(history.keys(lambda _: True), looks)


@given(st.lists(st.dictionaries(st.sampled_from(["kraken", "alpha"]), st.integers(0, 3).map(float)), max_size=30))
def test_what_was_put_in_comes_out(looks: list[dict[str, float]]) -> None:
    history = MetricHistory()
    for number, values in enumerate(looks):
        history.look([ages(**values)], number)
    assert history.times == list(range(len(looks)))
    for exchange in {name for values in looks for name in values}:
        assert all_of(history)[key(exchange)] == [values.get(exchange) for values in looks]
        assert all_of(history, 3)[key(exchange)] == [values.get(exchange) for values in looks][-3:]
    newest = looks[-1] if looks else {}
    assert history.known(AGE) == {key(name): newest[name] for name in sorted(newest)}


def test_a_day_is_kept_and_a_series_that_ended_before_is_forgotten() -> None:
    history = MetricHistory()
    history.look([ages(old=1.0)], 0)
    for number in range(1, DAY_LOOKS + 2):
        history.look([ages(kraken=float(number % 7))], number)
    assert (len(history.times), history.times[0]) == (DAY_LOOKS, 2)
    assert all_of(history).keys() == {key("kraken")}
    assert all_of(history)[key("kraken")] == [float(number % 7) for number in range(2, DAY_LOOKS + 2)]


def test_more_than_there_is_room_for_shortens_the_day() -> None:
    history = MetricHistory(most_points=2_000)
    for number in range(3_000):
        history.look([ages(kraken=float(number), alpha=float(-number))], number)
    kept = all_of(history)
    assert FEWEST_LOOKS <= history.looks <= 1_001
    assert kept[key("kraken")] == [float(number) for number in range(3_000 - history.looks, 3_000)]


def test_rules_are_about_gauges_and_counters_with_their_names_at_metrics() -> None:
    trades = CounterMetricFamily("arbitrage_trades", "Ended.", labels=("state",))
    requests = CounterMetricFamily("arbitrage_http_requests", "Requests.", labels=("route",))
    latency = HistogramMetricFamily("arbitrage_latency_seconds", "Stages.", labels=("stage",))
    requests.add_metric(("/",), 3.0)
    latency.add_metric(("sent",), [("+Inf", 1.0)], 2.0)
    history = MetricHistory()
    history.look([trades, requests, latency, ages()], 1)
    # also one that has no series yet
    assert {name: info.kind for name, info in history.metrics.items()} == {
        "arbitrage_trades_total": "counter",
        AGE: "gauge",
    }
    trades.add_metric(("closed",), 2.0)
    history.look([trades], 2)
    assert history.known("arbitrage_trades_total") == {("arbitrage_trades_total", (("state", "closed"),)): 2.0}


def test_what_is_taken_for_another_thread_stays_as_it_was() -> None:
    history = MetricHistory()
    history.look([ages(kraken=1.0, alpha=2.0)], 1)
    taken = history.of([key("kraken")])
    history.look([ages(kraken=3.0)], 2)
    assert (taken.times, all_of(taken)) == ([1], {key("kraken"): [1.0]})
