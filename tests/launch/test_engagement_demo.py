"""The demonstration of signals, and the apps under it against figures that are computed in another way."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.stream_app import StreamApp
from launch.commands.main import run
from launch.demos.engagement import DAY, FAMILIES, SIGNALS, engagement, found_by, scores

TEXT = (Path(__file__).parents[2] / "apps" / f"{SIGNALS}.app").read_text()


def metrics_of(values: Sequence[tuple[int, float]]) -> list[dict[str, object]]:
    """Return what the app says of one entity. `values`: (day, value)."""
    app = StreamApp(TEXT)
    rows = [row for day, one in values for row in app.send("Measurements", ("e", one), at=day * DAY)]
    return [dict(row.values) for row in rows if row.stream == "Metrics"]


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(1.0, 1_000.0)), min_size=1, max_size=40))
def test_metrics_are_those_of_another_computation(made: list[tuple[int, float]]) -> None:
    values = sorted(made, key=lambda one: one[0])
    for number, metrics in enumerate(metrics_of(values), 1):
        day, value = values[number - 1]
        week = [one for at, one in values[:number] if day - 7 < at <= day]
        month = [one for at, one in values[:number] if day - 30 < at <= day]
        last = [one for _, one in values[max(0, number - 7) : number]]
        slope = np.polyfit(range(len(last)), last, 1)[0] if len(last) > 1 else 0.0
        before = values[number - 2][1] if number > 1 else value
        assert metrics["count_7d"] == len(week)
        assert metrics["average_7d"] == pytest.approx(np.mean(week))
        assert metrics["average_30d"] == pytest.approx(np.mean(month))
        assert metrics["change"] == pytest.approx(value - before, abs=1e-6)
        assert metrics["slope"] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "trend", "level", "since"),
    [
        ([50.0] * 7, "stable", "none", 0),
        ([50.0, 52.0, 54.0, 56.0, 58.0, 60.0, 62.0], "rising", "none", 0),
        ([62.0, 60.0, 58.0, 56.0, 54.0, 52.0, 50.0], "declining", "watch", 2),
        ([50.0] * 20 + [30.0] * 2, "declining", "warning", 20),
        ([50.0] * 20 + [34.0, 18.0, 18.0], "declining", "critical", 21),
        ([50.0, 1.0], "stable", "none", 0),
    ],
)
def test_levels_follow_from_trend_and_average_and_say_since_when(
    values: list[float], trend: str, level: str, since: int
) -> None:
    last = metrics_of(list(enumerate(values)))[-1]
    assert (last["trend"], last["level"], last["since"]) == (trend, level, since * DAY)


def test_each_change_of_a_level_is_one_alert() -> None:
    alerts = [row.values for row in found_by(SIGNALS, scores()) if row.stream == "Alerts"]
    for family in FAMILIES:
        of_one = [one for one in alerts if one["entity"] == family]
        levels = [one["level"] for one in of_one]
        assert [one["level_before"] for one in of_one] == ["none", *levels[:-1]] if levels else True
    assert "critical" in [one["level"] for one in alerts if one["entity"] == "Eriksen"]
    assert "warning" in [one["level"] for one in alerts if one["entity"] == "Dubois"]
    assert all(one["level"] != "critical" for one in alerts if one["entity"] in ("Adams", "Berger"))


def test_the_demonstration_finds_what_was_put_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["app", "demo", "engagement"]) == 0
    said = capsys.readouterr().out
    for found in (
        "duplicate  berger-x1,berger-x2: found, 90% sure; hold the second payment",
        "rapid      castro-r0,castro-r1,castro-r2,castro-r3,castro-r4: found",
        "unusual    dubois-big: found, 92% sure",
        "reminder   inv-2: 260.00",
        "overdue    inv-2: paid after the reminder",
        "overdue    inv-3: nothing came, 100% sure; call the payer",
    ):
        assert found in said, said
    assert "inv-1" not in said
    assert list(engagement()) == said.splitlines()
