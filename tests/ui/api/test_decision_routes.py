import httpx

from store.mongo.store import MongoTradeStore
from tests.store.reservation_requests import opportunity
from tests.ui.trading import traded


async def test_a_decision_has_its_books_with_the_orders_walked_through_them(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    await traded(store, opportunity("one", 1), "0.5")
    row = (await api.get("/api/arbitrages/one/decision")).raise_for_status().json()
    bought, sold = row["books"]
    assert (bought["role"], bought["exchange"], bought["limit_price"]) == ("buy", "alpha", "100")
    assert bought["book"]["levels"] == [{"price": "100", "amount": "5", "taken": bought["amount"]}]
    assert (sold["role"], sold["book"]["walk"]["mean_price"]) == ("sell", "101")


async def test_a_decision_has_the_settings_in_force_and_every_check(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    await traded(store, opportunity("one", 1), "0.5")
    row = (await api.get("/api/arbitrages/one/decision")).json()
    assert row["settings_version"] == 1
    assert row["settings"]["min_net_bps"] == 5.0
    checks = {check["reason"]: check for check in row["checks"]}
    assert (checks["below_threshold"]["value"], checks["below_threshold"]["limit"]) == ("50", "5")
    assert checks["below_threshold"]["settings"]["min_net_bps"] == 5.0
    assert all(check["passed"] for check in row["checks"])


async def test_there_is_no_decision_of_an_arbitrage_that_there_is_not(api: httpx.AsyncClient) -> None:
    answer = await api.get("/api/arbitrages/nowhere/decision")
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no arbitrage nowhere.")
