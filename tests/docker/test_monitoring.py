"""The board of Grafana and the alert rules of Prometheus that are shipped: every name and label is one that /metrics
has, so that no panel is empty and no alert silent for ever."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.ui.health_reports import report
from tests.ui.test_prometheus_metrics import BALANCE, TOTALS, documented
from ui.services.prometheus_metrics import Metrics, TradingNow

FOLDER = Path(__file__).parents[2] / "docker"
MONITORING = FOLDER / "monitoring"
BOARD = json.loads((MONITORING / "grafana/boards/session.json").read_text())
RULES = [rule for group in yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"] for rule in group["rules"]]

METRIC = re.compile(r"\barbitrage_[a-z_]+")
SELECTOR = re.compile(r"\b(arbitrage_[a-z_]+)\{([^}]*)\}")
GROUPED = re.compile(r"\bby \(([^)]*)\)")
SHOWN = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}")
OF_PROMETHEUS = {"instance", "job", "le"}
"""Labels that its reading adds, and those of a histogram."""


def labels_by_sample() -> dict[str, set[str]]:
    """Return the labels of every sample that /metrics has; the document names those of metrics without a series."""
    metrics = Metrics()
    metrics.requests.record("GET", "/api/health", 200, 5)
    text = metrics.text(report(), TradingNow(TOTALS, 12, (BALANCE,), {"BTC": -3.5}), "")[0].decode()
    known = {name: set(labels) for name, _, labels in documented()}
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        ends = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("",)
        found |= {name + end: known.get(name, set()) for end in ends}
    return found


KNOWN = labels_by_sample()


def expressions() -> Iterator[tuple[str, str]]:
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']}", target["expr"]
    for rule in RULES:
        yield f"alert {rule['alert']}", rule["expr"]


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_every_metric_of_the_board_and_the_rules_is_one_that_there_is(where: str, expression: str) -> None:
    names = METRIC.findall(expression)
    assert names or expression.startswith("up{"), where
    assert set(names) <= KNOWN.keys(), where
    for name, selectors in SELECTOR.findall(expression):
        chosen = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selectors))
        assert chosen <= KNOWN[name] | OF_PROMETHEUS, where
    for grouped in GROUPED.findall(expression):
        by = {label.strip() for label in grouped.split(",")}
        assert all(by <= KNOWN[name] | OF_PROMETHEUS for name in names), where
    for opening, closing in ("()", "{}", "[]"):
        assert expression.count(opening) == expression.count(closing), where


@pytest.mark.parametrize("metric", ["arbitrage_trades_total", "arbitrage_feed_state", "arbitrage_health_findings"])
def test_values_of_labels_that_are_named_there_are_given(metric: str) -> None:
    text = Metrics().text(report(), TradingNow(TOTALS, 12), "")[0].decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    given = {value for sample in samples if sample.name == metric for value in sample.labels.values()}
    for where, expression in expressions():
        for name, selectors in SELECTOR.findall(expression):
            if name == metric:
                assert set(re.findall(r'"(\w+)"', selectors)) <= given, where


def test_what_a_panel_or_an_alert_shows_is_a_label_of_its_metric() -> None:
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            allowed = set().union(*(KNOWN[name] for name in METRIC.findall(target["expr"])))
            assert set(SHOWN.findall(target["legendFormat"])) <= allowed, panel["title"]
    for rule in RULES:
        allowed = OF_PROMETHEUS.union(*(KNOWN[name] for name in METRIC.findall(rule["expr"])))
        texts = " ".join(rule["annotations"].values())
        assert set(re.findall(r"\$labels\.(\w+)", texts)) <= allowed, rule["alert"]


def test_panels_are_beside_one_another_and_every_rule_has_its_words() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at: dict[str, Any] = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not taken & cells, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning"), rule["alert"]
        assert {"summary", "description"} == rule["annotations"].keys(), rule["alert"]
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_the_services_read_files_that_are_shipped_and_listen_on_loopback_alone() -> None:
    services = yaml.safe_load((FOLDER / "compose-monitoring.yaml").read_text())["services"]
    mounted = [volume for service in services.values() for volume in service["volumes"]]
    for volume in mounted:
        source = volume.partition(":")[0]
        assert not source.startswith("./") or (FOLDER / source).exists(), volume
    assert "--web.listen-address=127.0.0.1:9090" in services["prometheus"]["command"]
    assert services["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
    reading = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    assert reading["rule_files"] == ["alerts.yml"]
    assert [one["job_name"] for one in reading["scrape_configs"]] == ["arbitrage"]
