"""A name that no market has is told, by every route that filters by it: an empty list would mean something else."""

import httpx
import pytest

FILTERED = {
    "/api/quotes",
    "/api/spreads",
    "/api/matrix",
    "/api/opportunities",
    "/api/opportunities/newest",
    "/api/opportunities/statistics",
    "/api/episodes",
    "/api/arbitrages",
    "/api/arbitrages.csv",
    "/api/arbitrages.parquet",
    "/api/trades",
    "/api/trades.csv",
    "/api/trades.parquet",
    "/api/rejections",
    "/api/rejections/recent",
    "/api/rejections/summary",
    "/api/balances",
    "/api/feeds",
}
NO_ASSET = "This session has no asset 'btc'; it has BTC."
NO_EXCHANGE = "This session has no exchange 'okx'; it has alpha, beta, fx."


async def test_all_lists_are_filtered_by_asset_and_exchange_and_name_what_there_is(api: httpx.AsyncClient) -> None:
    document = (await api.get("/openapi.json")).json()
    declared = {
        path
        for path, methods in document["paths"].items()
        if {"base", "exchange"} <= {one["name"] for one in methods.get("get", {}).get("parameters", ())}
    }
    assert declared == FILTERED
    for path in declared:
        answer = await api.get(path, params={"base": "btc", "exchange": "okx"})
        assert (answer.status_code, answer.json()["detail"]) == (422, f"{NO_ASSET} {NO_EXCHANGE}"), path
        assert (await api.get(path, params={"base": "BTC", "exchange": "alpha"})).status_code == 200, path


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("base=EUR", None),  # of an FX market
        ("base=", "This session has no asset ''; it has BTC."),
        ("buy_exchange=okx", NO_EXCHANGE),
        ("sell_exchange=okx", NO_EXCHANGE),
    ],
)
async def test_a_name_is_known_as_it_is_written(api: httpx.AsyncClient, query: str, problem: str | None) -> None:
    answer = await api.get(f"/api/episodes?{query}")
    assert answer.json().get("detail") == problem
    assert answer.status_code == (200 if problem is None else 422)


async def test_a_name_longer_than_any_is_not_repeated(api: httpx.AsyncClient) -> None:
    answer = await api.get("/api/quotes", params={"base": "x" * 41})
    assert answer.json()["errors"][0]["field"] == "query.base"
    assert "xxx" not in answer.text
