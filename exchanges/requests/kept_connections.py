"""Connections that are open before a request needs them: an order that has to open one first is late."""

import asyncio
from typing import Any

import aiohttp
from yarl import URL

from exchanges.errors import ExchangeUnavailableError

OPENING_SECONDS = 5.0


async def keep_open(client: Any, url: str, count: int) -> None:
    """Open so many connections of a ccxt client to the server of `url`, or use those that are open, so that they do not
    count as unused. Nothing is sent on them. Raises ExchangeUnavailableError."""
    client.open()
    place = aiohttp.ClientRequest("POST", URL(url, encoded=True), loop=asyncio.get_running_loop())
    timeout = aiohttp.ClientTimeout(total=OPENING_SECONDS, connect=OPENING_SECONDS)
    connecting = [client.tcp_connector.connect(place, [], timeout) for _ in range(count)]
    opened = await asyncio.gather(*connecting, return_exceptions=True)
    failed = [one for one in opened if isinstance(one, BaseException)]
    for one in opened:
        if not isinstance(one, BaseException):
            # to the pool of the client, in which its next request finds it
            one.release()
    for error in failed:
        if not isinstance(error, aiohttp.ClientError | OSError | TimeoutError):
            raise error
    if failed:
        raise ExchangeUnavailableError(f"{client.id}: no connection could be opened ({type(failed[0]).__name__})")
