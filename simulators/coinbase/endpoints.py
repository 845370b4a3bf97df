"""One REST endpoint of Coinbase: its parameters and its handler; and how fields and pages are read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from aiohttp import web

from simulators.matching.order_records import RequestRejectedError
from simulators.web.exchange_gateway import count_field, json_fields

PREFIX = "/api/v3/brokerage"
Fields = Mapping[str, Any]
Row = dict[str, object]
Item = TypeVar("Item")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CoinbaseEndpoint:
    """`known`: the parameters that it reads, beside those of its path."""

    method: str
    path: str
    answer: Callable[[Fields], object]
    known: frozenset[str] = frozenset()

    async def answered(self, request: web.Request) -> object:
        """Return the answer's body. Raises RequestRejectedError for a parameter that the endpoint does not read: the
        real exchange ignores it."""
        fields = json_fields(await request.text()) if self.method == "POST" else _query_of(request)
        for name in fields:
            if name not in self.known:
                raise RequestRejectedError("invalid_request", name)
        return self.answer({**fields, **request.match_info})


def _query_of(request: web.Request) -> Fields:
    """Return texts; lists where a parameter comes more than once."""
    every = {name: request.query.getall(name) for name in request.query}
    return {name: values[0] if len(values) == 1 else values for name, values in every.items()}


def texts_field(fields: Fields, *names: str) -> tuple[str, ...]:
    """Return the texts under all of these names, each alone or in a list."""
    values = [fields[name] for name in names if fields.get(name) not in (None, "")]
    lists = [value if isinstance(value, list) else [value] for value in values]
    return tuple(str(text) for texts in lists for text in texts)


def moment_field(fields: Fields, name: str) -> int | None:
    """Return microseconds of an ISO time; None if there is none. Raises RequestRejectedError."""
    if fields.get(name) in (None, ""):
        return None
    try:
        moment = datetime.fromisoformat(str(fields[name]))
        return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as error:
        raise RequestRejectedError("invalid_request", name) from error


def is_between(time: int, since: int | None, until: int | None) -> bool:
    return (since is None or time >= since) and (until is None or time <= until)


def page_of(
    newest: Iterable[Item], fields: Fields, number: Callable[[Item], int], default: int, most: int
) -> tuple[list[Item], str]:
    """Return the newest items behind `cursor`, and the cursor of the next page, empty if there is none; `number` falls
    from item to item."""
    behind, limit = count_field(fields, "cursor", 0), min(count_field(fields, "limit", default) or default, most)
    page = list(islice((item for item in newest if not behind or number(item) < behind), limit + 1))
    return page[:limit], str(number(page[limit - 1])) if len(page) > limit else ""
