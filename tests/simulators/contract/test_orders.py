"""Orders of every kind through ccxt's own methods: what fills, what rests, what is held, paid and given back."""

from decimal import Decimal
from uuid import uuid4

import ccxt
import pytest

from market.instruments.orders import Side
from market.money import decimal_of, floor_to_step
from tests.simulators.contract.abilities import CLIENT_IDS, IMMEDIATE, NO_HYPHENS, TOO_SMALL, everywhere, having, on
from tests.simulators.contract.bench import AMOUNT, Bench, Row, assert_balances_follow, assert_trades_equal

both_sides = pytest.mark.parametrize("side", ["buy", "sell"])


@both_sides
@everywhere
async def test_a_resting_order_holds_until_it_is_cancelled(bench: Bench, side: Side) -> None:
    price = bench.out_of_reach(side)
    ticks, lots = bench.listing.ticks(price), bench.listing.lots(AMOUNT)
    currency, held = bench.listing.hold(side, ticks, lots)
    before = await bench.totals()
    order_id = await bench.post(side, AMOUNT, price)
    assert await bench.open_orders() == [order_id]
    row = await bench.order(order_id)
    assert row["status"] == "open"
    # Bitstamp says what remains, which ccxt ignores before the first fill
    assert row["filled"] == (None if bench.market.exchange == "bitstamp" else 0)
    balance = await bench.client.fetch_balance()
    assert float(balance[currency]["used"]) == pytest.approx(float(held), rel=1e-9)
    assert float(balance[currency]["free"]) == pytest.approx(float(before[currency] - held), rel=1e-12)
    assert decimal_of(balance[currency]["total"]) == before[currency]
    await bench.cancel(order_id)
    assert await bench.open_orders() == []
    assert (await bench.order(order_id))["status"] == "canceled"
    balance = await bench.client.fetch_balance()
    assert (balance[currency]["used"], decimal_of(balance[currency]["free"])) == (0, before[currency])


@both_sides
@everywhere
async def test_an_immediate_order_takes_what_its_limit_lets_it(bench: Bench, side: Side) -> None:
    """It takes the whole best level, and nothing beyond it; the rest is cancelled at once."""
    price, shown = bench.best("sell" if side == "buy" else "buy")
    before = await bench.totals()
    order_id = await bench.post(side, shown + AMOUNT, price, IMMEDIATE[bench.market.exchange])
    row = await bench.order(order_id)
    assert row["status"] in ("canceled", "expired", "closed")
    assert decimal_of(row["filled"]) == shown
    assert await bench.open_orders() == []
    assert {fill.price for fill in bench.fills()} == {price}
    assert_trades_equal(await bench.client.fetch_my_trades(bench.symbol), bench.fills())
    assert_balances_follow(before, await bench.totals(), bench.fills())


@both_sides
@everywhere
async def test_a_market_order_walks_the_book(bench: Bench, side: Side) -> None:
    opposite: Side = "sell" if side == "buy" else "buy"
    _, shown = bench.best(opposite)
    expected = bench.standing(opposite, 2)
    before = await bench.totals()
    order_id = await bench.post(side, shown + Decimal("0.00001"), None)
    row = await bench.order(order_id)
    assert (row["status"], decimal_of(row["filled"])) == ("closed", shown + Decimal("0.00001"))
    assert [fill.price for fill in bench.fills()] == list(expected)
    assert_trades_equal(await bench.client.fetch_my_trades(bench.symbol), bench.fills())
    assert_balances_follow(before, await bench.totals(), bench.fills())


@both_sides
@pytest.mark.parametrize("base", ["ETH", "XRP", "DOGE", "JASMY"])
@everywhere
async def test_other_assets_trade_under_the_exchanges_own_names_and_in_its_steps(
    bench: Bench, base: str, side: Side
) -> None:
    coin = bench.on(base)
    amount = 10 * coin.market.minimum_amount
    before = await coin.totals()
    order_id = await coin.post(side, amount, None)
    row = await coin.order(order_id)
    assert (row["status"], decimal_of(row["filled"])) == ("closed", amount)
    assert {fill.symbol for fill in coin.fills()} == {coin.symbol}
    assert_trades_equal(await coin.client.fetch_my_trades(coin.symbol), coin.fills())
    assert_balances_follow(before, await coin.totals(), coin.fills())


@everywhere
async def test_the_rest_of_a_partial_fill_rests(bench: Bench) -> None:
    price, shown = bench.best("sell")
    before = await bench.totals()
    order_id = await bench.post("buy", shown + AMOUNT, price)
    row = await bench.order(order_id)
    assert (row["status"], decimal_of(row["filled"])) == ("open", shown)
    # ccxt reads no amount out of Bitstamp's answer
    assert bench.market.exchange == "bitstamp" or decimal_of(row["amount"]) == shown + AMOUNT
    assert await bench.open_orders() == [order_id]
    assert bench.best("buy") == (price, AMOUNT)
    currency, held = bench.listing.hold("buy", bench.listing.ticks(price), bench.listing.lots(AMOUNT))
    balance = await bench.client.fetch_balance()
    assert float(balance[currency]["used"]) == pytest.approx(float(held), rel=1e-9)
    await bench.cancel(order_id)
    row = await bench.order(order_id)
    # ccxt takes Bybit's PartiallyFilledCanceled for closed
    ended = "closed" if bench.market.exchange == "bybit" else "canceled"
    assert (row["status"], decimal_of(row["filled"])) == (ended, shown)
    assert_balances_follow(before, await bench.totals(), bench.fills())


@everywhere
async def test_a_resting_order_is_filled_by_the_market_passing_by(bench: Bench) -> None:
    price, _ = bench.best("buy")
    before = await bench.totals()
    order_id = await bench.post("buy", AMOUNT, price)
    bench.tick_until(lambda: not bench.exchange.customer.open_orders())
    row = await bench.order(order_id)
    assert (row["status"], decimal_of(row["filled"])) == ("closed", AMOUNT)
    fills = bench.fills()
    assert {(fill.price, fill.liquidity) for fill in fills} == {(price, "maker")}
    assert_trades_equal(await bench.client.fetch_my_trades(bench.symbol), fills)
    assert_balances_follow(before, await bench.totals(), fills)


@on(*CLIENT_IDS)
@pytest.mark.parametrize("rests", [True, False])
async def test_an_order_is_found_by_the_clients_own_id(bench: Bench, rests: bool) -> None:
    client_id = _client_id(bench)
    price = bench.out_of_reach("buy") if rests else bench.best("sell")[0]
    order_id = await bench.post("buy", AMOUNT, price, {"clientOrderId": client_id})
    row = await _found(bench, client_id)
    assert (str(row["id"]), row["clientOrderId"]) == (order_id, client_id)
    assert row["status"] == ("open" if rests else "closed")


def _client_id(bench: Bench) -> str:
    return uuid4().hex if bench.market.exchange in NO_HYPHENS else str(uuid4())


async def _found(bench: Bench, client_id: str) -> Row:
    """Return the order by its client id. ccxt's fetch_order on Kraken sends the id as another field; its lists of
    orders send the right one."""
    # ccxt translates it for new orders alone on Bybit
    name = "orderLinkId" if bench.market.exchange == "bybit" else "clientOrderId"
    parameters = {name: client_id}
    if bench.market.exchange != "kraken":
        row: Row = await bench.client.fetch_order("", bench.symbol, parameters)
        return row
    rows: list[Row] = await bench.client.fetch_open_orders(bench.symbol, None, None, parameters)
    rows = rows or await bench.client.fetch_closed_orders(bench.symbol, None, None, parameters)
    [row] = rows
    return row


@on(*CLIENT_IDS)
async def test_a_client_id_is_not_used_twice(bench: Bench) -> None:
    parameters = {"clientOrderId": _client_id(bench)}
    order_id = await bench.post("buy", AMOUNT, bench.out_of_reach("buy"), parameters)
    with pytest.raises(ccxt.ExchangeError):
        await bench.post("buy", AMOUNT, bench.out_of_reach("buy"), parameters)
    assert await bench.open_orders() == [order_id]


@everywhere
async def test_orders_that_cannot_be_are_rejected(bench: Bench) -> None:
    before = await bench.totals()
    price, _ = bench.best("sell")
    # bitFlyer's rejections are plain ExchangeErrors in ccxt
    is_named = bench.market.exchange != "bitflyer"
    with pytest.raises(ccxt.InsufficientFunds if is_named else ccxt.ExchangeError):
        await bench.post("buy", Decimal(100), bench.out_of_reach("buy"))
    with pytest.raises(TOO_SMALL.get(bench.market.exchange, ccxt.InvalidOrder)):
        await bench.post("buy", _too_little(bench, price), price)
    assert bench.exchange.customer.orders == {}
    assert await bench.totals() == before


def _too_little(bench: Bench, price: Decimal) -> Decimal:
    """Return an amount below the exchange's least, in whole lots."""
    market = bench.market
    least = max(market.minimum_amount, market.minimum_notional / price)
    return max(floor_to_step(least / 2, market.lot_step), market.lot_step)


@everywhere
async def test_an_order_nobody_placed_is_not_found(bench: Bench) -> None:
    with pytest.raises(ccxt.ExchangeError):
        await bench.client.fetch_order("987654321", bench.symbol)


@everywhere
async def test_what_has_ended_is_not_cancelled(bench: Bench) -> None:
    price, _ = bench.best("sell")
    order_id = await bench.post("buy", AMOUNT, price, IMMEDIATE[bench.market.exchange])
    if bench.market.exchange == "bitflyer":
        # it answers 200 whatever order it gets
        await bench.cancel(order_id)
    else:
        with pytest.raises(ccxt.ExchangeError):
            await bench.cancel(order_id)
    assert (await bench.order(order_id))["status"] == "closed"


@having("fetchTradingFee")
async def test_the_fee_of_a_market_is_the_accounts_own(bench: Bench) -> None:
    _assert_rates(bench, await bench.client.fetch_trading_fee(bench.symbol))


@having("fetchTradingFees")
async def test_the_fees_are_the_accounts_own(bench: Bench) -> None:
    _assert_rates(bench, (await bench.client.fetch_trading_fees())[bench.symbol])


def _assert_rates(bench: Bench, row: Row) -> None:
    # ccxt leaves Bitstamp's as percent
    scale = 100 if bench.market.exchange == "bitstamp" else 1
    assert decimal_of(row["maker"]) == bench.listing.maker_rate * scale
    assert decimal_of(row["taker"]) == bench.listing.taker_rate * scale
