"""Health, logs and metrics over REST."""

import json

import httpx
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from market.prices.feed_state import FeedState
from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.operations.processes import MongoProcesses
from store.records.consumer_position import ConsumerPosition
from store.records.processes import ProcessReport
from streams.query_progress import QueryProgress, progress_row
from streams.records import Record
from streams.topics import HEALTH, OPPORTUNITIES, TICKS
from tests.ui.waiting import until
from ui.services.dashboard import dashboard_of

LEDGER_SECONDS = 30
PROBE = b'{"kind": "probe", "base": "BTC", "marker_id": "1"}'


async def reported_of(store: MongoTradeStore, session: Session, *names: str) -> None:
    """As the supervisor does."""
    processes = MongoProcesses(store._database, session.session_id)
    now = await processes.beat(1)
    await processes.report([ProcessReport(name, "cep", None, "ready", 0, 7) for name in names], now)


async def report_of(api: httpx.AsyncClient) -> dict[str, object]:
    answer = await api.get("/api/health/parts")
    assert answer.status_code == 200
    row: dict[str, object] = answer.json()
    return row


async def test_all_else_is_answered_if_the_disk_cannot_be_asked(api: httpx.AsyncClient, session: Session) -> None:
    session.home.rename(session.home.with_name("moved"))
    assert (await report_of(api))["session_id"] == session.session_id


async def test_the_whole_report_is_answered(
    api: httpx.AsyncClient, application: FastAPI, store: MongoTradeStore, session: Session
) -> None:
    now = wall_now()
    await store.save_feed_states([FeedState("alpha", "us", "BTC/USD", "live", now, now, quotes=3, gaps=1, offset_us=5)])
    await store.consumer_positions.record(ConsumerPosition("bot-alpha", "alpha", 0, 1_000, {"opportunities/0": 5}))
    # of an earlier session
    await store.save_feed_states([FeedState("bitstamp", "eu", "BTC/EUR", "live", now, now)])
    await store.consumer_positions.record(
        ConsumerPosition("bot-bitstamp", "bitstamp", 0, 1_000, {"opportunities/0": 5})
    )
    await reported_of(store, session, "cep", "kafka")
    progress = QueryProgress("session-1", "spreads", False, True, now, now, "Waiting", batch=3, offsets={"0": 7})
    hub = dashboard_of(application).hub
    hub.apply_records(
        [
            Record(HEALTH, 0, 0, "spreads", progress_row(progress), now),
            Record(TICKS, 0, 6, "BTC", PROBE, now),
            Record(OPPORTUNITIES, 0, 4, "BTC", PROBE[:-1] + b', "offset": 6}', now + 9_000),
        ]
    )  # fmt: skip

    async def is_complete() -> bool:
        row = await report_of(api)
        return bool(row["feeds"] and row["processes"]) and len(row["change_streams"]) == 2  # type: ignore[arg-type]  # a list

    await until(is_complete, LEDGER_SECONDS)
    row = json.loads((await api.get("/api/health/parts")).content)
    assert [feed["exchange"] for feed in row["feeds"]] == ["alpha"]
    assert [feed["exchange"] for feed in (await api.get("/api/feeds")).json()] == ["alpha"]
    assert [one["reader"] for one in row["change_streams"]] == ["dashboard", "bot-alpha"]
    assert not any("bitstamp" in finding["part"] for finding in row["findings"])
    assert (row["feeds"][0]["gaps"], row["feeds"][0]["offset_us"]) == (1, 5)
    assert row["detection"] == [
        row["detection"][0] | {"partition": 0, "next_offset": 7, "delay": 0.009, "waiting": 0.0}
    ]
    assert (row["queries"][0]["query"], row["queries"][0]["batch"]) == ("spreads", 3)
    readers = {
        (topic["topic"], reader["reader"]): reader["next_offset"]
        for topic in row["topics"]
        for reader in topic["readers"]
    }
    assert readers["ticks", "cep (spreads)"] == 7
    assert readers["opportunities", "bot-alpha"] == 5
    assert [process["name"] for process in row["processes"]] == ["cep", "kafka", "supervisor"]
    assert {latency["stage"] for latency in row["latencies"]} >= {"received_to_detected", "hub_to_client"}
    assert row["verdict"] == "failing"
    assert row["findings"][0]["part"] == "kafka"
    assert row["topics"][0]["end_offset"] is None


async def test_reports_are_made_once_a_second_however_many_ask(api: httpx.AsyncClient) -> None:
    times = {(await report_of(api))["now"] for _ in range(20)}
    assert len(times) < 10


async def test_metrics_parse_and_count_requests_by_route(api: httpx.AsyncClient) -> None:
    for path in ("/api/arbitrages/no-such-one", "/api/arbitrages/another", "/api/made/up", "/assets/none.js"):
        await api.get(path)
    answer = await api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    counted = {
        (sample.labels["route"], sample.labels["status"]): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == "arbitrage_http_requests_total"
    }
    assert counted["/api/arbitrages/{arbitrage_id}", "404"] == 2
    assert counted["other", "404"] == 1
    assert counted["/assets", "404"] == 1
    assert not any("made" in route or "no-such" in route for route, _ in counted)


async def test_logs_are_separated_by_part(api: httpx.AsyncClient, store: MongoTradeStore, session: Session) -> None:
    await reported_of(store, session, "cep", "kafka")
    (session.home / "logs").mkdir()
    rows = [{"time": "t", "level": level, "logger": "cep", "event": level.lower()} for level in ("INFO", "ERROR")]
    (session.home / "logs" / "cep.log").write_text("\n".join(map(json.dumps, rows)))

    async def is_reported() -> bool:
        return bool((await api.get("/api/logs")).json() == {"parts": ["cep"]})

    await until(is_reported)
    tail = (await api.get("/api/logs/cep?lines=1")).json()
    assert ([line["event"] for line in tail["lines"]], tail["is_complete"]) == (["error"], False)
    tail = (await api.get("/api/logs/cep?level=ERROR&text=INFO")).json()
    assert (tail["lines"], tail["is_complete"]) == ([], True)


async def test_only_logs_of_the_sessions_parts_and_bounded_questions(api: httpx.AsyncClient, session: Session) -> None:
    (session.home / "logs").mkdir()
    (session.home / "logs" / "cep.log").write_text("of another session")
    for path in ("cep", "..%2fapi_key", "%2e%2e", "api_key"):
        answer = await api.get(f"/api/logs/{path}")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    for query in ("lines=0", "lines=501", "level=LOUD", f"text={'x' * 201}"):
        assert (await api.get(f"/api/logs/cep?{query}")).status_code == 422
