import httpx
import pytest
from fastapi import FastAPI

from runtime.clock import wall_now
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.ui.samples import FX_MARKET, quote, record
from ui.services.dashboard import dashboard_of


@pytest.fixture
async def hub_with_quotes(application: FastAPI) -> None:
    now = wall_now()
    books = ((FX_MARKET, "1.1", "1.1"), (USD_MARKET, "100", "102"), (EUR_MARKET, "99", "100"))
    dashboard_of(application).hub.apply_records([record(quote(*book, now)) for book in books])


@pytest.mark.usefixtures("hub_with_quotes")
async def test_quotes_are_those_of_the_log(api: httpx.AsyncClient) -> None:
    (row,) = (await api.get("/api/quotes", params={"exchange": "alpha"})).json()
    assert (row["bid"], row["ask"], row["mid"], row["mean_mid"], row["status"]) == ("100", "102", "101", 101.0, "fresh")
    assert len((await api.get("/api/quotes")).json()) == 3
    assert [row["symbol"] for row in (await api.get("/api/quotes", params={"base": "EUR"})).json()] == ["EUR/USD"]


@pytest.mark.usefixtures("hub_with_quotes")
async def test_the_matrix_has_prices_and_the_best_pair(api: httpx.AsyncClient) -> None:
    (row,) = (await api.get("/api/matrix")).json()
    assert (row["base"], [price["exchange"] for price in row["prices"]]) == ("BTC", ["alpha", "beta"])
    # 99 and 100 EUR at 1.1 USD
    assert row["prices"][1] == {"exchange": "beta", "symbol": "BTC/EUR", "bid": 108.9, "ask": 110.0, "is_fresh": True}
    assert (row["best"]["buy_exchange"], row["best"]["sell_exchange"]) == ("alpha", "beta")
    assert row["best"]["gross_bps"] == pytest.approx((108.9 - 102) / 102 * 10_000, abs=0.01)
    assert (await api.get("/api/matrix", params={"exchange": "alpha", "base": "BTC"})).json() != []
    for query in ("exchange=fx", "base=EUR"):
        assert (await api.get(f"/api/matrix?{query}")).json() == []


@pytest.mark.usefixtures("hub_with_quotes")
async def test_spreads_are_net_of_fees_and_fx(api: httpx.AsyncClient) -> None:
    rows = {(row["buy_exchange"], row["sell_exchange"]): row for row in (await api.get("/api/spreads")).json()}
    assert set(rows) == {("alpha", "beta"), ("beta", "alpha")}
    # buying at 102 USD, selling at 99 EUR × 1.1 = 108.9 USD; fees of 0.1 % and 0.12 %
    row = rows["alpha", "beta"]
    assert row["gross_bps"] == pytest.approx((108.9 - 102) / 102 * 10_000, abs=1e-3)
    assert row["fee_bps"] == pytest.approx((102 * 0.001 + 108.9 * 0.0012) / 102 * 10_000, abs=1e-3)
    assert row["net_bps"] == pytest.approx(row["gross_bps"] - row["fee_bps"], abs=1e-3)
