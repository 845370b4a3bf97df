"""The gateway of an exchange whose account has one key and whose markets share nothing: its stream and its pages, put
together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from aiohttp import web

from exchanges.credentials import Credentials
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Check, CountsItself, Gateway, MarketStep
from simulators.web.signatures import SignedRequest
from simulators.web.subscribers import Subscribers


class PublicStream(Protocol):
    def publish(self, step: MarketStep) -> None: ...

    def beat(self) -> None: ...


Stream = TypeVar("Stream", bound=PublicStream)


class GatewayPages(Protocol):
    """All that is asked by requests, and where streams are opened."""

    def application(self) -> web.Application: ...

    def rejection(self, error: RequestRejectedError) -> web.Response: ...


CheckRequest = Callable[[SignedRequest, Credentials, int], None]
"""Checks a request by the account's credentials and the exchange's time. Raises RequestRejectedError."""


def signed_by(credentials: Credentials, exchange: SimulatedExchange, check_request: CheckRequest) -> Check:
    return lambda request: check_request(request, credentials, exchange.clock.now())


@dataclass(slots=True)
class ComposedGateway:
    """A Gateway, made of its parts."""

    exchange: SimulatedExchange
    subscribers: Subscribers
    api_key: str
    stream: PublicStream
    pages: GatewayPages

    def application(self) -> web.Application:
        return self.pages.application()

    def is_mine(self, word: str) -> bool:
        return word == self.api_key

    def publish(self, step: MarketStep) -> None:
        self.stream.publish(step)

    def put_off(self, symbol: str) -> None:
        """Do nothing: markets share nothing here."""

    def beat(self) -> None:
        self.stream.beat()

    def rejection(self, error: RequestRejectedError) -> web.Response:
        return self.pages.rejection(error)


@dataclass(slots=True)
class CountingGateway(ComposedGateway):
    """One that keeps limits of its own."""

    counts: CountsItself

    def lift_limits(self) -> None:
        self.counts.lift_limits()


def composed(
    stream_of: Callable[[SimulatedExchange, Subscribers, Credentials], Stream],
    pages_of: Callable[[SimulatedExchange, Subscribers, Credentials, Stream], GatewayPages],
) -> Callable[[SimulatedExchange, Credentials], Gateway]:
    """Return what makes the gateway of an account."""

    def made(exchange: SimulatedExchange, credentials: Credentials) -> Gateway:
        subscribers = Subscribers()
        stream = stream_of(exchange, subscribers, credentials)
        pages = pages_of(exchange, subscribers, credentials, stream)
        if isinstance(pages, CountsItself):
            return CountingGateway(exchange, subscribers, credentials.api_key, stream, pages, pages)
        return ComposedGateway(exchange, subscribers, credentials.api_key, stream, pages)

    return made
