"""HTTP requests that ask for an order's permit in their last step before the wire."""

import aiohttp
from aiohttp.connector import Connection

from exchanges.errors import NotPostedError
from exchanges.permits import departing


class AskingRequest(aiohttp.ClientRequest):
    """Asks once it has its connection. Nothing is waited for after the answer: aiohttp writes headers and body
    together, in the next turn of the event loop."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        order = departing()
        if order is not None:
            order.ask()
        return await super().send(conn)


class OrderRequest(AskingRequest):
    """Of a connection that posts orders and nothing else: without a permit nothing goes."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        if departing() is None:
            raise NotPostedError("nobody permitted it")
        return await super().send(conn)
