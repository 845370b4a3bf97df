"""Orders that ccxt edits: what comes of the old one, and what stands after it."""

from typing import Any

import ccxt
import pytest

from tests.simulators.contract.abilities import on
from tests.simulators.contract.bench import AMOUNT, Bench

EDITED = ("bitstamp", "kraken", "binance", "bybit", "okx")
KEEPING = ("bitstamp", "kraken")
"""Exchanges on which the old order stays when the new terms are rejected. Binance has cancelled it by then."""


@on(*EDITED)
async def test_an_edited_order_has_the_new_terms(bench: Bench) -> None:
    price = bench.out_of_reach("buy")
    order_id = await bench.post("buy", AMOUNT, price)
    lower = price - bench.market.tick_size
    edited = await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", float(2 * AMOUNT), float(lower))
    [order] = bench.exchange.customer.open_orders()
    assert (order.amount, order.price) == (2 * AMOUNT, lower)
    assert bench.market.exchange == "kraken" or edited["id"] == order.order_id
    assert await bench.open_orders() == [order.order_id]
    assert bench.exchange.books[bench.symbol].lots_at("buy", bench.listing.ticks(lower)) == bench.listing.lots(
        2 * AMOUNT
    )
    assert bench.exchange.books[bench.symbol].lots_at("buy", bench.listing.ticks(price)) == 0


@on(*KEEPING)
async def test_an_order_stays_as_it_is_where_its_new_terms_are_rejected(bench: Bench) -> None:
    price = bench.out_of_reach("buy")
    order_id = await bench.post("buy", AMOUNT, price)
    with pytest.raises(ccxt.InsufficientFunds):
        await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", 1_000, float(price))
    assert await bench.open_orders() == [order_id]
    assert (await bench.order(order_id))["status"] == "open"


@on("kraken", "bitstamp", "binance")
async def test_an_order_can_use_what_the_one_before_it_held(bench: Bench) -> None:
    price = bench.out_of_reach("buy")
    owned = bench.exchange.customer.balances[bench.market.quote_currency]
    most = bench.listing.amount(bench.listing.lots(owned * 9 / 10 / price))
    order_id = await bench.post("buy", most, price)
    await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", float(most - AMOUNT), float(price))
    [order] = bench.exchange.customer.open_orders()
    assert order.amount == most - AMOUNT


@on("binance")
async def test_binance_says_which_half_of_a_replacement_failed(bench: Bench) -> None:
    price = float(bench.out_of_reach("buy"))
    order_id = await bench.post("buy", AMOUNT, bench.out_of_reach("buy"))
    with pytest.raises(ccxt.ExchangeError, match=r"-2021.*insufficient balance"):
        await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", 120, price)
    assert await bench.open_orders() == []
    with pytest.raises(ccxt.ExchangeError, match=r"-2022.*NOT_ATTEMPTED"):
        await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", 0.01, price)


@on("binance")
async def test_binance_takes_orders_over_its_socket(bench: Bench) -> None:
    client, price = bench.client, float(bench.out_of_reach("buy"))
    placed: dict[str, Any] = await client.create_order_ws(bench.symbol, "limit", "buy", float(AMOUNT), price)
    assert await bench.open_orders() == [placed["id"]]
    edited = await client.edit_order_ws(placed["id"], bench.symbol, "limit", "buy", float(2 * AMOUNT), price)
    assert await bench.open_orders() == [edited["id"]]
    assert (await client.fetch_order_ws(edited["id"], bench.symbol))["amount"] == float(2 * AMOUNT)
    await client.cancel_order_ws(edited["id"], bench.symbol)
    assert await bench.open_orders() == []
    with pytest.raises(ccxt.InsufficientFunds):
        await client.create_order_ws(bench.symbol, "limit", "buy", 120, price)


@on("bitstamp")
async def test_an_order_that_may_only_make_takes_nothing(bench: Bench) -> None:
    with pytest.raises(ccxt.ExchangeError):
        await bench.post("buy", AMOUNT, bench.best("sell")[0], {"moc_order": "True"})
    assert bench.fills() == []
    order_id = await bench.post("buy", AMOUNT, bench.best("buy")[0], {"moc_order": "True"})
    assert await bench.open_orders() == [order_id]
