"""Shared by all gateways: the port, calls and their fields, the guard, levels and times as text."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from exchanges.credentials import Credentials
from exchanges.rate_counters import Limit
from market.instruments.orders import Side
from market.money import decimal_of
from simulators.matching.engine import MatchingBook
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade, Reason, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names as IdNames
from simulators.web.signatures import SignedRequest
from simulators.web.subscribers import Subscribers

Change = tuple[Side, int, int]
"""(side, ticks, lots): a level after a step; lots 0 if it is gone."""
BOOK_SIDES: tuple[tuple[str, Side], ...] = (("bids", "buy"), ("asks", "sell"))
"""Words of the wire for the side whose orders buy, and the one whose orders sell."""
_NUMBER = re.compile(r"[-+]?[0-9]{0,20}(\.[0-9]{0,40})?([eE][-+]?[0-9]{1,3})?")
# Decimal takes more: digits of any alphabet, underscores, exponents that fill the memory once they are written out
_MOST = 10**15
"""The largest count of rows or seconds, and the largest id."""
Check = Callable[[SignedRequest], None]
Rejection = Callable[[RequestRejectedError], web.Response]
REJECTION: web.AppKey[Rejection] = web.AppKey("rejection")
"""The exchange's response for a rejection outside its application."""
Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MarketStep:
    """Changes of one market since the last step: levels, and trades, oldest first."""

    symbol: str
    changes: list[Change]
    trades: list[PublicTrade]
    is_late: bool = False
    """Whether it was put off, and is passed on now that somebody looks at the market: nobody listened then."""


class Gateway(Protocol):
    """One exchange's wire protocol, as one account of it is served."""

    exchange: SimulatedExchange
    subscribers: Subscribers

    def application(self) -> web.Application: ...

    def is_mine(self, word: str) -> bool:
        """Return whether a key, or a token that opens streams, is the account's."""
        ...

    def publish(self, step: MarketStep) -> None:
        """Publish one market's step to subscribers, its book in one message."""
        ...

    def put_off(self, symbol: str) -> None:
        """Note that a step of a market that nobody looks at comes late; what all markets share goes on now."""
        ...

    def beat(self) -> None:
        """Send heartbeats and what is repeated from time to time; called about once a second."""
        ...


@runtime_checkable
class CountsItself(Protocol):
    """A gateway that keeps limits of its own."""

    def lift_limits(self) -> None: ...


@runtime_checkable
class TrustsSigners(Protocol):
    """A gateway that takes requests signed with private keys, too."""

    def trust_signers(self, home: Path, account: str) -> None:
        """Take the keys that the data folder has for the account."""
        ...


Counts = Callable[[web.Request, str], Awaitable[Mapping[str, int]]]
"""Weights of a request, by its path below the exchange's own name: limit → weight."""


@dataclass(frozen=True, slots=True)
class RateRules:
    """Limits by name, and what a request counts against each."""

    limits: Mapping[str, Limit]
    count: Counts


@dataclass(frozen=True, slots=True)
class SimulatedGateway:
    """How one exchange is served: SIMULATED in the `gateway` of its folder."""

    make: Callable[[SimulatedExchange, Credentials], Gateway]
    names: IdNames
    rates: RateRules | None = None
    """None: it counts all requests itself."""


def guarded(name: str, is_private: Callable[[str], bool], check: Check, rejection: Rejection) -> web.Application:
    """Return an application that runs `check` on private paths and answers rejections with `rejection`.

    A missing path is reported as such to everybody, whatever the key.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.match_info.http_exception is not None:
                # below its own name only if it shares a port with others
                is_shared = len(request.match_info.apps) > 1
                raise RequestRejectedError("unknown_path", request.path.removeprefix(f"/{name}" if is_shared else ""))
            body = await _body_of(request)
            # the router goes by what the path means; a signature is made over the letters that were sent
            if is_private(request.path.removeprefix(f"/{name}")):
                path = request.raw_path.removeprefix(f"/{name}")
                check(SignedRequest(request.method, _url_of(request), path, request.headers, body))
            return await handler(request)
        except RequestRejectedError as error:
            return rejection(error)

    application = web.Application(middlewares=[guard])
    application[REJECTION] = rejection
    return application


async def _body_of(request: web.Request) -> str:
    """Return the body. Raises RequestRejectedError if it is no text."""
    try:
        return await request.text() if request.body_exists else ""
    except (UnicodeDecodeError, LookupError) as error:
        raise RequestRejectedError("invalid_request", "body") from error


def _url_of(request: web.Request) -> str:
    """Return the URL. Raises RequestRejectedError if the Host header names none."""
    try:
        return str(request.url)
    except ValueError as error:
        raise RequestRejectedError("invalid_request", "Host") from error


def listing_named(listings: Mapping[str, Listing], market_id: str) -> Listing:
    """Return the listing by the exchange's own name of it. Raises RequestRejectedError."""
    if market_id not in listings:
        raise RequestRejectedError("unknown_market", market_id)
    return listings[market_id]


def levels_of(listing: Listing, book: MatchingBook, depth: int) -> dict[str, list[list[object]]]:
    """Return `bids` and `asks` as [price, amount] texts, best first."""
    return {
        name: [[listing.price_text(ticks), listing.amount_text(lots)] for ticks, lots in book.levels(side, depth)]
        for name, side in BOOK_SIDES
    }


def best_level(book: MatchingBook, side: Side) -> tuple[int, int]:
    """Return ticks and lots of the best bid ("buy") or ask ("sell"), zeros if there is none."""
    levels = book.levels(side, 1)
    return levels[0] if levels else (0, 0)


def best_texts(listing: Listing, book: MatchingBook) -> tuple[str, str]:
    """Return best bid and ask, 0 if there is none."""
    return listing.price_text(best_level(book, "buy")[0]), listing.price_text(best_level(book, "sell")[0])


def json_reply(body: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


def json_fields(text: str) -> dict[str, Any]:
    """Return a JSON object's fields, `{}` if there is no body. Raises RequestRejectedError."""
    try:
        fields = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError as error:
        raise RequestRejectedError("invalid_request", "not JSON") from error
    if not isinstance(fields, dict):
        raise RequestRejectedError("invalid_request", "not an object")
    return fields


def text_field(fields: Fields, name: str) -> str:
    """Return the text. Raises RequestRejectedError if it is missing."""
    value = fields.get(name)
    if value is None or value == "":
        raise RequestRejectedError("invalid_request", name)
    return str(value)


def decimal_field(fields: Fields, name: str, reason: Reason) -> Decimal:
    """Return the number. Raises RequestRejectedError for `reason`."""
    text = text_field(fields, name)
    if not _NUMBER.fullmatch(text):
        raise RequestRejectedError(reason, name)
    try:
        return decimal_of(text)
    except ValueError as error:
        raise RequestRejectedError(reason, name) from error


def side_field(fields: Fields, name: str) -> Side:
    side = text_field(fields, name).lower()
    if side == "buy":
        return "buy"
    if side == "sell":
        return "sell"
    raise RequestRejectedError("invalid_request", name)


def count_field(fields: Fields, name: str, default: int) -> int:
    """Return a whole number from 0 to _MOST. Raises RequestRejectedError."""
    try:
        return min(_MOST, max(0, int(fields.get(name) or default)))
    except (TypeError, ValueError) as error:
        raise RequestRejectedError("invalid_request", name) from error


def iso_text(micros: int, separator: str = "T", zone: str = "Z") -> str:
    moment = datetime.fromtimestamp(micros // 1_000_000, UTC)
    return f"{moment:%Y-%m-%d}{separator}{moment:%H:%M:%S}.{micros % 1_000_000:06d}{zone}"


@dataclass(frozen=True, slots=True)
class Call:
    """An API call. An unknown field is rejected, so that clients cannot rely on something that the exchange does not
    have."""

    answer: Callable[[Fields], object]
    known: frozenset[str] = frozenset()

    def __call__(self, fields: Fields) -> object:
        """Return the response body. Raises RequestRejectedError."""
        for name in fields:
            if name not in self.known:
                raise RequestRejectedError("invalid_request", name)
        return self.answer(fields)


def known(*names: str) -> frozenset[str]:
    return frozenset(names)
