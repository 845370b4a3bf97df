"""How other people's clients write requests: where they put signatures, how they write times, paths and bodies."""

import base64
import hashlib
import hmac
import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from exchanges.credentials import Credentials
from market.time_units import MICROSECONDS
from tests.simulators.visitor import Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, Call, bitstamp_headers

WIRES = {wire.exchange: wire for wire in WIRE_CLIENTS}
ORDER = {
    "symbol": "BTCUSDT",
    "side": "BUY",
    "type": "LIMIT",
    "timeInForce": "GTC",
    "price": "50000",
    "quantity": "0.01",
}


def _hmac(secret: str, text: str) -> str:
    return hmac.digest(secret.encode(), text.encode(), "sha256").hex()


@pytest.mark.parametrize("is_in_body", [False, True])
async def test_binance_takes_a_signature_apart_from_the_order(is_in_body: bool, tmp_path: Path) -> None:
    """The order in the body; time and signature in the query, as pybotters sends them, or with the order."""
    async with visiting(tmp_path, WIRES["binance"]) as visitor:
        query, body = f"timestamp={visitor.clock.now() // 1_000}", urlencode(ORDER)
        signature = f"&signature={_hmac(visitor.keys.secret, query + body)}"
        path = f"/api/v3/order?{query}{'' if is_in_body else signature}"
        kind = {"Content-Type": "application/x-www-form-urlencoded", "X-MBX-APIKEY": visitor.keys.api_key}
        answer = await visitor.sent(Call("POST", path, body + (signature if is_in_body else ""), kind))
        assert (answer.status, answer.body["status"]) == (200, "NEW")


async def test_binance_rejects_a_signature_of_query_and_body_with_an_ampersand(tmp_path: Path) -> None:
    async with visiting(tmp_path, WIRES["binance"]) as visitor:
        query, body = f"timestamp={visitor.clock.now() // 1_000}", urlencode(ORDER)
        path = f"/api/v3/order?{query}&signature={_hmac(visitor.keys.secret, f'{query}&{body}')}"
        answer = await visitor.sent(Call("POST", path, body, {"X-MBX-APIKEY": visitor.keys.api_key}))
        assert (answer.status, answer.body["code"]) == (400, -1022)


def _coinbase(keys: Credentials, stamp: str, path: str) -> Call:
    secret = base64.b64decode(keys.secret)
    signature = base64.b64encode(hmac.digest(secret, f"{stamp}GET{path}".encode(), "sha256")).decode()
    values = {"KEY": keys.api_key, "PASSPHRASE": keys.password, "TIMESTAMP": stamp, "SIGN": signature}
    return Call("GET", path, "", {f"CB-ACCESS-{name}": value for name, value in values.items()})


def _bitflyer(keys: Credentials, stamp: str, path: str) -> Call:
    headers = {"ACCESS-KEY": keys.api_key, "ACCESS-TIMESTAMP": stamp}
    return Call("GET", path, "", {**headers, "ACCESS-SIGN": _hmac(keys.secret, f"{stamp}GET{path}")})


@pytest.mark.parametrize(
    ("exchange", "path", "sign"),
    [("coinbaseexchange", "/accounts", _coinbase), ("bitflyer", "/v1/me/getbalance", _bitflyer)],
)
@pytest.mark.parametrize(
    ("digits", "seconds", "is_taken"),
    [
        (".123456", 0, True),
        (".1234567", 0, True),
        (".5", 29, True),
        (".5", 61, False),
        (".", 0, False),
        (".5e1", 0, False),
    ],
)
async def test_seconds_may_have_decimals(
    exchange: str, path: str, sign: object, digits: str, seconds: int, is_taken: bool, tmp_path: Path
) -> None:
    async with visiting(tmp_path, WIRES[exchange]) as visitor:
        stamp = f"{visitor.clock.now() // MICROSECONDS - seconds}{digits}"
        answer = await visitor.sent(sign(visitor.keys, stamp, path))  # type: ignore[operator]
        assert answer.status == (200 if is_taken else 401)


@pytest.mark.parametrize("path", ["/accounts/", "/orders/?status=all", "/fills/?product_id=BTC-USD", "/fees/"])
async def test_coinbase_takes_paths_with_a_slash_behind_them(path: str, tmp_path: Path) -> None:
    async with visiting(tmp_path, WIRES["coinbaseexchange"]) as visitor:
        assert (await visitor.signed(Call("GET", path))).status == 200
        assert (await visitor.sent(Call("GET", "/products/"))).status == 200


@pytest.mark.parametrize("is_upper", [False, True])
async def test_bitstamp_takes_hex_digits_in_either_case(is_upper: bool, tmp_path: Path) -> None:
    async with visiting(tmp_path, WIRES["bitstamp"]) as visitor:
        call = Call("POST", "/api/v2/account_balances/")
        headers = bitstamp_headers(visitor.outside.url, call, visitor.keys, visitor.clock.now())
        signature = headers["X-Auth-Signature"]
        headers["X-Auth-Signature"] = signature.upper() if is_upper else signature
        assert (await visitor.sent(Call(call.method, call.path, "", headers))).status == 200


@pytest.mark.parametrize(
    ("path", "names"),
    [("/api/v2/balance/btceur/", {"btc", "eur"}), ("/api/v2/balance/", {"btc", "eur", "eth"})],
)
async def test_bitstamp_has_the_old_balances(path: str, names: set[str], tmp_path: Path) -> None:
    async with visiting(tmp_path, WIRES["bitstamp"]) as visitor:
        row = (await visitor.signed(Call("POST", path))).body
        for name in names:
            owned = visitor.exchange.balances[name.upper()]
            assert Decimal(row[f"{name}_balance"]) == Decimal(row[f"{name}_available"]) == owned
            assert row[f"{name}_reserved"] == "0.00000000"
        assert row["fee" if "btceur" in path else "btceur_fee"] == "0.120"


async def test_kraken_takes_json(tmp_path: Path) -> None:
    async with visiting(tmp_path, WIRES["kraken"]) as visitor:
        order = {"pair": "XBTUSD", "type": "buy", "ordertype": "limit", "price": 1000, "volume": 0.01, "userref": 5}
        answer = await _sent_json(visitor, "AddOrder", order)
        assert answer["error"] == []
        [placed] = visitor.exchange.customer.open_orders()
        assert (answer["result"]["txid"], placed.user_reference) == ([placed.order_id], 5)
        assert (await _sent_json(visitor, "CancelOrder", {"txid": 5}))["result"] == {"count": 1}


async def _sent_json(visitor: Visitor, name: str, fields: dict[str, object]) -> dict[str, Any]:
    visitor.clock.advance(1)
    nonce, path = str(visitor.clock.now()), f"/0/private/{name}"
    body = json.dumps({"nonce": nonce, **fields})
    digest = hashlib.sha256(f"{nonce}{body}".encode()).digest()
    secret = base64.b64decode(visitor.keys.secret)
    signature = base64.b64encode(hmac.digest(secret, path.encode() + digest, "sha512")).decode()
    headers = {"API-Key": visitor.keys.api_key, "API-Sign": signature, "Content-Type": "application/json"}
    answer: dict[str, Any] = (await visitor.sent(Call("POST", path, body, headers))).body
    return answer
