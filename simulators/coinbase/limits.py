"""Coinbase's limits, in a second: public requests by address, private ones by user.

https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/rest-api-rate-limits, read in November 2026
"""

from collections.abc import Mapping

from aiohttp import web

from exchanges.rate_counters import window
from simulators.web.exchange_gateway import RateRules

_WALLETS = "/v2/accounts"
_V2, _TIME, _MARKET = "/v2/", "/api/v3/brokerage/time", "/api/v3/brokerage/market/"


def is_public(path: str) -> bool:
    return (path.startswith((_V2, _MARKET)) and path != _WALLETS) or path == _TIME


async def _count(_request: web.Request, path: str) -> Mapping[str, int]:
    return {"public": 1} if is_public(path) else {"private": 1}


RATES = RateRules({"public": window(10, 1), "private": window(30, 1)}, _count)
