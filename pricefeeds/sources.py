"""Where the books of one exchange come from: its reader, its addresses, and our keys where it wants them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from exchanges.credentials import Credentials, load_credentials
from exchanges.errors import AccountRefusedError
from market.clock import Clock
from market.markets import Market
from market.session import Session
from pricefeeds.rest import RestReader, rest_reader
from pricefeeds.wire.exchanges import wire_of
from pricefeeds.wire.port import Conversation, WireExchange


@dataclass(frozen=True, slots=True)
class Source:
    """One exchange as a feeder reaches it."""

    wire: WireExchange
    stream_address: str
    rest: RestReader
    credentials: Credentials | None

    def conversation(self, market: Market) -> Conversation:
        """For one connection. Raises FeedRefusedError where the stream needs keys that we lack."""
        return self.wire.conversation(market, self.credentials)


@asynccontextmanager
async def source_of(session: Session, exchange: str, clock: Clock, rest_seconds: float) -> AsyncIterator[Source]:
    """The simulated exchange where the session has one, the real one's public addresses otherwise.

    Raises FeedRefusedError where nobody here reads that exchange.
    """
    wire = wire_of(exchange)
    root = session.exchanges_url
    if root is None:
        stream, rest = wire.live_ws, wire.live_rest
    else:
        root = root.rstrip("/")
        stream, rest = "ws" + root.removeprefix("http") + wire.ws_path, root + wire.rest_prefix
    async with rest_reader(rest, clock, rest_seconds) as reader:
        yield Source(wire, stream, reader, None if root is None else _simulated_keys(session, exchange))


def _simulated_keys(session: Session, exchange: str) -> Credentials | None:
    """None where there are none: only a stream that needs them will say so."""
    try:
        return load_credentials(session.home, exchange)
    except AccountRefusedError:
        return None
