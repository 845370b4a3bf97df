"""The page of backtests as a script (no browser): it starts and ends them as REST does, and compares them."""

import json
from dataclasses import replace
from datetime import UTC
from decimal import Decimal

import pytest
from streamlit.testing.v1 import AppTest

from market.accounting.equity_curve import EquityPoint
from store.mongo.store import open_store
from store.records.backtest_requests import BacktestFigures, BacktestJob, BacktestRequest, BacktestTrade, TickSetSummary
from tests.ui.pages.tabs import sign_in
from ui.page_parts.page_sign_in import NOT_SIGNED_IN
from ui.pages.backtests import set_words
from ui.panels.backtest_actions import changes_words, fee_tiers_of, state_words
from ui.panels.backtest_comparison import AS_SET, comparison_table, overlay_chart
from ui.panels.backtest_list import results_table
from ui.panels.backtest_trades import trades_table
from ui.services.dashboard import Dashboard

TICK_SET = TickSetSummary("alpha-beta", "a made-up one", ("alpha", "beta"), ("BTC",), 1_000, 1_000_000, 2_000_000)
EQUITY = (EquityPoint(1_000_000, 1, Decimal("1.244")), EquityPoint(3_601_000_000, 2, Decimal("-1.256")))
FIGURES = BacktestFigures(
    1_000, 20, 3, 17, Decimal("-1.256"), Decimal(0), Decimal("2.5"), "USD", is_balanced=True, equity=EQUITY
)
TRADES = [
    BacktestTrade(
        number, 1_000_000, "BTC", "alpha BTC/USD", "beta BTC/EUR", Decimal("0.5"), 7.5, "closed", None, Decimal(1), None
    )
    for number in range(1, 62)
]
JOB = BacktestJob("1", BacktestRequest("alpha-beta"), "rest", 1_000_000)
SCRIPT = "from ui.pages.backtests import render_backtests; render_backtests()"


def page() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=30).run()


def jobs_of(dashboard: Dashboard) -> list[BacktestJob]:
    return dashboard.answer(dashboard.reader.backtests.jobs())


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def html_of(app: AppTest) -> str:
    return "".join(one.proto.body for one in app.get("html"))


def test_without_a_server_the_page_says_so() -> None:
    assert [error.value for error in page().error] == ["The dashboard's server is not running."]


@pytest.mark.usefixtures("dashboard")
def test_without_recorded_ticks_there_is_no_form_for_a_backtest() -> None:
    app = page()
    assert not app.exception
    assert [button.label for button in app.button] == []


def test_one_is_started_followed_and_cancelled(dashboard: Dashboard) -> None:
    dashboard.answer(dashboard.reader.backtests.report_tick_sets([TICK_SET]))
    app = page()
    app.text_input(key="backtest.min_net_bps").input("7.5")
    app.text_input(key="backtest.latency_ms").input("80")
    app.text_input(key="backtest.fee_tiers").input("alpha=0:26,50000:24 beta=0:9")
    app.text_input(key="backtest.failed_percent").input("1.5")
    press(app, "Start backtest")
    assert [error.value for error in app.error] == [NOT_SIGNED_IN]
    assert jobs_of(dashboard) == []
    sign_in(app, dashboard)
    press(app, "Start backtest")
    assert not app.exception
    assert [success.value for success in app.success] == [
        "Queued. Backtests run one at a time, at lower priority than live trading."
    ]
    (job,) = jobs_of(dashboard)
    assert (job.who, job.request) == (
        "dashboard",
        BacktestRequest(
            "alpha-beta",
            {"min_net_bps": "7.5"},
            latency_ms=80.0,
            fee_tiers={"alpha": "0:26,50000:24", "beta": "0:9"},
            failed_percent=1.5,
        ),
    )
    press(app, "Cancel")
    assert not app.exception
    assert [job.state for job in jobs_of(dashboard)] == ["cancelled"]
    assert "cancelled before it began" in html_of(app)
    press(app, "Remove")
    assert jobs_of(dashboard) == []


def test_every_state_is_said(dashboard: Dashboard) -> None:
    async def all_states() -> None:
        async with await open_store(dashboard.session) as store:
            backtests = store.backtests
            await backtests.report_tick_sets([TICK_SET])
            for number in ("done", "done-too", "failed", "running", "queued"):
                await backtests.ask(number, BacktestRequest("alpha-beta", seed=len(number)), "rest")
            for number in ("done", "done-too"):
                await backtests.claim_next("one")
                await backtests.finish(number, "one", FIGURES, "<p>fine</p>", TRADES)
            await backtests.claim_next("one")
            await backtests.abort("failed", "one", "failed", "the tick set is gone.")
            await backtests.claim_next("one")
            await backtests.record_progress("running", "one", "trading", 0.4)

    dashboard.answer(all_states())
    app = page()
    assert not app.exception
    assert [bar.proto.text.partition(" · ")[0] for bar in app.get("progress")] == ["**trading 40%**", "**queued**"]
    html = html_of(app)
    assert "failed: the tick set is gone." in html
    assert 'href="/api/backtests/done/report"' in html
    assert "Trades of the backtest, newest first" in html
    assert (">61<" in html, ">12<" in html, ">11<" in html) == (True, True, False)
    assert ">11<" in html_of(press(app, "Older"))
    assert "Parameters and figures of the backtests compared" in html
    (chart,) = [json.loads(one.proto.spec) for one in app.get("echarts_chart")]
    assert [len(series["data"]) for series in chart["series"]] == [2, 2]


def test_what_is_wrong_is_said_by_field(dashboard: Dashboard) -> None:
    dashboard.answer(dashboard.reader.backtests.report_tick_sets([TICK_SET]))
    app = page()
    sign_in(app, dashboard)
    app.text_input(key="backtest.max_notional").input("much")
    press(app, "Start backtest")
    assert app.error[0].value.startswith("Not started. Maximum notional per arbitrage: ")
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
    assert changes_words(JOB) == "no changes"
    assert set_words(replace(TICK_SET, title=f"Recorded session {TICK_SET.name}")).count(TICK_SET.name) == 1
    assert set_words(TICK_SET).startswith("alpha-beta: a made-up one (")
    request = BacktestRequest("alpha-beta", {"min_net_bps": "7"}, Decimal("2.5"), 80.0, seed=3)
    job = BacktestJob("1", request, "rest", 0)
    assert changes_words(job) == "Minimum net spread to trade (bps) 7, fees 2.5 bps, latency 80 ms, seed 3"


def test_what_differs_is_marked() -> None:
    other = replace(JOB, job_id="2", request=BacktestRequest("alpha-beta", {"min_net_bps": "7"}, seed=2))
    html = comparison_table([replace(JOB, figures=FIGURES), replace(other, figures=replace(FIGURES, net=Decimal(3)))])
    rows = {row.partition("</th>")[0].rpartition(">")[2]: row for row in html.split("<tr>")}
    assert '<td class="number differs">−$1.26</td><td class="number differs">+$3.00</td>' in rows["Net"]
    assert AS_SET in rows["Minimum net spread to trade (bps)"]
    assert "differs" in rows["Seed"]
    assert "same" in rows["Trades"]
    assert "differs" not in rows["Trades"]


def test_results_from_bars_are_marked_wherever_they_stand() -> None:
    bars = replace(FIGURES, is_of_bars=True, return_on_capital=Decimal("0.0125"), sharpe=1.5, missed=Decimal("3.456"))
    html = results_table([replace(JOB, state="done", figures=bars)], UTC)
    for words in ("alpha-beta (bars)", "3 from bars", "1.2500 %", "1.50", "$3.46"):
        assert words in html
    assert "bars" not in results_table([replace(JOB, state="done", figures=FIGURES)], UTC)
    compared = comparison_table([replace(JOB, figures=bars), replace(JOB, figures=FIGURES)])
    assert ">bars</td>" in compared
    assert ">quotes</td>" in compared


def test_a_trade_is_shown_to_the_cent() -> None:
    trade = BacktestTrade(
        7,
        1_000_000,
        "BTC",
        "alpha BTC/USD",
        "beta BTC/EUR",
        Decimal("0.5"),
        -7.5,
        "residual",
        "single_leg_left",
        None,
        None,
    )
    html = trades_table([trade, replace(trade, number=6, net=Decimal("-1.256"))], FIGURES, UTC)
    for words in ("alpha BTC/USD", "0.50000000", "−7.50", "residual: single leg left", "−$1.26"):
        assert words in html
    assert "Nothing was traded." in trades_table([], replace(FIGURES, trades=0), UTC)


def test_curves_of_one_tick_set_are_laid_over_each_other_by_its_time_others_from_their_start() -> None:
    done = replace(JOB, figures=FIGURES)
    by_time = overlay_chart([done, done], UTC)
    assert by_time["xAxis"]["type"] == "time"
    assert by_time["series"][0]["data"] == [[1_000.0, 1.244], [3_601_000.0, -1.256]]
    by_hours = overlay_chart([done, replace(done, request=BacktestRequest("other"))], UTC)
    assert by_hours["xAxis"]["type"] == "value"
    assert by_hours["series"][1]["data"] == [[0.0, 1.244], [1.0, -1.256]]


def test_fees_by_volume_are_read_by_exchange() -> None:
    assert fee_tiers_of("") == {}
    assert fee_tiers_of(" a=0:1,5:2\nb=0:3 c") == {"a": "0:1,5:2", "b": "0:3", "c": ""}


def test_a_long_name_pushes_no_column_out_and_who_and_the_report_stand_in_front() -> None:
    job = replace(JOB, request=BacktestRequest("ddeea" * 6), state="done", figures=FIGURES, has_report=True)
    html = results_table([job], UTC)
    assert f'title="{"ddeea" * 6}">ddeeaddeea…</td>' in html
    assert html.index(">By<") < html.index(">Report<") < html.index(">Net<")
