"""The page Trades & P&L as a script (no browser), and what its charts and tables say."""

import json
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from streamlit.testing.v1 import AppTest

from market.accounting.equity_curve import Ending, EquityCurve
from market.accounting.performance import DayResult, HourSum, performance_of
from market.accounting.profit_groups import ProfitLine, profit_from
from market.trade.arbitrages import PROFIT_PARTS
from market.trade.leases import UNFENCED
from runtime.clock import wall_now
from store.mongo.store import open_store
from store.queries.trade_history import TradeFilter, TradeSums
from tests.market.cycle_samples import triangle
from tests.store.reservation_requests import opportunity
from tests.store.test_port_cycles import PLENTY, booked, reserved
from tests.ui.clients import ANSWER_SECONDS
from tests.ui.trading import made_worst, traded
from ui.page_parts.dom_tables import Cell, Clicks, numbers, sortable, table, words
from ui.page_parts.page_times import zone_word
from ui.page_parts.trade_choice import (
    MINUTE,
    MOST_MONTHS,
    Range,
    file_address,
    microseconds,
    month_span,
    newest_months,
    since_of,
)
from ui.page_parts.trade_lines import left_out
from ui.panels.trades_charts import MAX_BARS, bars_chart, equity_chart, lines_chart, split_chart
from ui.panels.trades_figures import performance_figures, time_bars
from ui.panels.trades_list import ROWS
from ui.services.dashboard import Dashboard
from wording.number_format import UNKNOWN

SCRIPT = "from ui.pages.trades import render_trades; render_trades()"


def page() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=30).run()


def trade(dashboard: Dashboard, *identities: str, worst: str = "") -> None:
    async def work() -> None:
        async with await open_store(dashboard.session) as store:
            for number, identity in enumerate(identities, 1):
                await traded(store, opportunity(identity, number), "0.01")
            if worst:
                await made_worst(store, worst)

    dashboard.answer(work(), ANSWER_SECONDS)


def html_of(app: AppTest) -> str:
    return "".join(one.proto.body for one in app.get("html"))


def charts_of(app: AppTest) -> list[dict[str, object]]:
    return [json.loads(one.proto.spec) for one in app.get("echarts_chart")]


def test_without_a_server_the_page_says_so() -> None:
    assert [error.value for error in page().error] == ["The dashboard's server is not running."]


@pytest.mark.usefixtures("dashboard")
def test_before_the_first_trade_nothing_looks_like_one() -> None:
    app = page()
    assert not app.exception
    assert "No arbitrage has ended yet" in html_of(app)
    assert "No matches." in html_of(app)
    assert len(charts_of(app)) == 4


def test_what_was_traded_is_summed_listed_and_shown_whole(dashboard: Dashboard) -> None:
    trade(dashboard, "one", "two")
    app = page()
    assert not app.exception
    html = html_of(app)
    assert "of 2 ended" in html
    assert "2 of 2 traded" in html
    assert "alpha → beta" in html
    app.segmented_control(key="trades.by").set_value("pair").run()
    assert "P&amp;L by pair in USD" in html_of(app)
    app.selectbox(key="trades.chosen").select("one").run()
    assert not app.exception
    for heading in ("Legs", "Fills", "Timeline", "Decisions"):
        assert f'aria-label="{heading}"' in html_of(app)


def rows_of(app: AppTest, caption: str) -> list[str]:
    """Return the HTML of the rows of the table of that name, without its head."""
    html = html_of(app)
    start = html.index(f'aria-label="{caption}"')
    return html[start : html.index("</table>", start)].split("<tr")[2:]


def test_what_a_third_order_closed_is_told_apart_in_the_list_and_in_its_sum(dashboard: Dashboard) -> None:
    trade(dashboard, "one", "two", "three", worst="two")
    app = page()
    assert not app.exception
    rows = rows_of(app, "Arbitrages, newest first")
    assert len(rows) == 4
    assert "closed by a third order" in rows[1]
    assert "completing: sell 0.01" in rows[1]
    assert all("third order" not in row for row in (rows[0], rows[2]))
    assert ("All 3" in rows[3], "−$3.50" in rows[3], 'class="sum"' in rows[3]) == (True, True, True)
    assert "1 arbitrage with a third order" in html_of(app)
    app.selectbox(key="trades.third_order").select("With a third order").run()
    assert [row for row in rows_of(app, "Arbitrages, newest first") if "data-open" in row] == [rows[1]]
    app.segmented_control(key="trades.kind").set_value("Fills").run()
    assert not app.exception
    assert len(rows_of(app, "Fills, newest first")) == 2


def test_the_address_says_by_which_column_the_list_is_sorted(dashboard: Dashboard) -> None:
    trade(dashboard, "one", "two", "three", worst="two")
    app = AppTest.from_string(SCRIPT, default_timeout=30)
    app.query_params["sort"] = "net"
    app.run()
    assert not app.exception
    rows = rows_of(app, "Arbitrages, by net, smallest first")
    assert 'data-open="two"' in rows[0]
    assert [button.label for button in app.button] == ["First", "Previous", "Next"]
    # a column that there is not
    app = AppTest.from_string(SCRIPT, default_timeout=30)
    app.query_params["sort"] = "moon"
    assert "Arbitrages, newest first" in html_of(app.run())


def test_a_range_is_chosen_by_one_click(dashboard: Dashboard) -> None:
    trade(dashboard, "one")
    app = page()
    for chosen in ("Last hour", "Today", "7 days"):
        app.segmented_control(key="trades.range").set_value(chosen).run()
        assert not app.exception
        assert len(rows_of(app, "Arbitrages, newest first")) == 2, chosen
    assert [one.key for one in app.get("date_time_input")] == []
    app.segmented_control(key="trades.range").set_value("From – until").run()
    assert not app.exception
    assert len(app.get("date_time_input")) == 2


@pytest.mark.parametrize(
    ("chosen", "since"),
    [
        ("Last hour", 1_767_344_400_000_000),
        ("24 hours", 1_767_261_600_000_000),
        ("7 days", 1_766_743_200_000_000),
        ("Today", 1_767_279_600_000_000),
        ("Session", None),
    ],
)
def test_a_range_begins_at_a_whole_minute_and_today_at_midnight(chosen: Range, since: int | None) -> None:
    # 2026-01-02 10:00:30 UTC, 19:00:30 in Tokyo
    now = 1_767_348_030_000_000
    assert since_of(chosen, now, ZoneInfo("Asia/Tokyo")) == since
    assert since is None or since % MINUTE == 0


@pytest.mark.parametrize(
    ("month", "zone", "since", "until"),
    [
        ("2026-03", UTC, "2026-03-01T00:00+00:00", "2026-04-01T00:00+00:00"),
        ("2025-12", ZoneInfo("Asia/Tokyo"), "2025-11-30T15:00+00:00", "2025-12-31T15:00+00:00"),
        # an hour shorter: summer time begins
        ("2026-03", ZoneInfo("Europe/Berlin"), "2026-02-28T23:00+00:00", "2026-03-31T22:00+00:00"),
        ("2028-02", UTC, "2028-02-01T00:00+00:00", "2028-03-01T00:00+00:00"),
    ],
)
def test_a_month_is_whole_in_the_zone_that_is_shown(month: str, zone: tzinfo, since: str, until: str) -> None:
    expected = tuple(int(datetime.fromisoformat(one).timestamp()) * 1_000_000 for one in (since, until))
    assert month_span(month, zone) == expected


def test_months_are_this_one_and_those_before_it() -> None:
    # 2026-01-31 20:00 UTC is in February in Tokyo
    now = 1_769_889_600_000_000
    assert newest_months(now, UTC)[:3] == ["2026-01", "2025-12", "2025-11"]
    assert newest_months(now, ZoneInfo("Asia/Tokyo"))[:2] == ["2026-02", "2026-01"]
    assert len(newest_months(now, UTC)) == MOST_MONTHS


def test_the_trades_of_a_month_are_a_file_within_three_clicks(dashboard: Dashboard) -> None:
    trade(dashboard, "one")
    app = page()
    app.segmented_control(key="trades.range").set_value("Month").run()
    assert not app.exception
    # the last month that is over
    assert "No matches." in html_of(app)
    now = wall_now()
    app.selectbox(key="trades.month").select(newest_months(now, UTC)[0]).run()
    assert not app.exception
    assert len(rows_of(app, "Arbitrages, newest first")) == 2
    since, until = month_span(newest_months(now, UTC)[0], UTC)
    files = [str(one.proto) for one in app.get("link_button")]
    assert len([one for one in files if f"/api/arbitrages.csv?from={since}&to={until}" in one]) == 1


def test_a_sortable_head_says_what_a_click_on_it_does() -> None:
    heads = (*sortable(words("Name"), "name"), *sortable(numbers("Net", "Other"), "net", ""))
    for order, said in (
        ("-net", 'aria-sort="descending" class="number"><button type="button" data-sort="net">Net ↓'),
        ("net", 'aria-sort="ascending" class="number"><button type="button" data-sort="-net">Net ↑'),
        ("name", 'aria-sort="none" class="number"><button type="button" data-sort="net">Net<'),
    ):
        html = table(
            "T", heads, [["a", "1", "2"], ["All", "1", ""]], "", has_sum=True, clicks=Clicks(order, ["<1"], "/a=")
        )
        assert said in html
        assert html.count("data-sort=") == 2
        assert '<tr data-open="&lt;1"><th scope="row"><a href="/a=%3C1"' in html
        assert '<tr class="sum"><th scope="row">All<' in html


def test_a_row_without_an_id_opens_nothing() -> None:
    html = table("T", words("Name"), [["a"], ["b"]], "", clicks=Clicks("", ["", "1"], "/a="))
    assert '<tr><th scope="row">a</th></tr><tr data-open="1"><th scope="row"><a href="/a=1"' in html


def test_fills_of_a_cycle_open_no_page_of_an_arbitrage(dashboard: Dashboard) -> None:
    async def work() -> None:
        async with await open_store(dashboard.session) as store:
            wanted = triangle().rows.settings
            await store.settings.amend(lambda now: wanted.model_copy(update={"version": now.version}), "test")
            await store.balances.replace("alpha", PLENTY, "before", UNFENCED)
            await reserved(store)
            await booked(store, "leg1")

    dashboard.answer(work(), ANSWER_SECONDS)
    app = page()
    app.segmented_control(key="trades.kind").set_value("Fills").run()
    [row] = rows_of(app, "Fills, newest first")
    assert "BTC/USD" in row
    assert "data-open" not in row
    assert app.selectbox(key="trades.chosen").disabled


def test_a_sum_says_what_is_not_in_it() -> None:
    def sums(still_open: int, unvalued: int) -> TradeSums:
        return TradeSums(9, still_open, unvalued, *[Decimal(0)] * 3)

    assert left_out(sums(0, 0)) == ""
    assert left_out(sums(2, 0)) == "without 2 open"
    assert left_out(sums(1, 3)) == "without 1 open and 3 without a price"


def test_the_list_is_filtered_paged_and_of_fills(dashboard: Dashboard) -> None:
    trade(dashboard, *(f"id-{number}" for number in range(ROWS + 2)))
    app = page()
    assert len(app.selectbox(key="trades.chosen").options) == ROWS
    app.button(key="trades.older").click().run()
    assert not app.exception
    assert len(app.selectbox(key="trades.chosen").options) == 2
    assert app.button(key="trades.older").disabled
    app.button(key="trades.newer").click().run()
    assert len(app.selectbox(key="trades.chosen").options) == ROWS
    app.button(key="trades.older").click().run()
    app.selectbox(key="market.base").select("BTC").run()
    assert len(app.selectbox(key="trades.chosen").options) == ROWS, "another filter begins at the newest"
    app.segmented_control(key="trades.kind").set_value("Fills").run()
    assert not app.exception
    assert "Fills, newest first" in html_of(app)
    app.multiselect(key="trades.states").select("residual").run()
    assert "No matches." in html_of(app)


def test_the_equity_chart_marks_what_did_not_simply_close() -> None:
    curve = EquityCurve()
    for number, (net, state) in enumerate([("5", "closed"), ("-2", "unwound"), ("-1", "residual"), ("9", "closed")], 1):
        curve.add(Ending(number * 1_000, str(number), state, Decimal(net), number == 4))  # type: ignore[arg-type]  # ArbitrageState
    spec = equity_chart(curve.equity(), "USD", UTC)
    equity, by_third, unwound, held, fall = spec["series"]
    assert equity["data"] == [[1.0, 5.0], [2.0, 3.0], [3.0, 2.0], [4.0, 11.0]]
    assert (unwound["data"], held["data"]) == ([[2.0, 3.0]], [[3.0, 2.0]])
    assert (by_third["name"], by_third["data"]) == ("closed by a third order", [[4.0, 11.0]])
    assert len({marks["symbol"] for marks in (by_third, unwound, held)}) == 3
    assert [depth for _, depth in fall["data"]] == [0.0, -2.0, -3.0, 0.0]
    sums, depths = spec["yAxis"]
    # as it was drawn: an axis that ended at "-19.177542829999993", and moved the times below it
    assert (sums["min"], sums["max"], depths["min"], depths["max"]) == (0.0, 15.0, -4.0, 0.0)
    assert len({grid["left"] for grid in spec["grid"]}) == 1
    assert not any(grid.get("containLabel") for grid in spec["grid"])
    assert spec["useUTC"] is True
    assert equity_chart(curve.equity(), "USD", ZoneInfo("Asia/Tokyo"))["useUTC"] is False
    # from nothing at the session's beginning, unless what is shown began before it
    since, older = (equity_chart(curve.equity(), "USD", UTC, at)["series"][0]["data"] for at in (500, 1_500))
    assert (since, older) == ([[0.5, 0.0], *equity["data"]], equity["data"])


def test_each_step_of_the_waterfall_hangs_where_the_one_before_ended() -> None:
    parts = ("10", "-1", "-2", "-3", "0.5", "-8", "-3.5")
    profit = profit_from("USD", dict(zip(PROFIT_PARTS, map(Decimal, parts), strict=True)))
    boxes = split_chart(profit)["series"][0]["data"]
    assert [box[:2] for box in boxes] == [
        [0.0, 10.0], [10.0, 9.0], [9.0, 7.0], [7.0, 4.0], [4.0, 4.5], [4.5, -3.5], [0.0, -3.5],
    ]  # fmt: skip
    assert boxes[-2][2:] == [-3.5, 4.5]


HOURS = (HourSum(1, 9, 2, 1, 1, Decimal(6), Decimal(-2)), HourSum(7, 23, 1, 0, 1, Decimal(0), Decimal(-5)))
DAYS = [DayResult(f"2026-01-{day:02}", 1, Decimal(day)) for day in range(1, 32)]


def test_net_by_time_is_in_the_order_of_time() -> None:
    assert time_bars("Hour", HOURS, DAYS)[9] == ("09", Decimal(4))
    assert [name for name, _ in time_bars("Weekday", HOURS, DAYS)] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert time_bars("Weekday", HOURS, DAYS)[6] == ("Sun", Decimal(-5))
    assert time_bars("Day", HOURS, DAYS)[-1] == ("2026-01-31", Decimal(31))
    (series,) = bars_chart(time_bars("Hour", HOURS, DAYS), "USD")["series"]
    assert len({bar["itemStyle"]["color"] for bar in series["data"]}) == 2


@pytest.mark.parametrize(
    ("nets", "deepest", "sharpe", "sortino", "calmar"),
    [
        ([], 5, "needs 2 whole days (UTC), has 0", "needs 2 whole days (UTC), has 0", "needs 1 whole day (UTC), has 0"),
        ([5], 5, "needs 2 whole days (UTC), has 1", "needs 2 whole days (UTC), has 1", "a year, of 1 whole day"),
        ([5, 5], 0, "needs two days that differ", "needs a day that lost", "needs a drawdown"),
        ([5, -5, 9], 5, "a year, of 3 whole days", "a year, of 3 whole days", "a year, of 3 whole days"),
    ],
)
def test_a_ratio_says_how_many_whole_days_it_is_of_or_needs(
    nets: list[int], deepest: int, sharpe: str, sortino: str, calmar: str
) -> None:
    half = DayResult("2026-01-01", 1, Decimal(99), is_whole=False)
    days = [half, *(DayResult(f"2026-01-{day:02}", 1, Decimal(net)) for day, net in enumerate(nets, 2)), half]
    figures = {one.name: one for one in performance_figures(performance_of(HOURS, days, Decimal(deepest)), "USD")}
    assert [figures[name].beside for name in ("Sharpe", "Sortino", "Calmar")] == [sharpe, sortino, calmar]
    for one in (figures["Sharpe"], figures["Sortino"], figures["Calmar"]):
        assert (one.value.text == UNKNOWN) == one.beside.startswith("needs"), one.name
    assert (figures["Profit factor"].value.text, figures["Average loss"].value.text) == ("0.86", "−$3.50")


def test_a_chart_of_lines_shows_the_largest() -> None:
    lines = [ProfitLine(str(net), 1, profit_from("USD", {"net": Decimal(net)})) for net in range(-10, 20)]
    spec = lines_chart(lines, "USD")
    assert len(spec["yAxis"]["data"]) == MAX_BARS
    assert spec["yAxis"]["data"][-1] == "19"
    assert "0" not in spec["yAxis"]["data"]


def test_a_table_escapes_what_others_wrote() -> None:
    html = table("A <b>", (*words("Name"), *numbers("Net")), [["<script>", Cell("1", "good", '"exact"')]], "none")
    assert "<script>" not in html
    assert '<td class="number good" title="&quot;exact&quot;">1</td>' in html
    assert '<th scope="row">&lt;script&gt;</th>' in html


def test_a_download_is_filtered_as_the_list() -> None:
    wanted = TradeFilter("alpha", None, ("closed", "residual"), "ma", 5, None, has_third_order=True)
    assert file_address("trades", "csv", wanted) == (
        "/api/trades.csv?exchange=alpha&state=closed&state=residual&strategy=ma&from=5&third_order=true"
    )
    assert file_address("arbitrages", "parquet", TradeFilter(since=0)) == "/api/arbitrages.parquet?from=0"


def test_a_typed_time_is_of_the_zone_that_is_shown() -> None:
    typed = datetime(2026, 1, 2, 9, 0)  # noqa: DTZ001  # as the widget gives it
    assert microseconds(typed, UTC) == 1_767_344_400_000_000
    assert microseconds(typed, ZoneInfo("Asia/Tokyo")) == 1_767_312_000_000_000
    assert microseconds(None, UTC) is None
    # a zone with summer time has no name of its own: it was called UTC
    assert (zone_word(UTC), zone_word(ZoneInfo("Europe/Berlin"))) == ("UTC", "local")
