"""Where the books of one exchange come from: its reader, its addresses, and our keys where it wants them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from exchanges.errors import AccountRejectedError
from exchanges.exchange_addresses import SANDBOX_FEEDS
from exchanges.exchange_credentials import Credentials, environment_credentials, load_credentials
from market.instruments.markets import Market
from pricefeeds.feed.rest_reader import RestReader, rest_reader
from pricefeeds.wire.wire_exchanges import wire_of
from pricefeeds.wire.wire_port import Conversation, WireExchange
from session.clock import Clock
from session.session import Session


@dataclass(frozen=True, slots=True)
class FeedEndpoints:
    """One exchange as a feeder reaches it."""

    wire: WireExchange
    stream_address: str
    rest: RestReader
    credentials: Credentials | None

    def conversation(self, market: Market) -> Conversation:
        """For one connection. Raises FeedRejectedError where the stream needs keys that we lack."""
        return self.wire.conversation(market, self.credentials)


@asynccontextmanager
async def source_of(
    session: Session, exchange: str, clock: Clock, rest_seconds: float, environment: Mapping[str, str] | None = None
) -> AsyncIterator[FeedEndpoints]:
    """The simulated exchange where the session has one, the real one otherwise, its keys from `environment`.

    Raises FeedRejectedError where nobody here reads that exchange.
    """
    wire = wire_of(exchange)
    stream, rest = _addresses(session, wire)
    is_lifted = session.exchanges_url is not None and not session.rate_limits
    pace = 0.0 if is_lifted else wire.live_rest_pace
    async with rest_reader(rest, clock, rest_seconds, pace) as reader:
        yield FeedEndpoints(wire, stream, reader, _keys(session, exchange, environment or {}))


def _addresses(session: Session, wire: WireExchange) -> tuple[str, str]:
    """Of its stream and of REST. What has no sandbox is only watched in a sandbox session, where it really is."""
    root = session.gateways.get(wire.name) or session.exchanges_url
    if root is not None:
        root = root.rstrip("/")
        return "ws" + root.removeprefix("http") + wire.ws_path, root + wire.rest_prefix
    sandbox = SANDBOX_FEEDS.get(wire.name) if session.mode == "sandbox" else None
    return sandbox or (wire.live_ws, wire.live_rest)


def _keys(session: Session, exchange: str, environment: Mapping[str, str]) -> Credentials | None:
    """None where there are none: only a stream that needs them will say so. At public prices none are looked for."""
    if session.mode == "public":
        return None
    try:
        if session.mode in ("sandbox", "live"):
            return environment_credentials(exchange, environment, session.mode == "sandbox")
        return load_credentials(session.home, exchange)
    except AccountRejectedError:
        return None
