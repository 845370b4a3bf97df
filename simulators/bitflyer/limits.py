"""bitFlyer's rate limits: https://lightning.bitflyer.com/docs, API Limits."""

from collections.abc import Mapping
from decimal import Decimal

import orjson
from aiohttp import web

from exchanges.rate_counters import window
from market.money import decimal_of
from simulators.web.exchange_gateway import RateRules

_ORDERS = ("/v1/me/sendchildorder", "/v1/me/sendparentorder", "/v1/me/cancelallchildorders")
_SMALL = Decimal("0.1")


async def _count(request: web.Request, path: str) -> Mapping[str, int]:
    if not path.startswith("/v1/me/"):
        return {"address": 1}
    counts = {"address": 1, "private": 1}
    if path in _ORDERS:
        counts["orders"] = 1
    if path == _ORDERS[0] and _is_small(await request.read()):
        counts["small orders"] = 1
    return counts


def _is_small(body: bytes) -> bool:
    try:
        return decimal_of(orjson.loads(body)["size"]) <= _SMALL
    except (ValueError, KeyError, TypeError):
        return False


RATES = RateRules(
    {
        "address": window(500, 300),
        "private": window(500, 300),
        "orders": window(300, 300),
        "small orders": window(100, 60),
    },
    _count,
)
