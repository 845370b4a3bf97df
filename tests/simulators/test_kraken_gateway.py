"""Kraken's REST answers: shapes as recorded, rejections in its own words, pages, tiers, and nonces that must grow."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import ccxt
import pytest

from exchanges.credentials import Credentials, load_credentials
from simulators.catalogue import terms_of
from simulators.kraken.rows import fee_rows
from tests.simulators.contract.bench import Bench, opened
from tests.simulators.wire_recordings import answer, has_shape

RECORDED = "xchange-kraken"
CLIENT_ID = "5d2f8a52-0000-4000-8000-000000000001"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened("kraken", tmp_path) as bench:
        yield bench


def limit_order(bench: Bench, price: Decimal | None = None, **fields: str) -> dict[str, str]:
    price = bench.out_of_reach("buy") if price is None else price
    order = {"pair": "XBTUSD", "type": "buy", "ordertype": "limit", "volume": "0.01", "price": str(price)}
    return order | fields


async def resting(bench: Bench, count: int) -> list[str]:
    """Return the names of as many orders, oldest first."""
    placed = [await bench.client.privatePostAddOrder(limit_order(bench)) for _ in range(count)]
    return [row["result"]["txid"][0] for row in placed]


async def test_public_answers_have_the_shape_of_recorded_ones(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    client = bench.client
    for name, question, file in (
        ("Time", {}, "servertime"),
        ("Ticker", {"pair": "XBTUSD"}, "ticker"),
        ("Depth", {"pair": "XBTUSD"}, "depth"),
        ("Trades", {"pair": "XBTUSD"}, "trades"),
    ):
        expected = answer(f"{RECORDED}/marketdata/example-{file}-data.json")
        got = await getattr(client, f"publicGet{name}")(question)
        rows = [value for key, value in expected["result"].items() if key != "last"]
        seen = [value for key, value in got["result"].items() if key != "last"]
        assert len(seen) == len(rows)
        assert has_shape(seen[0], rows[0])
    pairs = answer(f"{RECORDED}/marketdata/example-assetpairs-data.json")["result"]
    mine = (await client.publicGetAssetPairs({"pair": "XBTUSD"}))["result"]
    assert has_shape(mine["XXBTZUSD"], pairs["XXBTZUSD"])
    assets = answer(f"{RECORDED}/marketdata/example-assets-data.json")["result"]
    mine = (await client.publicGetAssets({"asset": "XBT"}))["result"]
    assert has_shape(mine["XXBT"], assets["XXBT"])
    assert (mine["XXBT"]["altname"], mine["XXBT"]["decimals"]) == ("XBT", assets["XXBT"]["decimals"])
    assert (await client.fetch_status())["status"] == "ok"


async def test_the_accounts_answers_have_the_shape_of_recorded_ones(bench: Bench) -> None:
    client, (price, _) = bench.client, bench.best("sell")
    placed = await client.privatePostAddOrder(limit_order(bench, price))
    expected = answer(f"{RECORDED}/trading/example-addorder-response-data.json")
    assert has_shape(placed["result"], expected["result"])
    assert placed["result"]["descr"]["order"] == f"buy 0.01000000 XBTUSD @ limit {price}"
    [name] = placed["result"]["txid"]
    rows = (await client.privatePostQueryOrders({"txid": name, "trades": "true"}))["result"]
    [recorded] = answer(f"{RECORDED}/order/example-market-ask-order.json")["result"].values()
    assert has_shape(rows[name], recorded)
    assert (rows[name]["status"], rows[name]["vol_exec"]) == ("closed", "0.01000000")
    history = (await client.privatePostTradesHistory())["result"]
    recorded, *_ = answer(f"{RECORDED}/trading/example-tradehistory-data.json")["result"]["trades"].values()
    assert has_shape(history["trades"][rows[name]["trades"][0]], recorded)
    [standing] = await resting(bench, 1)
    rows = (await client.privatePostOpenOrders())["result"]["open"]
    recorded, *_ = answer(f"{RECORDED}/trading/example-openorders-data.json")["result"]["open"].values()
    assert has_shape(rows[standing], recorded)
    assert "trades" not in rows[standing]
    cancelled = await client.privatePostCancelOrder({"txid": standing})
    assert has_shape(cancelled, answer(f"{RECORDED}/trading/example-cancelorder-data.json"))


@pytest.mark.parametrize(
    ("fields", "text", "error"),
    [
        ({"volume": "900"}, "EOrder:Insufficient funds", ccxt.InsufficientFunds),
        ({"volume": "0.00001"}, "EOrder:Order minimum not met", ccxt.InvalidOrder),
        ({"volume": "x"}, "EGeneral:Invalid arguments:volume", ccxt.InvalidOrder),
        ({"volume": "0.010000001"}, "EGeneral:Invalid arguments:volume", ccxt.InvalidOrder),
        ({"volume": "1e999999"}, "EGeneral:Invalid arguments:volume", ccxt.InvalidOrder),
        ({"price": "1e999999"}, "EGeneral:Invalid arguments:price", ccxt.InvalidOrder),
        ({"price": "-1"}, "EGeneral:Invalid arguments:price", ccxt.InvalidOrder),
        ({"price": "30000.01"}, "XBTUSD price can only be specified up to 1 decimals.", ccxt.ExchangeError),
        ({"pair": "XBTABC"}, "EQuery:Unknown asset pair", ccxt.ExchangeError),
        ({"ordertype": "trailing-stop"}, "EGeneral:Invalid arguments:ordertype", ccxt.ExchangeError),
        ({"timeinforce": "GTD"}, "EGeneral:Invalid arguments:timeinforce", ccxt.ExchangeError),
        ({"oflags": "viqc"}, "EGeneral:Invalid arguments:oflags", ccxt.ExchangeError),
        ({"cl_ord_id": "no id of this length is"}, "EGeneral:Invalid arguments:cl_ord_id", ccxt.ExchangeError),
        ({"deadline": "soon"}, "EGeneral:Invalid arguments:deadline", ccxt.ExchangeError),
        ({"deadline": "2020-01-01T00:00:00"}, "EGeneral:Invalid arguments:deadline", ccxt.ExchangeError),
        ({"deadline": "2100-01-01T00:00:00Z"}, "EGeneral:Invalid arguments:deadline", ccxt.ExchangeError),
        ({"deadline": "2020-01-01T00:00:00Z"}, "EService:Deadline elapsed", ccxt.ExchangeError),
        ({"userref": "seven"}, "EGeneral:Invalid arguments:userref", ccxt.ExchangeError),
        ({"client_oid": CLIENT_ID}, "EGeneral:Invalid arguments:client_oid", ccxt.ExchangeError),
    ],
)
async def test_orders_it_does_not_take(
    bench: Bench, fields: dict[str, str], text: str, error: type[ccxt.BaseError]
) -> None:
    with pytest.raises(error) as rejected:
        await bench.client.privatePostAddOrder(limit_order(bench) | fields)
    assert text in str(rejected.value)
    assert bench.exchange.customer.orders == {}


async def test_an_order_before_its_deadline_is_taken(bench: Bench) -> None:
    moment = datetime.fromtimestamp(bench.exchange.clock.now() / 1_000_000 + 30, UTC)
    deadline = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    await bench.client.privatePostAddOrder(limit_order(bench, deadline=deadline))
    assert len(bench.exchange.customer.orders) == 1


async def test_a_post_only_order_that_would_trade_is_rejected(bench: Bench) -> None:
    (bid, _), (ask, _) = bench.best("buy"), bench.best("sell")
    with pytest.raises(ccxt.ExchangeError, match="EOrder:Post only order"):
        await bench.client.create_order(bench.symbol, "limit", "buy", 0.01, float(ask), {"postOnly": True})
    placed = await bench.client.create_order(bench.symbol, "limit", "buy", 0.01, float(bid), {"postOnly": True})
    assert await bench.open_orders() == [placed["id"]]


async def test_a_client_id_serves_again_once_its_order_has_ended(bench: Bench) -> None:
    client, order = bench.client, limit_order(bench, cl_ord_id=CLIENT_ID)
    names = [(await client.privatePostAddOrder(order))["result"]["txid"][0]]
    with pytest.raises(ccxt.InvalidOrder, match="already in use"):
        await client.privatePostAddOrder(order)
    opened = (await client.privatePostOpenOrders({"cl_ord_id": CLIENT_ID}))["result"]["open"]
    assert list(opened) == names
    assert opened[names[0]]["cl_ord_id"] == CLIENT_ID
    await client.cancel_order("", bench.symbol, {"clientOrderId": CLIENT_ID})
    with pytest.raises(ccxt.OrderNotFound):
        await client.cancel_order("", bench.symbol, {"clientOrderId": CLIENT_ID})
    names.append((await client.privatePostAddOrder(order))["result"]["txid"][0])
    await client.privatePostCancelAll()
    closed = (await client.privatePostClosedOrders({"cl_ord_id": CLIENT_ID}))["result"]
    assert (list(closed["closed"]), closed["count"]) == (names[::-1], 2)
    assert {row["reason"] for row in closed["closed"].values()} == {"User requested"}


async def test_orders_and_fills_come_in_pages(bench: Bench) -> None:
    client, exchange = bench.client, bench.exchange
    names = await resting(bench, 53)
    await client.privatePostCancelAll()
    first = (await client.privatePostClosedOrders())["result"]
    assert (list(first["closed"]), first["count"]) == (names[:2:-1], 53)
    second = (await client.privatePostClosedOrders({"ofs": "50", "without_count": "true"}))["result"]
    assert list(second["closed"]) == names[2::-1]
    assert "count" not in second
    # an order's own name stands for its time
    later = (await client.privatePostClosedOrders({"start": names[50], "closetime": "open"}))["result"]
    assert list(later["closed"]) == names[:50:-1]
    assert exchange.customer.open_orders() == []
    with pytest.raises(ccxt.ExchangeError, match="Invalid arguments:ofs"):
        await client.privatePostTradesHistory({"ofs": "x"})


async def test_trades_since(bench: Bench) -> None:
    tape = bench.exchange.tape
    bench.tick_until(lambda: len(tape.newest(bench.symbol, 9)) == 9)
    trades = tape.newest(bench.symbol, 9)[::-1]
    middle = trades[4].traded_at
    later = [trade.number for trade in trades if trade.traded_at > middle]
    for since in (str(middle * 1_000), f"{middle / 1e6:.6f}"):
        rows = (await bench.client.publicGetTrades({"pair": "XBTUSD", "since": since}))["result"]
        assert [row[6] for row in rows["XXBTZUSD"]] == later
        assert rows["last"] == str(trades[-1].traded_at * 1_000)
    for since in ("1e999999", "-1", "x"):
        with pytest.raises(ccxt.ExchangeError, match="Invalid arguments:since"):
            await bench.client.publicGetTrades({"pair": "XBTUSD", "since": since})
    rows = (await bench.client.publicGetTrades({"pair": "XBTUSD", "count": "2"}))["result"]
    assert [row[6] for row in rows["XXBTZUSD"]] == [trade.number for trade in trades[-2:]]


def test_fees_say_where_the_next_tier_begins() -> None:
    tiers = terms_of("kraken").tiers
    for place, tier in enumerate(tiers):
        rows = fee_rows("kraken", tier.volume)
        assert Decimal(rows["fees"]["fee"] or 0) == tier.taker * 100
        assert Decimal(rows["fees_maker"]["fee"] or 0) == tier.maker * 100
        following = rows["fees"]["nextvolume"]
        assert following == (f"{tiers[place + 1].volume}.0000" if place + 1 < len(tiers) else None)


async def test_an_unknown_method(bench: Bench) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{bench.outside.url}/kraken/0/public/Spread") as reply:
        assert (reply.status, await reply.json()) == (200, {"error": ["EGeneral:Unknown method"]})


async def test_a_nonce_must_be_above_the_last_one(bench: Bench) -> None:
    keys, url = load_credentials(bench.outside.home, "kraken"), f"{bench.outside.url}/kraken"

    async def errors(nonce: int, key: str = keys.api_key, secret: str = keys.secret) -> list[str]:
        body, headers = _signed("/0/private/Balance", nonce, Credentials(key, secret))
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/0/private/Balance", data=body, headers=headers) as reply,
        ):
            answered: list[str] = (await reply.json())["error"]
            return answered

    assert await errors(10) == []
    assert await errors(10) == ["EAPI:Invalid nonce"]
    assert await errors(9) == ["EAPI:Invalid nonce"]
    assert await errors(12, key="nobody") == ["EAPI:Invalid key"]
    # a nonce that was not signed for is not used up
    assert await errors(12, secret="d3Jvbmc=") == ["EAPI:Invalid signature"]
    assert await errors(11) == []


def _signed(path: str, nonce: int, keys: Credentials) -> tuple[bytes, dict[str, str]]:
    body = urlencode({"nonce": nonce})
    digest = hashlib.sha256(f"{nonce}{body}".encode()).digest()
    signature = hmac.digest(base64.b64decode(keys.secret), path.encode() + digest, hashlib.sha512)
    headers = {"API-Key": keys.api_key, "API-Sign": base64.b64encode(signature).decode()}
    return body.encode(), headers | {"Content-Type": "application/x-www-form-urlencoded"}
