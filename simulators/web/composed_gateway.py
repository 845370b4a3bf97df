"""The gateway of an exchange whose account has one key and whose markets share nothing: its stream and its pages, put
together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from exchanges.credentials import Credentials
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Check, MarketStep
from simulators.web.signatures import SignedRequest
from simulators.web.subscribers import Subscribers


class PublicStream(Protocol):
    def publish(self, step: MarketStep) -> None: ...

    def beat(self) -> None: ...


class GatewayPages(Protocol):
    """All that is asked by requests, and where streams are opened."""

    def application(self) -> web.Application: ...

    def rejection(self, error: RequestRejectedError) -> web.Response: ...

    def lift_limits(self) -> None: ...


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

    def lift_limits(self) -> None:
        self.pages.lift_limits()

    def rejection(self, error: RequestRejectedError) -> web.Response:
        return self.pages.rejection(error)
