"""Coinbase Exchange's rate limits: https://docs.cdp.coinbase.com/exchange/rest-api/rate-limits"""

from collections.abc import Mapping

from aiohttp import web

from exchanges.rate_counters import counter
from simulators.web.exchange_gateway import RateRules


async def _count(request: web.Request, path: str) -> Mapping[str, int]:
    if "CB-ACCESS-KEY" not in request.headers:
        return {"Public": 1}
    return {"Private": 1, "fills": 1} if path.startswith("/fills") else {"Private": 1}


RATES = RateRules({"Public": counter(15, "10"), "Private": counter(30, "15"), "fills": counter(20, "10")}, _count)
