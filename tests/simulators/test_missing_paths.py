"""A path that an exchange does not have is reported missing, in its own form, whoever asks and with whatever key."""

from pathlib import Path

import aiohttp
import pytest

from exchanges.credentials import load_credentials
from simulators.web.account_keys import account_names
from tests.exchanges.served import served
from tests.exchanges.stepped_clock import SteppedClock
from tests.simulators.wire_clients import WIRE_CLIENTS, Call, WireClient, bitstamp_headers

MISSING = {
    "coinbaseexchange": ("GET", "/accounts/x/holds", 404, {"message": "NotFound"}),
    "bitstamp": ("POST", "/api/v2/crypto-transactions/", 404, {"status": "error", "reason": "Not found."}),
    "bitflyer": (
        "GET",
        "/v1/me/getaddresses",
        404,
        {"status": -1, "error_message": "Not found", "data": None},
    ),
    "kraken": ("POST", "/0/private/WithdrawCancel", 200, {"error": ["EGeneral:Unknown method"]}),
    "binance": (
        "GET",
        "/sapi/v1/asset/dribblet",
        404,
        {"code": -1020, "msg": "This operation is not supported."},
    ),
    "bybit": (
        "GET",
        "/v5/asset/transfer/query-asset-info",
        404,
        {"retCode": 10017, "retMsg": "Route not found.", "result": {}, "retExtInfo": {}},
    ),
    "coinbase": (
        "GET",
        "/api/v3/brokerage/cfm/positions",
        404,
        {"error": "NOT_FOUND", "error_details": "Not Found", "message": "Not Found"},
    ),
    "okx": ("GET", "/api/v5/account/positions", 404, {"code": "404", "data": [], "msg": "Not Found"}),
}


@pytest.mark.parametrize("account", [0, 1, 2])
@pytest.mark.parametrize("wire", WIRE_CLIENTS, ids=lambda wire: wire.exchange)
async def test_a_missing_path(wire: WireClient, account: int, tmp_path: Path) -> None:
    """Answer the same to the first account, to another, and without a key."""
    method, path, status, body = MISSING[wire.exchange]
    clock = SteppedClock()
    async with served(tmp_path, clock=clock, only=(wire.exchange,), accounts=2) as outside:
        call = Call(method, path)
        if account < 2:
            keys = load_credentials(tmp_path, account_names(wire.exchange, 2)[account])
            call = wire.sign(call, keys, clock.now())
            if wire.exchange == "bitstamp":
                call = Call(method, path, "", bitstamp_headers(outside.url, Call(method, path), keys, clock.now()))
        url = f"{outside.url}/{wire.exchange}{call.path}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(call.method, url, data=call.body or None, headers=call.headers) as response,
        ):
            assert (response.status, await response.json()) == (status, body)
