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
from tests.ui.trading import made_worst, traded


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
async def test_a_file_has_what_each_leg_filled_at_which_price_and_third_orders(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    await made_worst(store, "id-1")
    await reserved(store, opportunity("open", 9), "0.1")
    rows, table = await rows_of(api, "/api/arbitrages.csv"), await table_of(api, "/api/arbitrages.parquet")
    names = ("buy_filled", "buy_price", "sell_filled", "sell_price", "outcome", "third_orders")
    third = "complete sell 0.5 at 101 on beta"
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("0.5", "100", "0.5", "101", "closed", ""),
        ("0.5", "100", "0.5", "101", "closed_by_third_order", third),
        ("0.5", "100", "0.5", "101", "closed", ""),
        ("0", "", "0", "", "reserved", ""),
    ]
    assert [row["third_orders"] for row in table] == ["", third, "", ""]
    only = await rows_of(api, "/api/arbitrages.csv?third_order=true")
    assert [(row["arbitrage_id"], row["unwinding"]) for row in only] == [("id-1", "-3.5")]
    fills = await rows_of(api, "/api/trades.csv?third_order=true")
    assert [(row["outcome"], row["arbitrage_net"]) for row in fills] == [("closed_by_third_order", "-2.5")] * 2


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
