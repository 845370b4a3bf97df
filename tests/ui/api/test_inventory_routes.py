"""What is where, as REST tells it: from real rows of the store and the newest quotes."""

from decimal import Decimal
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from store.mongo.store import MongoTradeStore
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.reservation_requests import opportunity, reserved
from tests.ui.samples import FX_MARKET, tick
from tests.ui.samples import quote as quote_of
from tests.ui.trading import traded
from ui.services.dashboard import dashboard_of


def render_quotes(application: FastAPI) -> None:
    """EUR at 1.25 USD, BTC at 100 USD on both."""
    dashboard = dashboard_of(application)
    now = dashboard.session.clock().now()
    for market, bid, ask in ((FX_MARKET, "1.24", "1.26"), (USD_MARKET, "99", "101"), (EUR_MARKET, "79", "81")):
        dashboard.hub.live_state.apply_tick(tick(quote_of(market, bid, ask, now)))


async def found(api: httpx.AsyncClient, **parameters: str) -> dict[str, Any]:
    answer = (await api.get("/api/inventory", params=parameters)).raise_for_status()
    row: dict[str, Any] = answer.json()
    return row


async def test_balances_drift_from_their_share_of_the_opening(api: httpx.AsyncClient, application: FastAPI) -> None:
    render_quotes(application)
    row = await found(api)
    assert row["currency"] == "USD"
    assert {(one["exchange"], one["currency"]): (one["total"], one["drift"]) for one in row["holdings"]} == {
        ("alpha", "BTC"): ("0", "0"),
        ("alpha", "USD"): ("1000", "0"),
        ("beta", "BTC"): ("10", "0"),
        ("beta", "EUR"): ("0", "0"),
    }
    even = await found(api, target="even")
    assert {one["exchange"]: (one["drift"], one["value"]) for one in even["holdings"] if one["currency"] == "BTC"} == {
        "alpha": ("-5", "-500"),
        "beta": ("5", "500"),
    }


async def test_what_a_leg_holds_is_reported_with_its_arbitrage(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await reserved(store, opportunity("open"), "0.5")
    row = await found(api)
    assert {(one["arbitrage_id"], one["role"], one["currency"], one["amount"]) for one in row["holds"]} == {
        ("open", "buy", "USD", "50.05"),
        ("open", "sell", "BTC", "0.5"),
    }


async def test_exposure_is_what_was_traded_since_the_opening(
    api: httpx.AsyncClient, store: MongoTradeStore, application: FastAPI
) -> None:
    render_quotes(application)
    await traded(store, opportunity("one"))
    row = await found(api)
    assert {one["currency"]: (one["is_base"], one["change"], one["value"]) for one in row["exposures"]} == {
        "BTC": (True, "0", "0"),
        "USD": (False, "-50.05", "-50.05"),
        "EUR": (False, "50.4495", "63.06"),
    }


async def test_the_plan_says_that_it_is_never_sent_and_keeps_to_what_was_earned(
    api: httpx.AsyncClient, store: MongoTradeStore, application: FastAPI
) -> None:
    render_quotes(application)
    await traded(store, opportunity("one"))
    plan = (await found(api, target="even"))["plan"]
    assert "never sent" in plan["note"]
    assert (plan["earned"], plan["cost"], plan["transfers"]) == ("1", "0", [])
    assert [(one["source"], one["destination"], one["reason"]) for one in plan["skipped"]] == [
        ("beta", "alpha", "terms_unknown")
    ]
    assert Decimal(plan["cost"]) <= Decimal(plan["earned"])


@pytest.mark.parametrize("target", ["", "odd", "OPENING"])
async def test_another_target_is_rejected_with_a_sentence(api: httpx.AsyncClient, target: str) -> None:
    answer = await api.get("/api/inventory", params={"target": target})
    assert answer.status_code == 422
    assert "target" in answer.text
