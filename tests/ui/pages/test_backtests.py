"""The page of backtests as a script (no browser): it starts and ends them as REST does, and compares them."""

from decimal import Decimal

import pytest
from streamlit.testing.v1 import AppTest

from market.backtests import BacktestFigures, BacktestJob, BacktestRequest, TickSetSummary
from ui.dashboard import Dashboard
from ui.keys import ensure_api_key
from ui.pages.backtest_actions import changes_words, comparison_rows, state_words

TICK_SET = TickSetSummary("alpha-beta", "a made-up one", ("alpha", "beta"), ("BTC",), 1_000, 1_000_000, 2_000_000)
FIGURES = BacktestFigures(1_000, 20, 3, 17, Decimal("-1.256"), Decimal(0), Decimal("2.5"), "USD", is_balanced=True)
JOB = BacktestJob("1", BacktestRequest("alpha-beta"), "rest", 1_000_000)
SCRIPT = "from ui.pages.backtests import show_backtests; show_backtests()"


def page() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=30).run()


def jobs_of(dashboard: Dashboard) -> list[BacktestJob]:
    return dashboard.answer(dashboard.reader.backtests.jobs())


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def test_without_a_server_the_page_says_so() -> None:
    assert [error.value for error in page().error] == ["The dashboard's server is not running."]


@pytest.mark.usefixtures("dashboard")
def test_without_recorded_ticks_it_says_how_to_get_some() -> None:
    app = page()
    assert not app.exception
    assert "arbitrage import" in app.info[0].value


def test_one_is_started_followed_and_cancelled(dashboard: Dashboard) -> None:
    dashboard.answer(dashboard.reader.backtests.tell_tick_sets([TICK_SET]))
    app = page()
    app.text_input(key="backtest.min_net_bps").input("7.5")
    app.text_input(key="backtest.latency_ms").input("80")
    press(app, "Start backtest")
    assert [error.value for error in app.error] == ["Not done: the API key is missing or wrong."]
    assert jobs_of(dashboard) == []
    app.text_input(key="backtest_key").input(ensure_api_key(dashboard.session.home).read_text().strip())
    press(app, "Start backtest")
    assert not app.exception
    assert [success.value for success in app.success] == ["Queued. It runs behind live trading, one at a time."]
    (job,) = jobs_of(dashboard)
    assert (job.who, job.request) == (
        "dashboard",
        BacktestRequest("alpha-beta", {"min_net_bps": "7.5"}, latency_ms=80.0),
    )
    press(app, "Cancel or remove it")
    assert [job.state for job in jobs_of(dashboard)] == ["cancelled"]
    press(app, "Cancel or remove it")
    assert jobs_of(dashboard) == []


def test_what_is_wrong_is_said_by_field(dashboard: Dashboard) -> None:
    dashboard.answer(dashboard.reader.backtests.tell_tick_sets([TICK_SET]))
    app = page()
    app.text_input(key="backtest_key").input(ensure_api_key(dashboard.session.home).read_text().strip())
    app.text_input(key="backtest.max_notional").input("much")
    press(app, "Start backtest")
    assert app.error[0].value.startswith("Not started. max_notional: ")
    assert jobs_of(dashboard) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "queued"),
        ({"state": "running", "stage": "trading", "share": 0.256}, "trading 26%"),
        ({"state": "running", "is_cancel_asked": True}, "cancelling"),
        ({"state": "done"}, "done"),
        ({"state": "failed", "reason": "no such set."}, "failed: no such set."),
        ({"state": "cancelled", "reason": "cancelled"}, "cancelled"),
    ],
)
def test_a_state_in_words(changes: dict[str, object], words: str) -> None:
    fields = {name: getattr(JOB, name) for name in JOB.__dataclass_fields__}
    assert state_words(BacktestJob(**fields | changes)) == words


def test_what_was_changed_in_words() -> None:
    assert changes_words(JOB) == "as it is"
    request = BacktestRequest("alpha-beta", {"min_net_bps": "7"}, Decimal("2.5"), 80.0, seed=3)
    job = BacktestJob("1", request, "rest", 0)
    assert changes_words(job) == "min_net_bps 7, fees 2.5 bps, latency 80 ms, seed 3"


def test_figures_stand_side_by_side() -> None:
    done = BacktestJob("2", BacktestRequest("alpha-beta"), "rest", 2_000_000, figures=FIGURES, has_report=True)
    first, second = comparison_rows([done, JOB])
    assert (first["net"], first["trades"], first["deepest fall"]) == (-1.26, 3, 2.5)
    assert first["report"] == "/api/backtests/2/report"
    assert (second["net"], second["report"]) == (None, None)
