import httpx

from store.mongo.store import MongoTradeStore
from store.server.documents import ARBITRAGES
from tests.store.reservation_requests import opportunity
from tests.ui.trading import traded

MONDAY_NINE = 1_764_579_600_000_000
"""1 December 2025, 9:00 UTC."""
DAY = 86_400_000_000


async def test_performance_is_of_what_ended_by_day_hour_and_weekday(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    for number, (at, net) in enumerate(((MONDAY_NINE, "4"), (MONDAY_NINE + 1, "-1"), (MONDAY_NINE + 2 * DAY, "3"))):
        identity = f"id-{number}"
        await traded(store, opportunity(identity, number), "0.01")
        changes = {"times.ended": at, "profit.net": net, "profit.shares": []}
        await store._database[ARBITRAGES].update_one({"_id": identity}, {"$set": changes})
    row = (await api.get("/api/pnl/performance")).raise_for_status().json()
    assert (row["currency"], row["wins"], row["losses"], row["won"], row["lost"]) == ("USD", 2, 1, "7", "-1")
    assert (row["profit_factor"], row["expectancy"], row["average_loss"]) == (7.0, "2", "-1")
    # to today, whenever that is; when this session began is not known
    assert [(one["day"], one["net"], one["is_whole"]) for one in row["days"][:4]] == [
        ("2025-12-01", "3", False),
        ("2025-12-02", "0", True),
        ("2025-12-03", "3", True),
        ("2025-12-04", "0", True),
    ]
    assert (row["days"][-1]["is_whole"], row["whole_days"]) == (False, len(row["days"]) - 2)
    assert [(one["hour"], one["net"]) for one in row["hours"] if one["arbitrages"]] == [(9, "6")]
    assert [(one["weekday"], one["net"]) for one in row["weekdays"] if one["arbitrages"]] == [(1, "3"), (3, "3")]
    assert row["sharpe"] > 0
    assert row["sortino"] is None


async def test_without_a_trade_there_is_no_ratio(api: httpx.AsyncClient) -> None:
    row = (await api.get("/api/pnl/performance")).raise_for_status().json()
    (today,) = row["days"]
    assert (today["net"], today["is_whole"], row["whole_days"]) == ("0", False, 0)
    assert (row["wins"], row["sharpe"], row["profit_factor"]) == (0, None, None)
    assert len(row["hours"]) == 24
