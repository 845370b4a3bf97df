"""The page Health as a script (no browser), and the tables that it is made of."""

import json
import re
from dataclasses import replace
from datetime import UTC

from streamlit.testing.v1 import AppTest

from store.mongo.store import open_store
from store.operations.processes import MongoProcesses
from store.records.processes import ProcessReport
from tests.market.samples import MARKETS
from tests.ui.health_reports import FINDING, LATENCY, part, partition, report
from tests.ui.waiting import until
from ui.page_parts.market_choice import MarketChoice
from ui.panels.health_log import log_lines
from ui.panels.health_tables import (
    feeds_table,
    headline,
    kafka_table,
    latencies_table,
    latency_chart,
    linked,
    processes_table,
    publisher_words,
    queries_table,
    verdict,
)
from ui.services.dashboard import Dashboard

SECONDS = 30
SCRIPT = "from ui.pages.health import render_health; render_health()"


def page() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=SECONDS).run()


def shown(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


async def report_of(dashboard: Dashboard, *names: str) -> None:
    """As the supervisor does."""
    async with await open_store(dashboard.session) as store:
        processes = MongoProcesses(store._database, dashboard.session.session_id)
        now = await processes.beat(1)
        await processes.report([ProcessReport(name, "cep", None, "ready", 0, 7) for name in names], now)
    await until(lambda: _is_reported(dashboard, names))


async def _is_reported(dashboard: Dashboard, names: tuple[str, ...]) -> bool:
    return set(names) <= await dashboard.health.part_names()


def test_without_kafka_the_page_says_so_first(dashboard: Dashboard) -> None:
    app = page()
    assert not app.exception
    html = shown(app)
    assert 'data-verdict="failing"' in html
    assert "kafka." in html
    assert "prices, spreads and opportunities are not updated" in html
    assert [info.value for info in app.info] == [
        "No process of this session has a log on this machine: they run elsewhere or were started by hand."
    ]


def test_the_log_of_a_part_is_shown_filtered_and_without_secrets(dashboard: Dashboard) -> None:
    logs = dashboard.session.home / "logs"
    logs.mkdir()
    events = [("INFO", "it began"), ("ERROR", "query died: apiKey=abcdefgh <b>")]
    lines = [json.dumps({"time": "t", "level": level, "logger": "cep", "event": event}) for level, event in events]
    (logs / "cep.log").write_text("\n".join(lines))
    (logs / "other.log").write_text("of no part of this session")
    dashboard.answer(report_of(dashboard, "cep", "kafka"))
    app = page()
    assert app.selectbox(key="health.log.part").options == ["All parts", "cep"]
    assert "query died: apiKey=[hidden] &lt;b&gt;" in shown(app)
    assert ">it began<" in shown(app)
    app.selectbox(key="health.log.level").select("ERROR").run()
    assert ">it began<" not in shown(app)
    app.text_input(key="health.log.text").input("nowhere").run()
    assert "No lines match." in shown(app)
    assert "of no part" not in shown(app)


def test_stages_can_be_chosen(dashboard: Dashboard) -> None:
    app = page()
    app.selectbox(key="health.stage").select("sent → filled").run()
    assert not app.exception


def test_the_verdict_names_the_part_and_what_to_do() -> None:
    assert "All healthy" in verdict(report())
    html = verdict(report(verdict="failing", summary="1 failing: kafka", findings=[FINDING]))
    assert "1 failing: kafka" in html
    assert "<b>Failing: kafka.</b> It is gone &amp; silent. Start it." in html


def test_a_finding_links_to_what_it_names() -> None:
    for words, link in (
        ("Read its log at the bottom of this page.", 'Read <a href="#log" target="_self">its log</a> at the bottom'),
        ("Start it on the page Bots & thresholds.", '<a href="/bots" target="_self">Bots &amp; thresholds</a>.'),
        ("It catches up by itself; see Regions below.", '<a href="#regions" target="_self">Regions below</a>.'),
        ("if it lasts, read the log of cep.", '<a href="#log" target="_self">the log of cep</a>.'),
        ("otherwise read the feed's log.", '<a href="#log" target="_self">the feed&#x27;s log</a>.'),
        ("Check <that>.", "Check &lt;that&gt;."),
    ):
        assert link in linked(words)


def test_what_has_not_reported_is_no_share_of_nothing() -> None:
    html = headline(report(feeds=[], processes=[]))
    assert "0 of 0" not in html
    assert html.count("none has reported yet") == 2
    assert "3 of 3" in headline(report())
    one_row = partition(readers=[{"reader": "dashboard", "next_offset": 999, "behind": 1, "is_bound": False}])
    assert "1 row<" in headline(report(topics=[one_row]))


def test_every_table_shows_its_rows() -> None:
    whole = report()
    assert "−12 ms" in feeds_table(whole, MarketChoice("BTC", "alpha"), MARKETS)
    assert "No matches." in feeds_table(whole, MarketChoice("ETH", None), MARKETS)
    renamed = [replace(one, base="ETH") for one in MARKETS]
    assert "−12 ms" in feeds_table(whole, MarketChoice("ETH", "alpha"), renamed)
    assert "≤ 40" in kafka_table(whole)
    assert "first batch (5 min)" in queries_table(whole, UTC)
    assert ">7.0 ms<" in latencies_table(whole)
    assert (
        publisher_words(whole) == "Settings publisher: version 3 in the log, version 3 in force, published 500 ms ago."
    )
    restarted = report(processes=[part("cep", "restarting", last_end="exit code 1")])
    assert '<td class="bad">restarting</td>' in processes_table(restarted, UTC)


def test_the_chart_has_a_bar_for_each_bucket() -> None:
    chart = json.loads(json.dumps(latency_chart(LATENCY)))
    assert chart["series"][0]["data"] == [0, 3, 1]
    assert chart["xAxis"]["data"] == ["≤ 5.0 ms", "≤ 10 ms", "longer"]


def test_a_log_that_goes_further_back_says_so() -> None:
    assert "older lines" in log_lines("cep", [], is_complete=False)
    assert "older lines" not in log_lines("cep", [], is_complete=True)


def test_all_logs_are_read_by_time_opened_by_the_address_and_stand_still_while_paused(dashboard: Dashboard) -> None:
    logs = dashboard.session.home / "logs"
    logs.mkdir()
    for part_name, seconds in (("cep", (1, 4)), ("kafka", (2, 3))):
        lines = [logged(second, f"{part_name} {second} of-one") for second in seconds]
        (logs / f"{part_name}.log").write_text("\n".join([*lines, "at its.trace", logged(9, "of another")]))
    dashboard.answer(report_of(dashboard, "cep", "kafka"))
    app = AppTest.from_string(SCRIPT, default_timeout=SECONDS)
    app.query_params["log"], app.query_params["text"] = "all", "OF-ONE"
    app.run()
    assert re.findall(r">(\w+ \d) of-one<", shown(app)) == ["cep 1", "kafka 2", "kafka 3", "cep 4"]
    assert "00:00:02.000 kafka INFO" in shown(app)
    app.toggle(key="health.log.paused").set_value(True).run()
    (logs / "cep.log").write_text(logged(8, "cep 8 of-one"))
    assert "cep 8" not in shown(app.run())
    app.toggle(key="health.log.paused").set_value(False).run()
    assert "cep 8" in shown(app)


def logged(second: int, event: str) -> str:
    time = f"2026-11-30T00:00:0{second}.000"
    return json.dumps({"time": time, "level": "INFO", "logger": "made", "event": event})
