"""Backtests over REST: asked for with the key, followed by anybody, reports that can do nothing."""

from dataclasses import replace
from decimal import Decimal

import httpx
import pytest

from market.accounting.equity_curve import EquityPoint
from store.mongo.store import MongoTradeStore
from store.records.backtest_requests import BacktestFigures, BacktestTrade, TickSetSummary
from ui.services.backtest import MAX_WAITING

TICK_SET = TickSetSummary("alpha-beta", "a made-up one", ("alpha", "beta"), ("BTC",), 1_000, 1_000_000, 2_000_000)
FIGURES = BacktestFigures(
    1_000,
    20,
    3,
    17,
    Decimal("-1.25"),
    Decimal("-0.5"),
    Decimal("2.5"),
    "USD",
    is_balanced=True,
    equity=(EquityPoint(5, 1, Decimal("-1.25")),),
)
ASKED = {
    "tick_set": "alpha-beta",
    "settings": {"min_net_bps": 7.5},
    "fee_bps": "2.5",
    "latency_ms": 80,
    "seed": 7,
    "fee_tiers": {"beta": "0:26,50000:24"},
    "failed_percent": 0.5,
}


@pytest.fixture
async def tick_set(store: MongoTradeStore) -> None:
    await store.backtests.report_tick_sets([TICK_SET])


async def asked(api: httpx.AsyncClient, key: str, body: object = ASKED) -> httpx.Response:
    return await api.post("/api/backtests", json=body, headers={"X-API-Key": key})


@pytest.mark.usefixtures("tick_set")
async def test_tick_sets_are_those_that_the_supervisor_reported(api: httpx.AsyncClient) -> None:
    assert (await api.get("/api/tick-sets")).json() == [
        {
            "name": "alpha-beta",
            "title": "a made-up one",
            "exchanges": ["alpha", "beta"],
            "bases": ["BTC"],
            "quotes": 1_000,
            "start_time": 1_000_000,
            "end_time": 2_000_000,
            "is_of_bars": False,
            "lacking": None,
        }
    ]


@pytest.mark.usefixtures("tick_set")
async def test_asking_needs_the_key(api: httpx.AsyncClient) -> None:
    assert (await api.post("/api/backtests", json=ASKED)).status_code == 401
    assert (await api.get("/api/backtests")).json() == []


@pytest.mark.usefixtures("tick_set")
async def test_one_is_queued_with_what_was_asked(api: httpx.AsyncClient, key: str) -> None:
    answer = await asked(api, key)
    assert answer.status_code == 201
    row = answer.json()
    assert answer.headers["location"] == f"/api/backtests/{row['backtest_id']}"
    assert (row["state"], row["figures"], row["report"], row["who"]) == ("queued", None, None, "rest")
    assert row["request"] == {
        "tick_set": "alpha-beta",
        "settings": {"min_net_bps": "7.5"},
        "fee_bps": "2.5",
        "latency_ms": 80.0,
        "seed": 7,
        "cores": 1,
        "fee_tiers": {"beta": "0:26,50000:24"},
        "failed_percent": 0.5,
    }
    assert (await api.get(answer.headers["location"])).json() == row
    assert (await api.get("/api/backtests")).json() == [row]


@pytest.mark.usefixtures("tick_set")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "tick_set"),
        ({"tick_set": "none"}, "tick_set"),
        ({"tick_set": "alpha-beta", "speed": 3}, "speed"),
        ({"tick_set": "alpha-beta", "seed": 2**70}, "seed"),
        ({"tick_set": "alpha-beta", "cores": 0}, "cores"),
        ({"tick_set": "alpha-beta", "fee_bps": -1}, "fee_bps"),
        ({"tick_set": "alpha-beta", "latency_ms": 1e9}, "latency_ms"),
        ({"tick_set": "alpha-beta", "failed_percent": 101}, "failed_percent"),
        ({"tick_set": "alpha-beta", "fee_tiers": {"beta": "cheap"}}, "fee_tiers.beta"),
        ({"tick_set": "alpha-beta", "fee_tiers": {"beta": "0:1,0.0:2"}}, "fee_tiers.beta"),
        ({"tick_set": "alpha-beta", "fee_tiers": {"gamma": "0:1"}}, "fee_tiers.gamma"),
        ({"tick_set": "alpha-beta", "settings": {"min_net_bps": "high"}}, "min_net_bps"),
        ({"tick_set": "alpha-beta", "settings": {"nothing": 1}}, "nothing"),
        ({"tick_set": "alpha-beta", "settings": {"min_net_bps": "0" * 200 + "5"}}, "settings.min_net_bps"),
        ({"tick_set": "alpha-beta", "settings": {"taker_fees": 1}}, "settings.taker_fees"),
    ],
)
async def test_what_cannot_be_run_is_reported_by_field(
    api: httpx.AsyncClient, key: str, body: dict[str, object], field: str
) -> None:
    answer = await asked(api, key, body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert [problem["field"] for problem in answer.json()["errors"]] == [field]
    assert (await api.get("/api/backtests")).json() == []


async def test_a_set_that_no_backtest_can_run_on_is_refused_at_once_with_the_reason(
    api: httpx.AsyncClient, key: str, store: MongoTradeStore
) -> None:
    why = "only alpha has BTC: there is nothing to compare"
    await store.backtests.report_tick_sets([replace(TICK_SET, exchanges=("alpha",), lacking=why)])
    answer = await asked(api, key, {"tick_set": "alpha-beta"})
    assert (answer.status_code, answer.json()["errors"]) == (422, [{"field": "tick_set", "why": why}])
    assert (await api.get("/api/backtests")).json() == []
    assert (await api.get("/api/tick-sets")).json()[0]["lacking"] == why


async def test_a_body_that_is_no_object_is_rejected(api: httpx.AsyncClient, key: str) -> None:
    assert (await asked(api, key, [1])).status_code == 422
    for content in (b"{", b"[" * 100_000):
        broken = await api.post("/api/backtests", content=content, headers={"X-API-Key": key})
        assert (broken.status_code, broken.json()["detail"]) == (422, "The body is not JSON.")


@pytest.mark.usefixtures("tick_set")
async def test_the_queue_has_an_end(api: httpx.AsyncClient, key: str) -> None:
    for _ in range(MAX_WAITING):
        assert (await asked(api, key)).status_code == 201
    assert (await asked(api, key)).status_code == 409


@pytest.mark.usefixtures("tick_set")
async def test_a_report_may_load_and_run_nothing(api: httpx.AsyncClient, store: MongoTradeStore, key: str) -> None:
    job_id = (await asked(api, key)).json()["backtest_id"]
    place = f"/api/backtests/{job_id}/report"
    assert (await api.get(place)).status_code == 404
    assert await store.backtests.claim_next("runner") is not None
    await store.backtests.finish(job_id, "runner", FIGURES, "<!doctype html><p>fine</p>")
    row = (await api.get(f"/api/backtests/{job_id}")).json()
    assert (row["state"], row["report"]) == ("done", place)
    assert (row["figures"]["net"], row["figures"]["drawdown"], row["figures"]["trades"]) == ("-1.25", "2.5", 3)
    points = (await api.get(f"/api/backtests/{job_id}/equity")).json()
    assert points == [{"at": 5, "number": 1, "net": "-1.25"}]
    assert (await api.get("/api/backtests/unknown/equity")).status_code == 404
    report = await api.get(place)
    assert report.text == "<!doctype html><p>fine</p>"
    assert report.headers["content-type"] == "text/html; charset=utf-8"
    assert report.headers["content-security-policy"].startswith(
        "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    )


def made_trade(number: int) -> BacktestTrade:
    """Its exchange would be a formula in a spreadsheet."""
    names = ("BTC", "=alpha BTC/USD", "beta BTC/EUR")
    return BacktestTrade(number, 1_000_000 * number, *names, Decimal("0.10"), 7.5, "closed", None, Decimal("-1.50"), 9)


@pytest.mark.usefixtures("tick_set")
async def test_all_trades_are_reached_by_pages_and_as_a_file(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    place = (await asked(api, key)).headers["location"]
    assert (await api.get(f"{place}/trades")).json() == {"items": [], "next_cursor": None}
    assert await store.backtests.claim_next("runner") is not None
    trades = [made_trade(number) for number in range(1, 1_004)]
    await store.backtests.finish(place.rpartition("/")[2], "runner", FIGURES, "<p>fine</p>", trades)
    numbers, cursor = [], None
    for _ in range(4):
        page = (await api.get(f"{place}/trades", params={"limit": 300} | ({"cursor": cursor} if cursor else {}))).json()
        numbers += [row["number"] for row in page["items"]]
        cursor = page["next_cursor"]
    assert (numbers, cursor) == (list(range(1_003, 0, -1)), None)
    assert (page["items"][-1]["net"], page["items"][-1]["amount"]) == ("-1.5", "0.1")
    answer = await api.get(f"{place}/trades.csv")
    rows = answer.text.splitlines()
    assert answer.headers["content-type"].startswith("text/csv")
    assert [row.partition(",")[0] for row in rows] == ["number", *map(str, range(1, 1_004))]
    assert rows[1].split(",")[3:7] == ["'=alpha BTC/USD", "beta BTC/EUR", "0.1", "7.5"]
    assert (await api.get(f"{place}/trades", params={"cursor": "nonsense"})).status_code in (400, 422)
    for end in ("trades", "trades.csv"):
        assert (await api.get(f"/api/backtests/unknown/{end}")).status_code == 404


@pytest.mark.usefixtures("tick_set")
async def test_a_result_from_bars_says_so_with_its_ratios(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    place = (await asked(api, key)).headers["location"]
    assert await store.backtests.claim_next("runner") is not None
    figures = replace(
        FIGURES,
        is_of_bars=True,
        missed=Decimal("3.50"),
        return_on_capital=Decimal("0.0125"),
        sharpe=1.5,
        ratios="of 47",
    )
    await store.backtests.finish(place.rpartition("/")[2], "runner", figures, "<p>fine</p>")
    row = (await api.get(place)).json()["figures"]
    assert (row["is_of_bars"], row["missed"], row["return_on_capital"]) == (True, "3.5", "0.0125")
    assert (row["sharpe"], row["sortino"], row["ratios"], row["capital"]) == (1.5, None, "of 47", None)


@pytest.mark.usefixtures("tick_set")
async def test_one_is_cancelled_then_removed(api: httpx.AsyncClient, key: str) -> None:
    place = (await asked(api, key)).headers["location"]
    assert (await api.delete(place)).status_code == 401
    cancelled = await api.delete(place, headers={"X-API-Key": key})
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    assert (await api.delete(place, headers={"X-API-Key": key})).status_code == 204
    assert (await api.get(place)).status_code == 404
    assert (await api.delete(place, headers={"X-API-Key": key})).status_code == 404


@pytest.mark.usefixtures("tick_set")
async def test_a_running_one_is_ended_by_its_runner(api: httpx.AsyncClient, store: MongoTradeStore, key: str) -> None:
    place = (await asked(api, key)).headers["location"]
    await store.backtests.claim_next("runner")
    row = (await api.delete(place, headers={"X-API-Key": key})).json()
    assert (row["state"], row["is_cancel_asked"]) == ("running", True)
