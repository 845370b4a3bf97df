"""The page Opportunities and the preview of a threshold as scripts (no browser), and what their charts say."""

import json
from dataclasses import replace
from datetime import UTC
from decimal import Decimal
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from market.decide.risk_checks import REASONS
from market.prices.episodes import EXPIRED
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection
from runtime.clock import wall_now
from store.mongo.store import open_store
from store.server.documents import EPISODES
from tests.store.reservation_requests import episode_of, opportunity
from tests.ui.clients import ANSWER_SECONDS
from tests.ui.trading import traded
from ui.examples.opportunity_examples import EPISODE, KEPT, PREVIEW, STATISTICS
from ui.page_parts.dom_tables import Cell
from ui.page_parts.money_cells import Steps
from ui.panels.opportunities_charts import life_chart, preview_chart, spread_chart
from ui.panels.opportunities_figures import ledger_lines, statistics_figures
from ui.panels.opportunities_list import ROWS, episode_fate, episode_lines, fate, opportunity_lines
from ui.panels.preview import preview_figures
from ui.rows.opportunity import LedgerRow
from ui.services.dashboard import Dashboard
from wording.labels import REASONS as WORDS

SECOND = 1_000_000
STEPS = Steps({("kraken", "BTC/USD"): Decimal("0.1"), ("bitflyer", "BTC/JPY"): Decimal(1)}, {})
PAGE = "from ui.pages.opportunities import render_opportunities; render_opportunities()"
PREVIEW_PAGE = "from ui.panels.preview import render_preview; render_preview()"


def run(script: str) -> AppTest:
    return AppTest.from_string(script, default_timeout=30).run()


def html_of(app: AppTest) -> str:
    return "".join(one.proto.body for one in app.get("html"))


def charts_of(app: AppTest) -> list[Any]:
    return [json.loads(one.proto.spec) for one in app.get("echarts_chart")]


def press(app: AppTest, key: str) -> AppTest:
    return app.button(key=key).click().run()


def rejection(of: Opportunity, reason: str) -> Rejection:
    sides = (of.base, of.buy.exchange, of.sell.exchange)
    identity = f"{of.opportunity_id}:{reason}"
    profit = Decimal(2)
    return Rejection(identity, of.opportunity_id, *sides, "alpha", reason, of.net_bps, profit, of.event_time, 1, profit)


def reason_of(number: int, rejected: int) -> str | None:
    if number == 0:
        return None
    return "below_threshold" if number > rejected else "pair_busy" if number % 2 else "stale"


def fill(dashboard: Dashboard, rejected: int) -> None:
    """One taken, the newest; before it `rejected` ones, and one below the threshold. All came by the stream."""
    now = wall_now() - 10 * SECOND

    async def work() -> None:
        async with await open_store(dashboard.session) as store:
            for number in range(rejected + 2):
                at = now - number * SECOND
                made = replace(opportunity(f"seen-{number}", number), event_time=at, net_bps=20.0 - number % 3)
                made = replace(made, expires_at=at + SECOND)
                if number == rejected + 1:
                    made = replace(made, net_bps=3.0)
                dashboard.hub.live_state.apply_opportunity(made)
                await store.save_episodes([episode_of(made, reason_of(number, rejected))])
                if number == 0:
                    await store.save_opportunities([made])
                    await traded(store, made, "0.01")
                elif number <= rejected:
                    await store.save_opportunities([made])
                if number > 0:
                    await store.reject([rejection(made, str(reason_of(number, rejected)))])

    dashboard.answer(work(), ANSWER_SECONDS)


@pytest.mark.parametrize("script", [PAGE, PREVIEW_PAGE])
def test_without_a_server_the_page_says_so(script: str) -> None:
    assert [error.value for error in run(script).error] == ["The dashboard's server is not running."]


@pytest.mark.usefixtures("dashboard")
def test_before_the_first_opportunity_nothing_looks_like_one() -> None:
    for script, words in ((PAGE, "No matches."), (PREVIEW_PAGE, "No other check rejected any")):
        app = run(script)
        assert not app.exception
        assert words in html_of(app)


def test_the_page_counts_lists_filters_and_turns_pages(dashboard: Dashboard) -> None:
    fill(dashboard, rejected=ROWS + 5)
    app = run(PAGE)
    assert not app.exception
    html = html_of(app)
    assert ">Taken</td>" in html
    assert "Rejected: Pair already has an open arbitrage" in html
    assert "Below the threshold" in html
    assert f'<dt>Episodes</dt><dd class="">{ROWS + 7}<small>seen {ROWS + 7} times' in html
    spreads, _ = charts_of(app)
    seen, rejected, taken, mark = spreads["series"]
    assert sum(filter(None, seen["data"])) == ROWS + 7
    assert sum(filter(None, rejected["data"])) == ROWS + 6
    assert sum(filter(None, taken["data"])) == 1
    assert mark["markLine"]["data"][0]["xAxis"] == 5.0
    app = press(app, "opportunities.older")
    assert ">Taken</td>" not in html_of(app)
    assert app.button(key="opportunities.older").disabled
    app.selectbox(key="opportunities.outcome").select("taken")
    app = app.run()
    html = html_of(app)
    assert ">Taken</td>" in html
    assert "Rejected: " not in html
    # its single opportunities, on demand
    assert "Taken: closed" not in html
    (shown,) = app.selectbox(key="opportunities.chosen.key").options
    app = app.selectbox(key="opportunities.chosen.key").select_index(0).run()
    assert "Taken" in shown
    assert "Taken: closed" in html_of(app)
    app.selectbox(key="opportunities.outcome").set_value(None)
    app.selectbox(key="opportunities.reason").select("stale")
    html = html_of(app.run())
    assert "Rejected: Stale quote" in html
    assert "Rejected: Pair already has an open arbitrage" not in html
    app.number_input(key="opportunities.least").set_value(50.0)
    assert "No matches." in html_of(app.run())


def test_the_span_holds_for_the_list_as_for_the_counts(dashboard: Dashboard) -> None:
    fill(dashboard, rejected=2)

    async def make_one_old() -> None:
        async with await open_store(dashboard.session) as store:
            hour_ago = wall_now() - 3_000 * SECOND
            await store._database[EPISODES].update_one({"is_taken": True}, {"$set": {"alive_until": hour_ago}})

    dashboard.answer(make_one_old(), ANSWER_SECONDS)
    app = run(PAGE)
    for span, episodes, is_listed in (("10m", 3, False), ("hour", 4, True), ("10m", 3, False)):
        app.segmented_control(key="opportunities.span").set_value(span)
        html = html_of(app.run())
        assert not app.exception
        assert f'<dt>Episodes</dt><dd class="">{episodes}<' in html
        assert (">Taken</td>" in html) == is_listed, span


def test_reasons_have_their_sum() -> None:
    rows = [LedgerRow(reason=name, count=3, episodes=2, missed_profit="1.5") for name in ("stale", "pair_busy")]
    assert [line[:3] for line in ledger_lines(rows, "USD")][-1] == ["All", "4", "6"]
    assert len(ledger_lines(rows[:1], "USD")) == 1


def test_the_preview_answers_for_the_threshold_that_was_entered(dashboard: Dashboard) -> None:
    fill(dashboard, rejected=4)
    app = run(PREVIEW_PAGE)
    assert not app.exception
    assert app.number_input(key="preview.threshold").value == 5.0
    html = html_of(app)
    assert 'Gained (upper bound)</dt><dd class="">0<' in html
    assert not [one.value for one in app.caption if "_" in one.value], "no setting by its name in the program"
    app.number_input(key="preview.threshold").set_value(3.0)
    app = app.run()
    assert 'Gained (upper bound)</dt><dd class="">1<' in html_of(app)
    (chart,) = charts_of(app)
    assert [mark["xAxis"] for mark in chart["series"][-1]["markLine"]["data"]] == [3.0, 5.0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Cell("Taken: closed", "good")),
        ({"arbitrage_state": "unfilled", "reason": "halted"}, Cell("Taken: not filled (Trading is halted)")),
        ({"outcome": "rejected", "reason": "stale"}, Cell("Rejected: Stale quote", "quiet")),
        ({"outcome": "expired", "arbitrage_state": None}, Cell("Expired", "quiet")),
    ],
)
def test_what_became_of_one_is_said_in_words(changes: dict[str, Any], expected: Cell) -> None:
    assert fate({**KEPT, **changes}) == expected  # type: ignore[typeddict-item]  # from tables of cases


def test_a_line_has_the_money_and_the_time_in_words() -> None:
    (line,) = opportunity_lines([KEPT], UTC, STEPS)
    assert [cell.text if isinstance(cell, Cell) else cell for cell in line] == [
        "2023-11-14 22:13:20 UTC",
        "Taken: closed",
        "+$1.10",
        "+$1.33",
        "+13.3",
        "BTC",
        "Kraken",
        "$70,001.5",
        "bitFlyer",
        "¥10,560,000",
        "5f0c2b7e9a…",
    ]
    # on a phone the time of the day, then what became of it and what it brought
    assert [cell.narrow for cell in line if isinstance(cell, Cell) and cell.narrow] == ["22:13:20"]


def test_figures_say_what_each_number_counts() -> None:
    shown = {one.name: one.value.text for one in statistics_figures(STATISTICS, UTC)}
    assert (shown["Episodes"], shown["Taken"], shown["Rejected"], shown["Expired"]) == ("171", "44", "121", "6")
    assert shown["Duration (median)"] == "48 ms"
    preview = {one.name: one.value.text for one in preview_figures(PREVIEW)}
    assert (preview["Taken"], preview["Gained (upper bound)"], preview["Sightings gained"]) == ("52", "22", "840")


def test_why_not_counts_episodes_before_sightings() -> None:
    (line,) = ledger_lines(STATISTICS["ledger"], "USD")
    assert line[:3] == ["Pair already has an open arbitrage", "61", "2,273"]


def test_a_line_of_an_episode_has_how_often_it_was_seen_and_for_how_long() -> None:
    (line,) = episode_lines([EPISODE], UTC)
    assert [cell.text if isinstance(cell, Cell) else cell for cell in line] == [
        "2023-11-14 22:13:20 UTC",
        "Rejected: Pair already has an open arbitrage",
        "212",
        "1.8 s",
        "+15.8",
        "+$1.52",
        "BTC",
        "Kraken BTC/USD",
        "bitFlyer BTC/JPY",
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"outcome": "taken", "reason": None}, Cell("Taken", "good")),
        ({"outcome": "expired", "reason": "expired"}, Cell("Expired", "quiet")),
        ({"outcome": "undecided", "reason": None}, Cell("Undecided", "quiet")),
    ],
)
def test_what_became_of_an_episode_is_said_in_words(changes: dict[str, Any], expected: Cell) -> None:
    assert episode_fate({**EPISODE, **changes}) == expected  # type: ignore[typeddict-item]  # from tables of cases


def test_every_reason_can_be_chosen() -> None:
    chosen = {*REASONS, EXPIRED}
    assert {"recheck_failed", "too_small", "insufficient_balance", "expired"} <= chosen
    assert chosen <= set(WORDS)


def test_a_threshold_outside_of_a_chart_is_not_drawn_at_its_edge() -> None:
    bars = STATISTICS["histogram"]
    assert spread_chart(bars, 50.0)["series"][-1]["markLine"]["data"] == []
    assert spread_chart([], 5.0)["series"][-1]["markLine"]["data"] == []
    assert [mark["xAxis"] for mark in preview_chart([], 5.0, 7.0)["series"][-1]["markLine"]["data"]] == [7.0]
    assert life_chart(STATISTICS["lifetimes"]["histogram"])["xAxis"]["data"] == ["20 ms"]
