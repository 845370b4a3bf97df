"""Files of trades and arbitrages: every digit, the sums of the P&L, nothing that a spreadsheet would run."""

import csv
import io
import re
from decimal import Decimal

import httpx
import pyarrow.parquet as pq
import pytest

from market.trade.arbitrages import PROFIT_PARTS
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from store.server.documents import FILLS
from tests.store.reservation_requests import opportunity, reserved
from tests.ui.trading import traded


@pytest.fixture
async def three_traded(store: MongoTradeStore) -> None:
    for number in range(3):
        await traded(store, opportunity(f"id-{number}", number))


async def rows_of(api: httpx.AsyncClient, path: str) -> list[dict[str, str]]:
    answer = (await api.get(path)).raise_for_status()
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


async def table_of(api: httpx.AsyncClient, path: str) -> list[dict[str, object]]:
    answer = (await api.get(path)).raise_for_status()
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    rows: list[dict[str, object]] = pq.read_table(io.BytesIO(answer.content)).to_pylist()
    return rows


@pytest.mark.usefixtures("three_traded")
async def test_the_arbitrages_of_both_files_sum_to_the_profit_and_loss(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    await reserved(store, opportunity("open", 9), "0.1")
    rows, table = await rows_of(api, "/api/arbitrages.csv"), await table_of(api, "/api/arbitrages.parquet")
    whole = (await api.get("/api/pnl")).json()
    for part in PROFIT_PARTS:
        assert sum(Decimal(row[part]) for row in rows if row[part]) == Decimal(whole[part])
        assert sum(Decimal(str(row[part])) for row in table if row[part] is not None) == Decimal(whole[part])
    assert [row["arbitrage_id"] for row in rows] == [row["arbitrage_id"] for row in table]
    assert [(row["state"], row["net"]) for row in rows] == [("closed", "1")] * 3 + [("reserved", "")]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", rows[0]["ended_at"])


@pytest.mark.usefixtures("three_traded")
async def test_the_trades_of_both_files_are_those_of_the_list(api: httpx.AsyncClient) -> None:
    rows, table = await rows_of(api, "/api/trades.csv"), await table_of(api, "/api/trades.parquet")
    listed = (await api.get("/api/trades")).json()["items"][::-1]
    names = ("fill_id", "arbitrage_id", "role", "exchange", "price", "amount", "cost", "fee", "fee_currency", "base")
    assert [[row[name] for name in names] for row in rows] == [[row[name] for name in names] for row in listed]
    assert [[row[name] for name in names] for row in table] == [[row[name] for name in names] for row in listed]
    assert rows[0]["filled_at"] == "2023-11-14T22:13:20.000000Z"


@pytest.mark.usefixtures("three_traded")
async def test_a_file_is_named_after_session_and_time_and_filtered_like_the_list(api: httpx.AsyncClient) -> None:
    answer = await api.get("/api/trades.csv", params={"exchange": "beta"})
    name = r'attachment; filename="trades_session-1_\d{8}T\d{6}Z\.csv"'
    assert re.fullmatch(name, answer.headers["content-disposition"])
    assert {row["exchange"] for row in csv.DictReader(io.StringIO(answer.text))} == {"beta"}
    assert await rows_of(api, "/api/arbitrages.csv?strategy=ma") == []
    assert await table_of(api, "/api/arbitrages.parquet?base=EUR") == []


@pytest.mark.usefixtures("three_traded")
async def test_no_text_of_an_exchange_becomes_a_formula(
    api: httpx.AsyncClient, store: MongoTradeStore, mongodb_uri: str
) -> None:
    client = connect(mongodb_uri)
    evil = '=HYPERLINK("http://x","y")'
    database = client[store._database.name]
    await database[FILLS].update_many({"exchange": "alpha"}, {"$set": {"fill_id": evil, "fee": "-0.05"}})
    client.close()
    rows = [row for row in await rows_of(api, "/api/trades.csv") if row["exchange"] == "alpha"]
    assert {(row["fill_id"], row["fee"]) for row in rows} == {(f"'{evil}", "-0.05")}
