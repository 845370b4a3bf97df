"""The port of an exchange's order API, and helpers to parse its answers."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeVar, runtime_checkable

import orjson

from exchanges.errors import UNEXPECTED, ExchangeError
from exchanges.ports.order_calls import Ask, MakeWire, RestMethods
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, Side, StatedOrder
from market.money import Amount, Price, decimal_of, total
from market.time_units import MICROSECONDS

FILLS_MARGIN = 60 * MICROSECONDS
"""Fills are read from this much earlier than requested, beyond the known clock offset: the exchange's clock may have
been set since it was measured (every ten minutes), as may ours and the store's."""
SEARCH_MARGIN = 600 * MICROSECONDS
"""The same for an order that is identified by time and content only. It costs nothing, since one page has as many
orders, and misses none that the exchange accepted, up to a minute off; other known orders are excluded."""

HALF_SECOND_MS = 500
"""Whole seconds are half a second late on average, with the same uncertainty."""
PERCENT = Decimal(100)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


Result = TypeVar("Result")


class AnswerNotUnderstoodError(ExchangeError):
    """The exchange's answer is not as documented."""


async def understood(answer: Awaitable[Result]) -> Result:
    """Raise AnswerNotUnderstoodError without ccxt's own text, in which a signature may stand."""
    try:
        return await answer
    except UNEXPECTED as error:
        raise AnswerNotUnderstoodError(f"ccxt cannot read it: {type(error).__name__}") from error


class OrderApi(Protocol):
    """One exchange's order API; raises ccxt's errors and AnswerNotUnderstoodError."""

    async def post(self, order: LimitOrder, market: Market) -> str:
        """Post the order and return the exchange's order id."""
        ...

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        """Return the order's state with all its fills; None if the exchange does not show it yet."""
        ...

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        """Find the order without its exchange order id; None if there is none. Raises OutcomeUnknownError."""
        ...

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        """Ask the exchange to cancel what is left of the order. Raises what it answers, also if the order has ended."""
        ...

    async def balances(self) -> dict[str, Decimal]: ...

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]: ...

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        """All pages, from `FILLS_MARGIN` before `since` (our clock) on; a fill may occur twice."""
        ...


@runtime_checkable
class CancelsAllAfter(Protocol):
    """A dead man's switch of the exchange."""

    async def cancel_all_after(self, seconds: int) -> None:
        """Have all open orders cancelled unless this is called again within `seconds`; 0 turns it off."""
        ...


@dataclass(frozen=True, slots=True)
class KeyRights:
    """`may_withdraw`, `is_bound`: whether the key may withdraw, and works from listed addresses alone; None if the
    exchange does not say. `pays_in`: a currency of neither side of a market that fees are taken in."""

    may_withdraw: bool | None = None
    is_bound: bool | None = None
    pays_in: str | None = None


async def says_nothing_of_keys(_client: Any, _market: Market) -> KeyRights:
    """Return nothing: the exchange has no such request."""
    return KeyRights()


async def says_it_in_its_list(_client: Any, _market: Market) -> str:
    """Return no reason: the list of markets says which of them are closed."""
    return ""


@dataclass(frozen=True, slots=True)
class SocketOrders:
    """Orders over the exchange's WebSocket; `rest`: the same calls where that is not connected."""

    wire: MakeWire
    rest: RestMethods
    api: Callable[[Any, Ask], OrderApi]


@dataclass(frozen=True, slots=True)
class ExchangeOrders:
    """What an exchange's folder has for its private API; clients are of ccxt, and all raise ccxt's errors and
    AnswerNotUnderstoodError."""

    api: Callable[[Any], OrderApi]
    taker_rate: Callable[[Any, Sequence[Market]], Awaitable[Decimal]]
    """Our account's taker fee, a fraction of the notional: the highest of the markets."""
    server_time: Callable[[Any], Awaitable[tuple[int, int]]]
    """The exchange's time and its uncertainty, milliseconds."""
    key_rights: Callable[[Any, Market], Awaitable[KeyRights]] = says_nothing_of_keys
    why_closed: Callable[[Any, Market], Awaitable[str]] = says_it_in_its_list
    """Why a market takes no orders now, in the exchange's own word; empty if it does."""
    socket: SocketOrders | None = None
    """None: orders go by REST alone."""


def highest_rate(rates: Mapping[str, Decimal], names: Collection[str]) -> Decimal:
    """Return the highest taker fee of the markets of these names. Raises AnswerNotUnderstoodError if one has none."""
    for name in names:
        if name not in rates:
            raise AnswerNotUnderstoodError(f"no taker fee for {name}")
    return max(rates[name] for name in names)


async def dated_answer(client: Any, answer: Awaitable[object]) -> tuple[int, int]:
    """Return the exchange's time by the HTTP date of `answer`, and its uncertainty, in milliseconds."""
    await answer
    headers = {name.lower(): value for name, value in (client.last_response_headers or {}).items()}
    try:
        date = parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError) as error:
        raise AnswerNotUnderstoodError(f"{client.id} sent no date") from error
    return int(date.timestamp() * 1_000) + HALF_SECOND_MS, HALF_SECOND_MS


def rows_of(answer: object) -> list[Mapping[str, Any]]:
    """Return a list of objects. Raises AnswerNotUnderstoodError."""
    if not isinstance(answer, list) or not all(isinstance(row, Mapping) for row in answer):
        raise AnswerNotUnderstoodError(f"expected rows, got {str(answer)[:200]}")
    return answer


def row_of(answer: object) -> Mapping[str, Any]:
    """Return an object. Raises AnswerNotUnderstoodError."""
    if not isinstance(answer, Mapping):
        raise AnswerNotUnderstoodError(f"expected an object, got {str(answer)[:200]}")
    return answer


def row_in(message: str) -> Mapping[str, Any]:
    """Return the object that a message is. Raises AnswerNotUnderstoodError."""
    try:
        return row_of(orjson.loads(message))
    except orjson.JSONDecodeError as error:
        raise AnswerNotUnderstoodError(f"expected JSON, got {message[:200]}") from error


def text_in(row: Mapping[str, Any], name: str) -> str:
    """Return a text, or a number as one. Raises AnswerNotUnderstoodError if it is missing or anything else."""
    value = row.get(name)
    if value is None or value == "":
        raise AnswerNotUnderstoodError(f"{name} is missing in {str(row)[:200]}")
    return text_from(value, name)


def text_from(value: object, name: str) -> str:
    """Raise AnswerNotUnderstoodError for what is neither a text nor a number: an empty object is no id."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise AnswerNotUnderstoodError(f"{name} is neither a text nor a number: {str(value)[:200]}")
    return str(value)


def optional_text_in(row: Mapping[str, Any], name: str) -> str | None:
    """None if it is missing. Raises AnswerNotUnderstoodError."""
    return None if row.get(name) in (None, "") else text_in(row, name)


def price_in(row: Mapping[str, Any], name: str) -> Price | None:
    """None if it is missing. Raises AnswerNotUnderstoodError."""
    return None if row.get(name) in (None, "") else Price(number_in(row, name))


def symbol_in(row: Mapping[str, Any], name: str, market: Market, names: Collection[str]) -> str:
    """Our symbol of `market` if the answer has one of its `names`, otherwise what the answer has. Raises
    AnswerNotUnderstoodError."""
    text = text_in(row, name)
    return market.symbol if text in names else text


def number_in(row: Mapping[str, Any], name: str) -> Decimal:
    """Return the exchange's own digits. Raises AnswerNotUnderstoodError."""
    try:
        return decimal_of(text_in(row, name))
    except ValueError as error:
        raise AnswerNotUnderstoodError(f"{name} is not a valid number in {str(row)[:200]}: {error}") from error


def side_in(row: Mapping[str, Any], name: str) -> Side:
    """Buy or sell, in any case. Raises AnswerNotUnderstoodError."""
    text = text_in(row, name).lower()
    if text == "buy":
        return "buy"
    if text == "sell":
        return "sell"
    raise AnswerNotUnderstoodError(f"{name} is not a side in {str(row)[:200]}")


class Pages:
    """The pages of one list; guards against an exchange that returns the same page again and again."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def add_page(self, rows: Iterable[str]) -> None:
        """Record a page by its rows' ids, some of which may have moved here from the page before. Raises
        AnswerNotUnderstoodError if none is new."""
        new = set(rows) - self._seen
        if not new:
            raise AnswerNotUnderstoodError("the exchange returned the same page again")
        self._seen |= new


def on_exchange_clock(client: Any, since: int, margin: int = FILLS_MARGIN) -> int:
    """Return the earliest exchange time of an event at `since` (our clock, microseconds), minus `margin`; rounded down
    to a second, since some exchanges have no finer times."""
    theirs = since + (int(client.exchange_ahead_ms) - int(client.exchange_uncertainty_ms)) * 1_000 - margin
    return theirs // MICROSECONDS * MICROSECONDS


def iso_of(micros: int) -> str:
    """Return an ISO time to the second, UTC."""
    return f"{(_EPOCH + timedelta(microseconds=micros)):%Y-%m-%dT%H:%M:%S}Z"


def micros_of(text: str) -> int:
    """Microseconds UTC of an ISO time, with or without its zone. Raises AnswerNotUnderstoodError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise AnswerNotUnderstoodError(f"not a time: {text[:50]}") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def report_of(
    exchange_order_id: str,
    has_ended: bool,
    filled: Decimal,
    fills: Sequence[Fill],
    stated: StatedOrder | None = None,
) -> OrderReport:
    """Return a report that is final only once all fills that the exchange counts are there; they may appear after
    the order's end."""
    # an exchange may list a fill twice
    once = tuple({fill.fill_id: fill for fill in fills}.values())
    complete = total(fill.amount for fill in once) == filled
    return OrderReport(exchange_order_id, has_ended and complete, Amount(filled), once, stated=stated)
