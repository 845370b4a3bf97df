"""Where one exchange's books come from: a parser of our own with its addresses and API keys, or ccxt."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from exchanges.books.port import Conversation, WireExchange
from exchanges.catalogue import own_facts, wire_of
from exchanges.credentials import Credentials, load_credentials
from exchanges.errors import AccountRejectedError
from exchanges.key_variables import environment_credentials, own_key_fields
from exchanges.ports.facts import ExchangeFacts
from market.instruments.markets import Market
from pricefeeds.feed.rest_checks import seconds_between_comparisons
from pricefeeds.feed.rest_reader import RestReader, rest_reader
from pricefeeds.feed.shared_connections import SharedConnections, shared_connections
from pricefeeds.feed.source import FeedSource, StreamConnection
from pricefeeds.feed.websocket import connected
from runtime.clock import Clock
from session.session import Session


@dataclass(frozen=True, slots=True)
class FeedEndpoints:
    """What a feeder needs to connect to one exchange."""

    wire: WireExchange
    stream_address: str
    rest: RestReader
    credentials: Credentials | None
    streams: bool = True
    compare_seconds: float = 0.0
    shared: SharedConnections | None = None
    """None: a connection for each symbol."""

    def connected(self, market: Market) -> AbstractAsyncContextManager[StreamConnection]:
        """Raise FeedDroppedError if it cannot connect."""
        if self.shared is None:
            return connected(self.stream_address)
        return self.shared.line(market, self.credentials)

    def conversation(self, market: Market) -> Conversation:
        """Return a Conversation for one connection. Raises FeedRejectedError if the stream needs API keys that are
        missing."""
        return self.wire.conversation(market, self.credentials)


def source_of(
    session: Session, exchange: str, clock: Clock, rest_seconds: float, environment: Mapping[str, str] | None = None
) -> AbstractAsyncContextManager[FeedSource]:
    """Return the books of one of the session's exchanges, by our own reader or through ccxt. Raises
    FeedRejectedError."""
    if not session.entry_of(exchange).is_generic:
        return endpoints_of(session, exchange, clock, rest_seconds, environment)
    # only here, since ccxt costs a feeder a second and a hundred megabytes
    from pricefeeds.feed.generic_source import generic_source  # noqa: PLC0415

    return generic_source(session, exchange, clock, rest_seconds)


@asynccontextmanager
async def endpoints_of(
    session: Session, exchange: str, clock: Clock, rest_seconds: float, environment: Mapping[str, str] | None = None
) -> AsyncIterator[FeedEndpoints]:
    """Return the simulated exchange if the session has one, otherwise the real one with keys from `environment`.

    Raises FeedRejectedError if there is no parser for that exchange.
    """
    entry = session.entry_of(exchange)
    wire, facts = wire_of(entry.ccxt), own_facts(entry.ccxt)
    stream, rest = _addresses(session, exchange, facts)
    is_lifted = session.simulated.url is not None and not session.simulated.rate_limits
    pace = 0.0 if is_lifted else facts.feed_rest_seconds * entry.at_one_address
    symbols = len(session.markets_of(exchange))
    # a single market may have every turn
    compare_seconds = seconds_between_comparisons(symbols, pace, rest_seconds) if symbols > 1 else 0.0
    keys = _keys(session, exchange, environment or {})
    async with AsyncExitStack() as stack:
        reader = await stack.enter_async_context(rest_reader(rest, clock, rest_seconds, pace))
        sharing = wire.sharing
        shared = None if sharing is None else await stack.enter_async_context(shared_connections(stream, sharing))
        yield FeedEndpoints(wire, stream, reader, keys, compare_seconds=compare_seconds, shared=shared)


def _addresses(session: Session, exchange: str, facts: ExchangeFacts) -> tuple[str, str]:
    """Addresses of the stream and of REST. In a sandbox session an exchange without a sandbox feeds its live prices."""
    root = session.reach.gateways.get(exchange) or session.simulated.url
    if root is not None:
        root = root.rstrip("/")
        below = f"{root}/{facts.name}"
        return "ws" + below.removeprefix("http") + facts.addresses.stream_path, below
    sandbox = facts.addresses.sandbox if session.mode == "sandbox" else None
    return sandbox or (facts.addresses.stream, facts.addresses.rest)


def _keys(session: Session, exchange: str, environment: Mapping[str, str]) -> Credentials | None:
    """None if there are none: only a stream that needs keys rejects that. Public-price sessions never read keys."""
    if session.mode == "public":
        return None
    ccxt_id = session.entry_of(exchange).ccxt
    try:
        if session.mode in ("sandbox", "live"):
            is_sandbox = session.mode == "sandbox"
            return environment_credentials(exchange, environment, is_sandbox, own_key_fields(ccxt_id))
        return load_credentials(session.home, ccxt_id)
    except AccountRejectedError:
        return None
