from decimal import Decimal

import httpx
import pytest
from fastapi import FastAPI

from market.decide.settings import MOST_CLOSE_ORDERS, CloseOrder
from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from market.trade.unwinding import advancing
from runtime.clock import wall_now
from store.mongo.store import MongoTradeStore
from tests.market.samples import MARKETS, USD_MARKET
from tests.store.booking import finish_leg
from tests.store.reservation_requests import filled, granted, opportunity, reserved
from tests.ui.samples import quote, record
from ui.services.dashboard import dashboard_of

PATH = "/api/arbitrages/one/close"
ADVANCE = advancing(MARKETS)


@pytest.fixture
async def residual(store: MongoTradeStore) -> None:
    """Bought and not sold, with nothing done about it."""
    await store.settings.amend(lambda now: now.model_copy(update={"single_leg_policy": "hold"}), "test")
    await reserved(store, opportunity("one", 1), "2")
    buy, sell = await granted(store, "one", "buy"), await granted(store, "one", "sell")
    await finish_leg(store, "one", "sell", filled(sell, sell.amount * 0), ADVANCE, UNFENCED)
    held = await finish_leg(store, "one", "buy", filled(buy), ADVANCE, UNFENCED)
    assert held.state == "residual"


@pytest.fixture
async def quoted(application: FastAPI) -> None:
    # of in an hour: it stays fresh however slow the machine is
    heard = wall_now() + 3_600 * MICROSECONDS
    dashboard_of(application).hub.apply_records([record(quote(USD_MARKET, "80", "81", heard))])


@pytest.mark.usefixtures("residual", "quoted")
async def test_what_would_be_ordered_is_said_before(api: httpx.AsyncClient) -> None:
    row = (await api.get(PATH)).raise_for_status().json()
    assert (row["why_not"], row["side"], row["exchange"], row["amount"]) == (None, "sell", "alpha", "2")
    assert (row["price"], row["limit_price"], row["settings_version"]) == ("80", "78.4", None)


@pytest.mark.usefixtures("residual", "quoted")
async def test_an_operator_orders_it_and_the_bots_path_carries_it_out(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    headers = {"X-API-Key": key}
    answer = await api.post(PATH, headers=headers)
    assert answer.status_code == 202
    settings = await store.settings.current()
    assert settings is not None
    assert answer.json()["settings_version"] == settings.version
    assert list(settings.close_now) == ["one"]
    assert await store.resume("one", ADVANCE, UNFENCED)
    flatten = await granted(store, "one", "flatten")
    closed = await finish_leg(store, "one", "flatten", filled(flatten), ADVANCE, UNFENCED)
    assert closed.state == "unwound"
    (entry,) = (await api.get("/api/audit?action=arbitrage.close", headers=headers)).json()["items"]
    assert (entry["target"], entry["outcome"], entry["after"]["limit_price"]) == ("one", "done", "78.4")


@pytest.mark.usefixtures("residual", "quoted")
@pytest.mark.parametrize(
    ("confirmed", "limit"),
    [
        # within 200 bps of the better price, that of now or the confirmed one
        ({"side": "sell", "amount": "2", "price": "90"}, "88.2"),
        ({"side": "sell", "amount": "3", "price": "70"}, "78.4"),
        ({"side": "sell", "amount": "1.9", "price": "80"}, None),
        ({"side": "buy", "amount": "2", "price": "80"}, None),
    ],
)
async def test_no_more_is_ordered_than_was_confirmed(
    api: httpx.AsyncClient, key: str, confirmed: dict[str, str], limit: str | None
) -> None:
    answer = await api.post(PATH, headers={"X-API-Key": key}, json=confirmed)
    if limit is None:
        assert (answer.status_code, "has changed since it was confirmed" in answer.json()["detail"]) == (409, True)
    else:
        assert (answer.status_code, answer.json()["limit_price"]) == (202, limit)


@pytest.mark.usefixtures("residual", "quoted")
async def test_so_many_at_once_that_the_settings_hold_them(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    now = await store.server_now()
    orders = {str(number): CloseOrder(price=Decimal(80), asked_at=now) for number in range(MOST_CLOSE_ORDERS)}
    await store.settings.amend(lambda one: one.model_copy(update={"close_now": orders}), "test")
    answer = await api.post(PATH, headers={"X-API-Key": key})
    assert (answer.status_code, "ask again in 20 seconds" in answer.json()["detail"]) == (409, True)
    settings = await store.settings.current()
    assert settings is not None
    assert settings.close_now == orders


@pytest.mark.usefixtures("quoted")
async def test_an_open_leg_is_closed_as_soon_as_no_order_of_it_is_under_way(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    await reserved(store, opportunity("one", 1), "2")
    assert "Nothing is left" in (await api.get(PATH)).json()["why_not"]
    buy, sell = await granted(store, "one", "buy"), await granted(store, "one", "sell")
    await finish_leg(store, "one", "sell", filled(sell, sell.amount * 0), ADVANCE, UNFENCED)
    await finish_leg(store, "one", "buy", filled(buy), ADVANCE, UNFENCED)
    complete = await granted(store, "one", "complete")
    row = (await api.get(PATH)).raise_for_status().json()
    assert (row["why_not"], row["side"], row["exchange"], row["amount"]) == (None, "sell", "alpha", "2")
    shown = {name: row[name] for name in ("side", "amount", "price")}
    assert (await api.post(PATH, headers={"X-API-Key": key}, json=shown)).status_code == 202
    await finish_leg(store, "one", "complete", filled(complete, complete.amount / 2), ADVANCE, UNFENCED)
    flatten = await granted(store, "one", "flatten")
    assert (flatten.side, flatten.amount, flatten.limit_price) == ("sell", Decimal(1), Decimal("78.4"))
    closed = await finish_leg(store, "one", "flatten", filled(flatten), ADVANCE, UNFENCED)
    assert closed.state == "unwound"
    (entry,) = (await api.get("/api/audit?action=arbitrage.close", headers={"X-API-Key": key})).json()["items"]
    assert (entry["outcome"], entry["before"]["state"], entry["after"]["side"]) == ("done", "single_leg", "sell")


@pytest.mark.usefixtures("residual", "quoted")
async def test_it_is_no_setting_like_others(api: httpx.AsyncClient, key: str) -> None:
    wanted = {"version": 2, "close_now": {"one": {"price": "1", "asked_at": 1}}}
    answer = await api.patch("/api/settings", headers={"X-API-Key": key}, json=wanted)
    assert (answer.status_code, "is closed by POST" in answer.text) == (422, True)


@pytest.mark.usefixtures("residual")
async def test_without_a_fresh_price_nothing_is_ordered(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    assert "no fresh quote of BTC/USD on alpha" in (await api.get(PATH)).json()["why_not"]
    answer = await api.post(PATH, headers={"X-API-Key": key})
    assert (answer.status_code, "no fresh quote" in answer.json()["detail"]) == (409, True)
    settings = await store.settings.current()
    assert settings is not None
    assert settings.close_now == {}
    (entry,) = (await api.get("/api/audit?action=arbitrage.close", headers={"X-API-Key": key})).json()["items"]
    assert entry["outcome"] == "rejected"


@pytest.mark.usefixtures("residual", "quoted")
async def test_who_may_not_change_anything_may_not_close(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    assert (await api.post(PATH)).status_code == 401
    settings = await store.settings.current()
    assert settings is not None
    assert settings.close_now == {}


async def test_there_is_nothing_to_close_where_there_is_no_arbitrage(api: httpx.AsyncClient, key: str) -> None:
    assert (await api.get(PATH)).status_code == 404
    assert (await api.post(PATH, headers={"X-API-Key": key})).status_code == 404
