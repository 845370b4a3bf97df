"""Two runs side by side over REST: backtests, and a backtest with the running session."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from market.decide.settings_texts import settings_texts
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Rejection
from runtime.clock import wall_now
from session.access_terms import RateTerms
from store.mongo.store import MongoTradeStore
from store.records.backtest_requests import BacktestFigures, BacktestRequest, BacktestTrade, TickSetSummary
from store.server.documents import REJECTIONS
from tests.store.reservation_requests import opportunity
from tests.ui.samples import SETTINGS
from tests.ui.trading import traded
from tests.ui.waiting import until
from ui.auth.question_turns import QuestionsBusyError
from ui.auth.rate_buckets import Rates
from ui.runs.comparison import Comparisons
from ui.runs.comparison_rows import ComparisonRow
from ui.services.dashboard import Dashboard, dashboard_of

NOW = wall_now()
BEGIN, END = NOW - 3_600 * MICROSECONDS, NOW + 3_600 * MICROSECONDS
TICK_SET = TickSetSummary("alpha-beta", "a made-up one", ("alpha", "beta"), ("BTC",), 1_000, BEGIN, END)
FIGURES = BacktestFigures(
    *(1_000, 20, 3, 17), Decimal("-1.25"), Decimal("-0.5"), Decimal("2.5"), "USD", is_balanced=True
)


def made_trade(number: int, at: int, net: str = "1") -> BacktestTrade:
    names = ("BTC", "alpha BTC/USD", "beta BTC/EUR")
    return BacktestTrade(
        *(number, at, *names, Decimal("0.1"), 7.5, "closed", None), Decimal(net), at + 9, Decimal("-0.1")
    )


async def ran(
    store: MongoTradeStore,
    job_id: str,
    trades: list[BacktestTrade],
    settings: dict[str, str],
    span: tuple[int, int] | None = None,
    **request: Any,
) -> None:
    await store.backtests.report_tick_sets([TICK_SET])
    await store.backtests.ask(job_id, BacktestRequest("alpha-beta", **request), "rest")
    assert await store.backtests.claim_next("runner") is not None
    since, until = span or (None, None)
    figures = replace(FIGURES, settings=settings, since=since, until=until)
    await store.backtests.finish(job_id, "runner", figures, "<p>fine</p>", trades)


async def compared(api: httpx.AsyncClient, first: str, second: str) -> Any:
    answer = await api.get("/api/backtests/compare", params={"first": first, "second": second})
    return answer.raise_for_status().json()


async def test_two_backtests_name_what_differs(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    settings = settings_texts(SETTINGS)
    shared, moved = made_trade(1, NOW), made_trade(2, NOW + 10 * MICROSECONDS, "3")
    await ran(store, "one", [shared, moved], settings)
    others = [shared, replace(moved, net=Decimal("2.5")), made_trade(3, NOW + 20 * MICROSECONDS, "-4")]
    await ran(store, "other", others, settings | {"min_net_bps": "2", "taker_fees.alpha": "0.002"}, latency_ms=80)
    found = await compared(api, "one", "other")
    assert (found["since"], found["until"]) == (BEGIN, END + 1)
    assert {row["name"]: (row["first"], row["second"], row["difference"]) for row in found["figures"]} == {
        "Trades": ("2", "3", "1"),
        "Net": ("4", "-0.5", "-4.5"),
        "Fees": ("-0.2", "-0.3", "-0.1"),
        "Won": ("2", "2", "0"),
        "Lost": ("0", "1", "1"),
        "Mean net of a trade": ("2", "-0.16666667", "-2.16666667"),
        "Best trade": ("3", "2.5", "-0.5"),
        "Worst trade": ("1", "-4", "-5"),
        "Max drawdown": ("0", "-4", "-4"),
    }
    assert {row["name"]: (row["first"], row["second"]) for row in found["settings"]} == {
        "latency_ms": ("50", "80"),
        "min_net_bps": (settings["min_net_bps"], "2"),
        "taker_fees.alpha": (settings["taker_fees.alpha"], "0.002"),
    }
    labels = {row["name"]: row["label"] for row in found["settings"]}
    assert (labels["latency_ms"], labels["taker_fees.alpha"]) == ("Order latency (ms)", "Taker fees: alpha")
    assert (found["both"], found["only_first"], found["only_second"]) == (2, 0, 1)
    assert [row["trade_id"] for row in found["second_alone"]] == ["3"]
    assert [row["net"] for row in found["first_equity"]] == ["1", "4"]
    assert [row["net"] for row in found["second_equity"]] == ["1", "3.5", "-0.5"]
    assert [(row["first"]["trade_id"], row["difference"]) for row in found["pairs"]] == [("2", "-0.5")]
    assert found["remarks"] == []


async def test_a_backtest_and_the_session_are_compared_within_the_time_of_both(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    here = replace(opportunity("live", 1), event_time=NOW, detected_time=NOW, expires_at=NOW + MICROSECONDS)
    await traded(store, here, "0.5")
    earlier = made_trade(1, BEGIN - 5)
    same, missed = made_trade(2, NOW + 400_000, "1.5"), made_trade(3, NOW - 60 * MICROSECONDS)
    await ran(store, "one", [earlier, missed, same], {}, seed=7)
    for number, (at, reason) in enumerate(((missed.event_time + 1, "too_many_open"), (NOW - 9, "stale"))):
        await store.reject([Rejection(f"r{number}", "o", "BTC", "alpha", "beta", "alpha", reason, 4.0, Decimal(1), at)])
    # what does not wait for the disk is read a moment later
    await until(lambda: kept(store, 2))
    found = await compared(api, "session", "one")
    assert (found["first"]["run_id"], found["second"]["tick_set"]) == ("session", "alpha-beta")
    assert (found["since"], found["until"] <= wall_now()) == (BEGIN, True)
    assert (found["both"], found["only_first"], found["only_second"]) == (1, 0, 1)
    assert [(row["trade_id"], row["why_not"]) for row in found["second_alone"]] == [("3", "too_many_open")]
    (pair,) = found["pairs"]
    assert (pair["first"]["trade_id"], pair["first"]["net"], pair["difference"]) == ("live", "1", "0.5")
    nets = [[row["net"] for row in found[f"{side}_equity"]] for side in ("first", "second")]
    assert nets == [["1"], ["1", "2.5"]]
    assert {row["name"]: row["first"] for row in found["settings"]}["seed"] == "as it was"
    # an earlier version kept no settings with a backtest
    assert [words for words in found["remarks"] if "settings of B are not known" in words]


async def kept(store: MongoTradeStore, rejections: int) -> bool:
    return await store._database[REJECTIONS].count_documents({}) == rejections


async def test_runs_of_two_times_have_no_trade_in_common(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await ran(store, "one", [made_trade(1, NOW)], settings_texts(SETTINGS))
    await store.backtests.ask("old", BacktestRequest("gone"), "rest")
    assert await store.backtests.claim_next("runner") is not None
    await store.backtests.finish("old", "runner", replace(FIGURES, currency="EUR"), "", [made_trade(1, 5)])
    found = await compared(api, "one", "old")
    assert (found["since"], found["both"], found["only_first"], found["only_second"]) == (None, 0, 1, 1)
    assert {row["name"]: row["difference"] for row in found["figures"]}["Net"] is None
    assert [words.partition(",")[0] for words in found["remarks"]] == [
        "Their times do not overlap",
        "The settings of B are not known: an earlier version ran it. Run it again to compare them.",
        "A is in USD",
    ]


async def test_a_run_covers_what_its_tick_set_had_when_it_ran(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await ran(store, "one", [made_trade(1, NOW)], {}, (NOW - 60, NOW + 60))
    await ran(store, "other", [made_trade(1, NOW), made_trade(2, NOW + 70)], {})
    found = await compared(api, "one", "other")
    assert (found["since"], found["until"], found["both"], found["only_second"]) == (NOW - 60, NOW + 60, 1, 0)


async def test_few_comparisons_wait_and_more_are_turned_away(
    application: FastAPI, api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    await ran(store, "one", [made_trade(1, NOW)], {})
    comparisons, dashboard = Comparisons(), dashboard_of(application)
    many = await asyncio.gather(
        *(comparisons.row(dashboard, "one", "session") for _ in range(12)), return_exceptions=True
    )
    assert [isinstance(one, QuestionsBusyError) for one in many] == [False] * 5 + [True] * 7
    application.state.comparisons = BusyComparisons()
    answer = await api.get("/api/backtests/compare", params={"first": "one", "second": "session"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


class BusyComparisons(Comparisons):
    """Turns everybody away."""

    async def row(self, dashboard: Dashboard, first_id: str, second_id: str) -> ComparisonRow:
        raise QuestionsBusyError("Others ask.")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/backtests/compare?first=one&second=two"), ("POST", "/api/settings/what-if")],
)
async def test_what_costs_cpu_has_a_rate_of_its_own(
    application: FastAPI, api: httpx.AsyncClient, method: str, path: str
) -> None:
    dashboard_of(application).access.questions = Rates(RateTerms(0.1, 2))
    answers = [await api.request(method, path, json={} if method == "POST" else None) for _ in range(3)]
    assert [answer.status_code == 429 for answer in answers] == [False, False, True]


@pytest.mark.parametrize(
    ("first", "words"),
    [("nothing", "There is no backtest 'nothing'."), ("waiting", "Backtest 'waiting' has no results: it is queued.")],
)
async def test_what_cannot_be_compared_is_said(
    api: httpx.AsyncClient, store: MongoTradeStore, first: str, words: str
) -> None:
    await store.backtests.ask("waiting", BacktestRequest("alpha-beta"), "rest")
    answer = await api.get("/api/backtests/compare", params={"first": first, "second": "session"})
    assert (answer.status_code, answer.json()["detail"]) == (404, words)
    assert (await api.get("/api/backtests/compare")).status_code == 422
