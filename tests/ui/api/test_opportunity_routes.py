"""Opportunities through REST: those kept with what became of them, those of the stream, statistics, the preview."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection
from runtime.clock import wall_now
from store.mongo.store import MongoTradeStore
from tests.store.reservation_requests import episode_of
from tests.store.reservation_requests import opportunity as requested
from tests.ui.trading import traded
from ui.services.dashboard import dashboard_of

SECOND = 1_000_000


def seen(number: int, net_bps: float, since: int) -> Opportunity:
    """Return an opportunity seen `number` seconds after `since`, for as long as the next one needs."""
    at = since + number * SECOND
    return replace(requested(f"seen-{number}", number), net_bps=net_bps, event_time=at, expires_at=at + SECOND)


def rejection(of: Opportunity, reason: str, count: int = 1) -> Rejection:
    return Rejection(
        rejection_id=f"{of.opportunity_id}:{reason}",
        opportunity_id=of.opportunity_id,
        base=of.base,
        buy_exchange=of.buy.exchange,
        sell_exchange=of.sell.exchange,
        exchange="alpha",
        reason=reason,
        net_bps=of.net_bps,
        expected_profit=Decimal(2),
        rejected_at=of.event_time,
        count=count,
        tradable=Decimal(2),
        until=of.event_time + SECOND // 2,
    )


@pytest.fixture
async def four(application: FastAPI, store: MongoTradeStore) -> list[Opportunity]:
    """Rejected, rejected, taken, and one below the threshold that nobody kept; all four came by the stream."""
    since = wall_now() - 60 * SECOND
    made = [seen(number, net_bps, since) for number, net_bps in enumerate((10.0, 20.0, 30.0, 3.0), start=1)]
    for one in made:
        dashboard_of(application).hub.live_state.apply_opportunity(one)
    for one, reason in zip(made[:2], ("pair_busy", "stale"), strict=True):
        await store.save_opportunities([one])
        await store.reject([rejection(one, reason, count=5)])
    await store.save_opportunities([made[2]])
    await traded(store, made[2], "0.01")
    await store.reject([rejection(made[3], "below_threshold", count=10)])
    reasons = ("pair_busy", "stale", None, "below_threshold")
    await store.save_episodes([episode_of(*one) for one in zip(made, reasons, strict=True)])
    return made


async def rows(api: httpx.AsyncClient, path: str = "/api/opportunities", **parameters: Any) -> list[Any]:
    found, cursor = [], None
    while True:
        given = parameters | ({"cursor": cursor} if cursor else {})
        page = (await api.get(path, params=given)).raise_for_status().json()
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def test_pages_say_what_became_of_each(api: httpx.AsyncClient, four: list[Opportunity]) -> None:
    for limit in (1, 50):
        kept = await rows(api, limit=limit)
        assert [(row["opportunity_id"], row["outcome"], row["reason"], row["arbitrage_state"]) for row in kept] == [
            ("seen-3", "taken", None, "closed"),
            ("seen-2", "rejected", "stale", None),
            ("seen-1", "rejected", "pair_busy", None),
        ]
        assert [row["net_profit"] for row in kept] == ["1", None, None]


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"outcome": "taken"}, ["seen-3"]),
    ({"reason": "stale"}, ["seen-2"]),
    ({"min_net_bps": 15, "base": "BTC"}, ["seen-3", "seen-2"]),
    ({"exchange": "beta", "buy_exchange": "alpha", "outcome": "rejected"}, ["seen-2", "seen-1"]),
    ({"sell_exchange": "alpha"}, []),
    ({"exchange": "fx"}, []),
]


async def test_filters(api: httpx.AsyncClient, four: list[Opportunity]) -> None:
    span = {"from": four[0].event_time, "to": four[1].event_time}
    for parameters, expected in [*FILTERS, (span, ["seen-1"])]:
        assert [row["opportunity_id"] for row in await rows(api, **parameters)] == expected, parameters


EPISODE_FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [4, 3, 2, 1]),
    ({"limit": 1}, [4, 3, 2, 1]),
    ({"outcome": "taken"}, [3]),
    ({"outcome": "rejected", "min_net_bps": 5}, [2, 1]),
    ({"outcome": "undecided"}, []),
    ({"reason": "stale"}, [2]),
    ({"exchange": "beta", "buy_exchange": "alpha", "base": "BTC"}, [4, 3, 2, 1]),
    ({"sell_exchange": "alpha"}, []),
]


async def test_episodes_are_listed_once_with_what_became_of_them(
    api: httpx.AsyncClient, four: list[Opportunity]
) -> None:
    for parameters, expected in EPISODE_FILTERS:
        found = await rows(api, "/api/episodes", **parameters)
        assert [row["first_opportunity_id"] for row in found] == [f"seen-{number}" for number in expected], parameters
    (row,) = await rows(api, "/api/episodes", **{"from": four[0].event_time, "to": four[1].event_time})
    assert {name: row[name] for name in ("seen", "start", "end", "outcome", "reason", "best_net_bps")} == {
        "seen": 1, "start": four[0].event_time, "end": four[0].event_time,
        "outcome": "rejected", "reason": "pair_busy", "best_net_bps": 10.0,
    }  # fmt: skip
    assert (row["best_profit"], row["missed_profit"], row["currency"]) == ("2", "2", "USD")
    (taken,) = await rows(api, "/api/episodes", outcome="taken")
    assert (taken["reason"], taken["missed_profit"], taken["best_profit"]) == (None, "0", "2")
    single = {"buy_exchange": row["buy_exchange"], "from": row["start"], "to": row["end"] + 1}
    assert [one["opportunity_id"] for one in await rows(api, **single)] == ["seen-1"]


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("/api/opportunities", {"cursor": "gone"}),
    ("/api/opportunities", {"outcome": "eaten"}),
    ("/api/opportunities", {"min_net_bps": "nan"}),
    ("/api/opportunities", {"from": 2**63}),
    ("/api/opportunities", {"limit": 501}),
    ("/api/episodes", {"outcome": "waiting"}),
    ("/api/episodes", {"cursor": "gone"}),
    ("/api/opportunities/statistics", {"span": "year"}),
    ("/api/settings/preview", {}),
    ("/api/settings/preview", {"min_net_bps": 5, "hours": 25}),
]


async def test_what_is_wrong_is_a_problem(api: httpx.AsyncClient) -> None:
    for path, parameters in WRONG:
        answer = await api.get(path, params=parameters)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), parameters


async def test_one_is_found_wherever_it_is(api: httpx.AsyncClient, four: list[Opportunity]) -> None:
    outcomes = {}
    for one in four:
        row = (await api.get(f"/api/opportunities/{one.opportunity_id}")).raise_for_status().json()
        outcomes[row["opportunity_id"]] = (row["outcome"], row["reason"])
    assert outcomes["seen-1"] == ("rejected", "pair_busy")
    assert outcomes["seen-3"] == ("taken", None)
    assert outcomes["seen-4"] == ("rejected", "below_threshold")
    answer = await api.get("/api/opportunities/none")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_the_stream_has_those_that_nobody_kept(api: httpx.AsyncClient, four: list[Opportunity]) -> None:
    newest = (await api.get("/api/opportunities/newest", params={"limit": 2})).json()
    assert [row["opportunity_id"] for row in newest] == ["seen-4", "seen-3"]
    wide = (await api.get("/api/opportunities/newest", params={"min_net_bps": 15})).json()
    assert [row["opportunity_id"] for row in wide] == ["seen-3", "seen-2"]


async def test_statistics_count_each_kind_apart(api: httpx.AsyncClient, four: list[Opportunity]) -> None:
    for span in ("10m", "hour", "session"):
        found = (await api.get("/api/opportunities/statistics", params={"span": span})).raise_for_status().json()
        assert [found[name] for name in ("seen", "taken", "rejected", "expired")] == [4, 1, 20, 0]
        assert found["episodes"] == {
            "seen": 4, "sightings": 4, "taken": 1, "rejected": 3, "expired": 0, "undecided": 0,
        }  # fmt: skip
        assert (found["taken_expected"], found["taken_net"], found["rejected_expected"]) == ("0.002", "1", "6")
        assert [(row["reason"], row["count"], row["episodes"], row["missed_profit"]) for row in found["ledger"]] == [
            ("below_threshold", 10, 1, "2"),
            ("pair_busy", 5, 1, "2"),
            ("stale", 5, 1, "2"),
        ]
        bars = [(row["from_bps"], row["seen"], row["taken"], row["rejected"]) for row in found["histogram"]]
        assert [bar for bar in bars if any(bar[1:])] == [
            (3.0, 1, 0, 10),
            (10.0, 1, 0, 5),
            (20.0, 1, 0, 5),
            (30.0, 1, 1, 0),
        ]
        lifetimes = found["lifetimes"]
        assert (lifetimes["all"]["runs"], lifetimes["all"]["longest_ms"]) == (1, 3_000.0)
        (pair,) = lifetimes["pairs"]
        assert (pair["buy_exchange"], pair["sell_exchange"], pair["best_bps"]) == ("alpha", "beta", 30.0)
        none = (await api.get("/api/opportunities/statistics", params={"span": span, "base": "EUR"})).json()
        assert [none[name] for name in ("seen", "taken", "rejected", "histogram")] == [0, 0, 0, []]


THRESHOLDS = [
    (2.0, 1, 0, 10, ["pair_busy", "stale"]),
    (3.0, 1, 0, 10, ["pair_busy", "stale"]),
    (3.5, 1, 0, 0, ["pair_busy", "stale"]),
    (15.0, 1, 0, 0, ["stale"]),
    (31.0, 0, 1, 0, []),
]


async def test_the_preview_says_what_a_threshold_would_have_done(
    api: httpx.AsyncClient, four: list[Opportunity]
) -> None:
    for threshold, kept, lost, gained, still in THRESHOLDS:
        answer = await api.get("/api/settings/preview", params={"min_net_bps": threshold, "hours": 1})
        found = answer.raise_for_status().json()
        assert [found[name]["count"] for name in ("taken", "kept", "lost", "gained")] == [1, kept, lost, gained]
        assert found["gained_once_a_second"]["count"] == (1 if gained else 0)
        episodes = found["gained_episodes"]
        assert (episodes["count"], episodes["expected"]) == ((1, "2") if gained else (0, "0"))
        assert found["gained"]["expected"] == found["gained_once_a_second"]["expected"] == episodes["expected"]
        assert sorted(row["reason"] for row in found["still_rejected"]) == still
    first, last = found["curve"][0], found["curve"][-1]
    assert (first["min_net_bps"], first["kept"], first["gained"]) == (3.0, 1, 1)
    assert (last["kept"], last["gained"]) == (0, 0)


OWN_THRESHOLDS: list[tuple[dict[str, dict[str, float]], bool]] = [
    ({"asset_thresholds": {"BTC": 5.0}}, True),
    ({"pair_thresholds": {"beta/alpha": 5.0}}, True),
    ({"asset_thresholds": {"ETH": 5.0}, "pair_thresholds": {"beta>alpha": 5.0}}, False),
]


@pytest.mark.parametrize(("own", "is_left_out"), OWN_THRESHOLDS)
async def test_the_preview_leaves_out_what_has_a_threshold_of_its_own(
    api: httpx.AsyncClient,
    application: FastAPI,
    four: list[Opportunity],
    own: dict[str, dict[str, float]],
    is_left_out: bool,
) -> None:
    hub = dashboard_of(application).hub
    assert hub.settings is not None
    hub.apply_settings(hub.settings.model_copy(update=own | {"version": hub.settings.version + 1}))
    found = (await api.get("/api/settings/preview", params={"min_net_bps": 2, "hours": 1})).raise_for_status().json()
    counts = [found[name]["count"] for name in ("taken", "kept", "lost", "gained", "gained_episodes")]
    assert counts == ([0] * 5 if is_left_out else [1, 1, 0, 10, 1])
    assert (not found["still_rejected"], found["curve"] == []) == (is_left_out, is_left_out)


async def test_nothing_seen_is_no_fault(api: httpx.AsyncClient) -> None:
    statistics = (await api.get("/api/opportunities/statistics")).raise_for_status().json()
    assert (statistics["seen"], statistics["histogram"], statistics["lifetimes"]["all"]["p50_ms"]) == (0, [], None)
    preview = (await api.get("/api/settings/preview", params={"min_net_bps": 5})).raise_for_status().json()
    assert (preview["curve"], preview["taken"]["count"]) == ([], 0)
