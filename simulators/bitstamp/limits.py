"""Bitstamp's rate limits: https://www.bitstamp.net/api/, Request limits."""

from collections.abc import Mapping

from aiohttp import web

from exchanges.rate_counters import window
from simulators.web.exchange_gateway import RateRules


async def _count(_request: web.Request, _path: str) -> Mapping[str, int]:
    return {"second": 1, "ten minutes": 1}


RATES = RateRules({"second": window(400, 1), "ten minutes": window(10_000, 600)}, _count)
