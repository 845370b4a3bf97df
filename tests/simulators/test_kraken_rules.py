"""Kraken's rules as its documents have them: the rate counter of orders, the fields that clients send, edits."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import ccxt
import pytest

from market.money import decimal_of
from simulators.kraken.limits import AMENDED, CANCELLED, EDITED, KrakenEngineLimits, Penalties
from simulators.matching.order_records import RequestRejectedError, SimulatedOrder
from tests.exchanges.stepped_clock import SteppedClock
from tests.simulators.contract.bench import Bench
from tests.simulators.test_kraken_gateway import bench, limit_order, resting
from tests.simulators.test_rate_guard import limited, taken

__all__ = ["bench"]


def order_at(placed_at: int) -> SimulatedOrder:
    return SimulatedOrder("O", 1, None, "BTC/USD", "buy", Decimal(1), Decimal(1), immediate=False, placed_at=placed_at)


@pytest.mark.parametrize(
    ("penalties", "points_by_age"),
    [
        (CANCELLED, {0: 8, 4.9: 8, 5: 6, 9.9: 6, 10: 5, 15: 4, 44: 4, 45: 2, 89: 2, 90: 1, 299: 1, 300: 0}),
        (EDITED, {0: 6, 5: 5, 10: 4, 15: 2, 45: 1, 89: 1, 90: 0}),
        (AMENDED, {0: 3, 5: 2, 10: 1, 14.9: 1, 15: 0}),
    ],
)
def test_changing_an_order_costs_by_its_age(penalties: Penalties, points_by_age: dict[float, int]) -> None:
    for seconds, points in points_by_age.items():
        clock = SteppedClock()
        limits, order = KrakenEngineLimits(clock), order_at(clock.now())
        clock.advance(seconds)
        limits.penalize(order, penalties)
        assert limits.level(order.symbol) == points, seconds


def test_an_amended_order_is_young_again() -> None:
    clock = SteppedClock()
    limits, order = KrakenEngineLimits(clock), order_at(clock.now())
    clock.advance(400)
    limits.penalize(order, AMENDED)
    clock.advance(6)
    assert limits.level(order.symbol) == 0
    limits.penalize(order, CANCELLED)
    assert limits.level(order.symbol) == 6


def test_each_market_counts_for_itself() -> None:
    limits = KrakenEngineLimits(SteppedClock())
    for _ in range(125):
        limits.take("BTC/USD")
    with pytest.raises(RequestRejectedError):
        limits.take("BTC/USD")
    limits.take("EUR/USD")


async def test_orders_that_are_cancelled_at_once_fill_the_counter(tmp_path: Path) -> None:
    """Each costs nine points with the order: 14 rounds, while 125 orders could rest."""

    async def place_and_cancel(client: Any) -> None:
        order = {"pair": "XBTUSD", "type": "buy", "ordertype": "limit", "price": "1", "volume": "1"}
        row = await client.privatePostAddOrder(order)
        await client.privatePostCancelOrder({"txid": row["result"]["txid"][0]})

    async with limited("kraken", tmp_path) as at:
        rounds, error = await taken(place_and_cancel, at.client, 30)
        assert (rounds, "EOrder:Rate limit exceeded" in str(error)) == (14, True)
        at.clock.advance(1)
        assert await taken(place_and_cancel, at.client, 1) == (1, None)


@pytest.mark.parametrize(
    "fields",
    [
        {"broker": "partner"},
        {"asset_class": "currency"},
        {"position": "0"},
        {"close": "{}"},
        {"leverage": "none", "position": "none"},
    ],
)
async def test_fields_of_other_clients_are_read(bench: Bench, fields: dict[str, str]) -> None:
    row = await bench.client.privatePostAddOrder(limit_order(bench) | fields)
    assert [order.order_id for order in bench.exchange.customer.open_orders()] == row["result"]["txid"]


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("privatePostTradesHistory", {"consolidate_taker": "true", "rebase_multiplier": "rebased"}),
        ("privatePostClosedOrders", {"consolidate_taker": "true", "rebase_multiplier": "base"}),
        ("privatePostOpenOrders", {"rebase_multiplier": "rebased"}),
        ("privatePostBalance", {"rebase_multiplier": "rebased"}),
        ("privatePostBalanceEx", {"rebase_multiplier": "rebased"}),
        ("privatePostLedgers", {"rebase_multiplier": "rebased"}),
        ("publicGetTicker", {"pair": "XBTUSD", "asset_class": "forex"}),
        ("publicGetDepth", {"pair": "XBTUSD", "asset_class": "forex"}),
        ("publicGetTrades", {"pair": "XBTUSD", "asset_class": "forex"}),
        ("publicGetOHLC", {"pair": "XBTUSD", "asset_class": "forex"}),
        ("publicGetAssetPairs", {"aclass_base": "currency", "country_code": "US:TX"}),
    ],
)
async def test_fields_of_reads_are_read(bench: Bench, method: str, fields: dict[str, str]) -> None:
    answer = await getattr(bench.client, method)(fields)
    assert answer["error"] == []
    assert answer["result"]


async def test_there_are_no_tokenized_shares(bench: Bench) -> None:
    answer = await bench.client.publicGetAssetPairs({"aclass_base": "tokenized_asset"})
    assert answer["result"] == {}


async def test_the_trade_balance_is_what_all_is_worth(bench: Bench) -> None:
    dollars = (await bench.client.privatePostTradeBalance())["result"]
    assert dollars["eb"] == dollars["tb"] == dollars["e"] == dollars["mf"]
    assert dollars["m"] == "0.0000"
    coins = (await bench.client.privatePostTradeBalance({"asset": "XBT"}))["result"]
    price, _ = bench.best("buy")
    assert decimal_of(coins["eb"]) == pytest.approx(decimal_of(dollars["eb"]) / price, rel=Decimal("1e-6"))


async def test_an_edit_is_another_order_with_the_rest_unchanged(bench: Bench) -> None:
    [old] = await resting(bench, 1)
    price = bench.out_of_reach("buy") - 100
    row = (await bench.client.privatePostEditOrder({"pair": "XBTUSD", "txid": old, "price": str(price)}))["result"]
    assert (row["status"], row["originaltxid"], int(row["orders_cancelled"])) == ("ok", old, 1)
    [new] = bench.exchange.customer.open_orders()
    assert (new.order_id, new.price, new.amount, new.side) == (row["txid"], price, Decimal("0.01"), "buy")
    assert row["descr"]["order"] == f"buy 0.01000000 XBTUSD @ limit {price}"
    assert bench.exchange.customer.order(old).state == "cancelled"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"txid": "OAAAAA-AAAAA-AAAAAA", "price": "1"}, "EOrder:Unknown order"),
        ({"price": "-1"}, "EGeneral:Invalid arguments:price"),
        ({"volume": "0.00000001"}, "EOrder:Order minimum not met"),
        ({"volume": "10000"}, "EOrder:Insufficient funds"),
        ({"cl_ord_id": "mine"}, "EGeneral:Invalid arguments:cl_ord_id"),
    ],
)
async def test_an_edit_that_is_rejected_changes_nothing(bench: Bench, fields: dict[str, str], words: str) -> None:
    [old] = await resting(bench, 1)
    with pytest.raises(ccxt.BaseError, match=words):
        await bench.client.privatePostEditOrder({"pair": "XBTUSD", "txid": old, **fields})
    assert [order.order_id for order in bench.exchange.customer.open_orders()] == [old]


async def test_an_edit_that_is_only_checked_changes_nothing(bench: Bench) -> None:
    [old] = await resting(bench, 1)
    await bench.client.privatePostEditOrder({"pair": "XBTUSD", "txid": old, "volume": "0.02", "validate": "true"})
    assert [order.order_id for order in bench.exchange.customer.open_orders()] == [old]
