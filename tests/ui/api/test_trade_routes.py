from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx
import pytest

from market.prices.episodes import EXPIRED
from market.prices.feed_state import FeedState
from market.trade.arbitrages import Rejection
from runtime.clock import wall_now
from store.mongo.store import MongoTradeStore
from tests.store.reservation_requests import episode_of, opportunity, reserved
from tests.ui.trading import made_worst, traded
from tests.ui.waiting import until


async def until_answer(api: httpx.AsyncClient, path: str, expected: object) -> None:
    """Wait for the answer: a write that does not wait for the disk is read a moment later."""

    async def is_there() -> bool:
        return bool((await api.get(path)).json() == expected)

    await until(is_there)


async def trade_three(store: MongoTradeStore) -> list[str]:
    """Their ids, newest first."""
    ids = [(await traded(store, opportunity(f"id-{number}", number))).arbitrage_id for number in range(3)]
    return ids[::-1]


async def all_pages(api: httpx.AsyncClient, path: str, limit: int, **filters: str) -> list[Any]:
    """Return what each page held."""
    pages, cursor = [], None
    while True:
        parameters = filters | {"limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        page = (await api.get(path, params=parameters)).raise_for_status().json()
        pages.append(page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            return pages


async def test_arbitrages_come_newest_first_page_by_page(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    newest_first = await trade_three(store)
    pages = await all_pages(api, "/api/arbitrages", 2)
    assert [len(page) for page in pages] == [2, 1]
    assert [row["arbitrage_id"] for page in pages for row in page] == newest_first


async def test_the_worst_trade_comes_first_and_says_what_closed_it(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    newest_first = await trade_three(store)
    await made_worst(store, newest_first[1])
    for sort, place in (("net", 0), ("-net", 2)):
        rows = [row for page in await all_pages(api, "/api/arbitrages", 1, sort=sort) for row in page]
        assert len(rows) == 3
        worst = rows[place]
        assert (worst["arbitrage_id"], worst["state"], worst["outcome"]) == (
            newest_first[1], "closed", "closed_by_third_order",
        )  # fmt: skip
        fills = [row for page in await all_pages(api, "/api/trades", 4, sort=sort) for row in page]
        assert [row["arbitrage_id"] for row in fills][2 * place : 2 * place + 2] == [newest_first[1]] * 2
        assert [row["net"] for row in fills].count("-2.5") == 2
    for path in ("/api/arbitrages", "/api/trades"):
        found = (await api.get(path, params={"third_order": "true"})).json()["items"]
        assert {row["arbitrage_id"] for row in found} == {newest_first[1]}


async def test_arbitrages_are_filtered_by_state(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await traded(store, opportunity("ended", 1))
    await reserved(store, opportunity("open", 2), "0.5")
    found = [
        (await api.get("/api/arbitrages", params={"state": state})).json()["items"]
        for state in ("closed", "reserved", "residual")
    ]
    reported = [[(row["arbitrage_id"], row["stage"]) for row in rows] for rows in found]
    assert reported == [[("ended", "closed")], [("open", "sent")], []]


async def test_one_arbitrage_has_its_legs_fills_times_and_profit(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    await traded(store, opportunity("one"))
    row = (await api.get("/api/arbitrages/one")).json()
    assert (row["state"], row["stage"], row["is_final"], row["amount"]) == ("closed", "closed", True, "0.5")
    assert [(leg["role"], leg["filled"], leg["mean_price"]) for leg in row["legs"]] == [
        ("buy", "0.5", "100"),
        ("sell", "0.5", "101"),
    ]
    assert row["profit"] == {
        "currency": "USD", "gross": "2.5", "latency_decay": "0", "slippage": "-0.5", "fees": "-1", "fx": "0",
        "unwinding": "0", "net": "1",
    }  # fmt: skip
    assert {"reserved", "ended"} <= set(row["times"])


async def test_trades_are_the_fills_as_booked(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await traded(store, opportunity("one"))
    rows = (await api.get("/api/trades")).json()["items"]
    assert [(row["exchange"], row["side"], row["cost"], row["fee"], row["fee_currency"]) for row in rows] == [
        ("beta", "sell", "50.5", "0.0505", "EUR"),
        ("alpha", "buy", "50", "0.05", "USD"),
    ]
    assert [(row["role"], row["base"], row["state"], row["strategy"]) for row in rows] == [
        ("sell", "BTC", "closed", "arbitrage"),
        ("buy", "BTC", "closed", "arbitrage"),
    ]
    only = (await api.get("/api/trades", params={"exchange": "beta"})).json()["items"]
    assert [row["exchange"] for row in only] == ["beta"]


async def test_pnl_sums_the_parts_and_counts_the_states(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await trade_three(store)
    row = (await api.get("/api/pnl")).json()
    parts = ("gross", "latency_decay", "slippage", "fees", "fx", "unwinding")
    assert sum(Decimal(row[part]) for part in parts) == Decimal(row["net"]) == 3
    assert row["arbitrages"] == {"closed": 3}


async def test_trades_are_paged_by_fill_without_gap_or_repeat(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await trade_three(store)
    pages = await all_pages(api, "/api/trades", 4)
    assert [len(page) for page in pages] == [4, 2]
    assert len({(row["arbitrage_id"], row["role"]) for page in pages for row in page}) == 6


async def test_lists_are_filtered_alike(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await traded(store, opportunity("one"))
    cases: list[tuple[dict[str, str | int], bool]] = [
        ({"base": "BTC", "exchange": "beta", "strategy": "arbitrage", "state": "closed", "from": 1}, True),
        ({"base": "EUR"}, False),
        ({"exchange": "fx"}, False),
        ({"strategy": "ma"}, False),
        ({"state": "residual"}, False),
        ({"from": 2**53 - 1}, False),
        ({"to": 1}, False),
    ]
    for path in ("/api/arbitrages", "/api/trades"):
        for parameters, is_found in cases:
            found = (await api.get(path, params=parameters)).raise_for_status().json()["items"]
            assert bool(found) == is_found, (path, parameters)


async def test_the_equity_ends_at_the_profit(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    empty = (await api.get("/api/pnl/equity")).json()
    assert (empty["net"], empty["points"], empty["win_rate"]) == ("0", [], None)
    await trade_three(store)
    row = (await api.get("/api/pnl/equity")).json()
    assert (row["currency"], row["ended"], row["wins"], row["win_rate"]) == ("USD", 3, 3, 1.0)
    assert [point["net"] for point in row["points"]] == ["1", "2", "3"]
    assert row["net"] == (await api.get("/api/pnl")).json()["net"]
    assert row["drawdown"] == {"depth": "0", "start": None, "end": None}
    assert "at most 1200" in row["thinning"]


@pytest.mark.parametrize("by", ["exchange", "asset", "pair", "day", "strategy"])
async def test_pnl_by_lines_sums_to_the_whole(api: httpx.AsyncClient, store: MongoTradeStore, by: str) -> None:
    await trade_three(store)
    lines = (await api.get("/api/pnl", params={"by": by})).raise_for_status().json()
    whole = (await api.get("/api/pnl")).json()
    for part in ("gross", "latency_decay", "slippage", "fees", "fx", "unwinding", "net"):
        assert sum(Decimal(line[part]) for line in lines) == Decimal(whole[part])
    assert [line["arbitrages"] for line in lines] == [3]
    assert (await api.get("/api/pnl", params={"by": "moon"})).status_code == 422


async def test_one_arbitrage_reports_its_way_from_the_exchange_to_the_end(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    plain = opportunity("one")
    buy = replace(plain.buy, exchange_time=980_000, received_time=990_000)
    await traded(store, replace(plain, buy=buy, sell=replace(plain.sell, received_time=1_000_000)))
    row = (await api.get("/api/arbitrages/one")).json()
    assert [(step["step"], step["role"], step["clock"]) for step in row["timeline"]] == [
        ("quoted", "buy", "exchange"),
        ("received", "buy", "local"),
        ("received", "sell", "local"),
        ("detected", None, "local"),
        ("reserved", "buy", "server"),
        ("reserved", "sell", "server"),
        ("granted", "buy", "server"),
        ("granted", "sell", "server"),
        ("filled", "buy", "exchange"),
        ("filled", "sell", "exchange"),
        ("done", "buy", "server"),
        ("done", "sell", "server"),
        ("ended", None, "server"),
    ]
    server = [step["at"] for step in row["timeline"] if step["clock"] == "server"]
    assert server == sorted(server)
    assert [step["at"] for step in row["timeline"][:3]] == [980_000, 990_000, 1_000_000]
    reported = [(decision["what"], decision["actor"]) for decision in row["history"]]
    assert ("closed", "unfenced") in reported
    assert [decision["at"] for decision in row["history"]] == sorted(decision["at"] for decision in row["history"])


async def test_balances_say_what_is_free_and_what_is_held(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await reserved(store, opportunity(), "0.5")
    rows = (await api.get("/api/balances", params={"exchange": "alpha"})).json()
    assert rows == [
        {"exchange": "alpha", "currency": "BTC", "free": "0", "held": "0", "total": "0"},
        {"exchange": "alpha", "currency": "USD", "free": "949.95", "held": "50.05", "total": "1000"},
    ]
    of_asset = (await api.get("/api/balances", params={"base": "BTC"})).json()
    assert [(row["exchange"], row["currency"]) for row in of_asset] == [("alpha", "BTC"), ("beta", "BTC")]


async def test_rejections_are_counted_by_reason_and_listed(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    rejection = Rejection(
        "r", "o", "BTC", "alpha", "beta", "alpha", "stale", 4.0, Decimal("1.5"), wall_now(), 1, Decimal("1.5")
    )
    again = replace(rejection, rejection_id="r2", opportunity_id="o2")
    later = replace(rejection, rejection_id="r3", opportunity_id="o3", rejected_at=rejection.rejected_at + 2_000_000)
    latest = replace(later, rejection_id="r4", reason="pair_busy", rejected_at=later.rejected_at + 2_000_000)
    for one in (rejection, again, later, latest):
        await store.reject([one])
    for number, reason in enumerate(("stale", "stale", "pair_busy", EXPIRED)):
        of = replace(opportunity(), event_time=number * 10_000_000, expires_at=number * 10_000_000 + 1)
        await store.save_episodes([episode_of(of, reason, "1.5")])
    expected = [
        {"reason": "stale", "count": 3, "episodes": 2, "missed_profit": "3"},
        {"reason": "pair_busy", "count": 1, "episodes": 1, "missed_profit": "1.5"},
        {"reason": EXPIRED, "count": 0, "episodes": 1, "missed_profit": "1.5"},
    ]
    await until_answer(api, "/api/rejections", expected)
    (newest, older) = (await api.get("/api/rejections/recent", params={"reason": "stale"})).json()["items"]
    assert (newest["count"], older["count"], newest["expected_profit"]) == (1, 2, "1.5")


async def test_rejections_are_filtered_by_either_exchange(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    rejection = Rejection("r", "o", "BTC", "alpha", "beta", "alpha", "stale", 4.0, Decimal("1.5"), wall_now(), 2)
    await store.reject([rejection])
    await store.save_episodes([episode_of(opportunity(), "stale", "1.5")])
    counted = [{"reason": "stale", "count": 2, "episodes": 1, "missed_profit": "1.5"}]
    await until_answer(api, "/api/rejections", counted)
    for query, expected in (("exchange=beta", counted), ("exchange=fx", []), ("base=BTC", counted), ("base=EUR", [])):
        assert (await api.get(f"/api/rejections?{query}")).json() == expected
        recent = (await api.get(f"/api/rejections/recent?{query}")).json()["items"]
        assert [one["rejection_id"] for one in recent] == (["r"] if expected else [])
        summary = (await api.get(f"/api/rejections/summary?{query}")).json()
        assert summary["count"] == (2 if expected else 0)


async def test_feeds_say_their_state(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    state = FeedState(
        "beta", "eu", "BTC/EUR", "stale", 5, 4, quotes=3, rejected={"crossed": 2}, gaps=1, rest_checks=7, offset_us=-12
    )
    await store.save_feed_states([state])
    expected = {
        "exchange": "beta", "region": "eu", "symbol": "BTC/EUR", "status": "stale", "changed_at": 5,
        "last_received": 4, "quotes": 3, "reconnects": 0, "rejected": {"crossed": 2},
        "gaps": 1, "checksums": 0, "malformed": 0, "resyncs": 0,
        "rest_checks": 7, "rest_mismatches": 0, "rest_failures": 0, "offset_us": -12,
    }  # fmt: skip
    await until_answer(api, "/api/feeds", [expected])
    for query, rows in (("base=BTC", [expected]), ("base=EUR", []), ("exchange=alpha", [])):
        assert (await api.get(f"/api/feeds?{query}")).json() == rows


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("/api/arbitrages?limit=0", 422, "query.limit"),
        ("/api/arbitrages?limit=501", 422, "query.limit"),
        ("/api/arbitrages?state=happy", 422, "query.state.0"),
        ("/api/trades?from=-1", 422, "query.from"),
        ("/api/trades?to=99999999999999999999", 422, "query.to"),
        ("/api/trades.csv?strategy=luck", 422, "query.strategy"),
        ("/api/trades?cursor=nonsense", 422, "query.cursor"),
        ("/api/arbitrages?sort=moon", 422, "query.sort"),
        ("/api/arbitrages?sort=--net", 422, "query.sort"),
        ("/api/trades?sort=role", 422, "query.sort"),
        ("/api/trades?sort=-net&cursor=nonsense", 422, "query.cursor"),
        ("/api/arbitrages?sort=net&cursor=WzEsMl0=", 422, "query.cursor"),
        ("/api/arbitrages?third_order=perhaps", 422, "query.third_order"),
        ("/api/arbitrages?cursor=nonsense", 422, "query.cursor"),
        ("/api/rejections/recent?cursor=%00", 422, "query.cursor"),
        ("/api/arbitrages/unknown", 404, None),
        ("/api/unknown", 404, None),
    ],
)
async def test_every_error_is_problem_details(
    api: httpx.AsyncClient, path: str, status: int, field: str | None
) -> None:
    answer = await api.get(path)
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert [error["field"] for error in problem.get("errors", [])] == ([field] if field else [])


async def test_a_wrong_method_is_a_problem_too(api: httpx.AsyncClient) -> None:
    answer = await api.delete("/api/settings")
    assert answer.status_code in (404, 405)
    assert answer.headers["content-type"] == "application/problem+json"
