"""Coinbase Exchange's lists: newest first, between two times, in pages whose cursors stand in the answer's headers."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TypeVar

from aiohttp import web

from simulators.matching.order_records import RequestRejectedError
from simulators.web.exchange_gateway import count_field, json_reply

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_PAGE = 1_000

Item = TypeVar("Item")


def page_reply(
    request: web.Request, newest_first: Iterable[Item], number: Callable[[Item], int], row: Callable[[Item], object]
) -> web.Response:
    """Return the page that the query's cursors name: `before` means newer than it, `after` older. `number`: an item's
    cursor.

    https://docs.cdp.coinbase.com/exchange/rest-api/pagination
    """
    before, after = count_field(request.query, "before", 0), count_field(request.query, "after", 0)
    limit = min(_LONGEST_PAGE, count_field(request.query, "limit", 100))
    newer = takewhile(lambda item: number(item) > before, newest_first)
    page = list(islice((item for item in newer if not after or number(item) < after), limit))
    reply = json_reply([row(item) for item in page])
    if page:
        reply.headers.update({"CB-BEFORE": str(number(page[0])), "CB-AFTER": str(number(page[-1]))})
    return reply


def is_between(time: int, query: Mapping[str, str]) -> bool:
    """Return whether a time in microseconds is from `start_date` to `end_date`, if the query has them."""
    began, ended = moment_in(query, "start_date"), moment_in(query, "end_date")
    return (began is None or time >= began) and (ended is None or time <= ended)


def moment_in(query: Mapping[str, str], name: str) -> int | None:
    """Return microseconds of an ISO time, or of seconds since 1970; None if there is none. Raises
    RequestRejectedError."""
    if name not in query:
        return None
    if query[name].isdecimal():
        return count_field(query, name, 0) * 1_000_000
    try:
        moment = datetime.fromisoformat(query[name])
    except ValueError as error:
        raise RequestRejectedError("invalid_request", name) from error
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)
