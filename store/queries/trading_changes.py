"""What a session's trading does, change by change, in the order in which the store took it: arbitrages that come into
another state, fills, rejections."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self, cast

from bson.timestamp import Timestamp

from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Rejection
from session.session import Session
from store.errors import StoreError
from store.queries.session_export import ExportedFill
from store.server.change_streams import ChangeFollower, ChangeStreamProgress
from store.server.client import Document, connect, database_of, read_nearby, translated_errors
from store.server.documents import (
    ARBITRAGES,
    FILLS,
    REJECTIONS,
    arbitrage_of,
    fill_of,
    integer_of,
    microseconds_of,
    rejection_of,
)

Trading = Literal["trades", "fills", "rejections"]
_Moment = tuple[int, int]
"""A place in the server's log: seconds, and a number among those of the second."""
_COLLECTIONS: Mapping[Trading, str] = {"trades": ARBITRAGES, "fills": FILLS, "rejections": REJECTIONS}


@dataclass(frozen=True, slots=True)
class ArbitrageSteps:
    """The steps that one change put into an arbitrage's history, by their numbers there. The arbitrage may have come
    further meanwhile."""

    arbitrage: Arbitrage
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RejectionCount:
    """A rejection that was stored, or counted on a stored one: `rejection.count` has all up to here, `number` says how
    often some were counted on it before."""

    rejection: Rejection
    number: int


@dataclass(frozen=True, slots=True)
class TradingChange:
    """`at`: when the store took it, its time, microseconds. `token`: where reading goes on after it."""

    at: int
    token: str
    what: ArbitrageSteps | ExportedFill | RejectionCount


class TradingChanges:
    """Follows what began in the session; in a session with regions as the member in this region knows it, which goes on
    while the region is cut off."""

    def __init__(self, session: Session, wanted: Iterable[Trading], token: str | None) -> None:
        """From the session's start, or after `token`. Raises StoreError if the database's address is none."""
        self._client = connect(session.services.mongodb)
        whole = database_of(self._client, session.services.database)
        self._database = whole if session.place.region is None else read_nearby(whole, session.place.region)
        self._progress = ChangeStreamProgress()
        self._until: _Moment | None = None
        of_session: Document = {
            "ns.coll": {"$in": [_COLLECTIONS[one] for one in wanted]},
            "operationType": {"$in": ["insert", "update"]},
            "fullDocument.session_id": session.session_id,
        }
        self._changes = ChangeFollower(
            self._database,
            [{"$match": of_session}],
            None if token is None else {"_data": token},
            self._progress,
            since=session.started_at,
            with_deltas=True,
        )

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Raise StoreError; it is closed then."""
        try:
            with translated_errors():
                async with await self._client.start_session() as session:
                    # by default of the primary, whatever the database says
                    preference = self._database.read_preference
                    await self._client.admin.command("ping", read_preference=preference, session=session)
                    # a property, which the driver's stub has as a method
                    self._until = _moment_of(cast(Timestamp | None, session.operation_time))
        except StoreError:
            await self.close()
            raise

    async def close(self) -> None:
        await self._changes.__aexit__(None, None, None)
        self._client.close()

    @property
    def token(self) -> str | None:
        """Where reading goes on after all that was looked at; None before that."""
        token = self._changes.token
        return None if token is None else str(token["_data"])

    @property
    def is_behind(self) -> bool:
        """Whether changes that were made before this was opened are still to come."""
        token = self.token
        reached = None if token is None else _moment_in(token)
        if reached is None or self._until is None:
            return self._progress.caught_up_at is None
        # a busy server answers with nothing before it has looked at everything; how far it is, it says in the token
        return reached < self._until

    async def next(self) -> TradingChange | None:
        """Return the next change; None if the server no longer has what came before, and it goes on with what comes
        now.

        Raises StoreError."""
        while (change := await self._changes.next()) is not None:
            what = _what(change)
            if what is not None:
                return TradingChange(_time_of(change), _token_in(change), what)
        return None


def _moment_of(stamp: Timestamp | None) -> _Moment | None:
    return None if stamp is None else (stamp.time, stamp.inc)


def _moment_in(token: str) -> _Moment | None:
    """Where in the server's log a token stands; it begins with the type 0x82 and this. None if it is another's."""
    if re.match("82[0-9A-Fa-f]{16}", token) is None:
        return None
    return int(token[2:10], 16), int(token[10:18], 16)


def _time_of(change: Mapping[str, Any]) -> int:
    if isinstance(made := change.get("wallTime"), datetime):
        return microseconds_of(made)
    # servers before version 6 say no more
    stamp = change["clusterTime"]
    return int(stamp.time) * MICROSECONDS if isinstance(stamp, Timestamp) else 0


def _token_in(change: Mapping[str, Any]) -> str:
    return str(change["_id"]["_data"])


def _what(change: Mapping[str, Any]) -> ArbitrageSteps | ExportedFill | RejectionCount | None:
    """None if nothing of these happened, as when only a leg was sent."""
    document: Document = change["fullDocument"]
    is_new = change["operationType"] == "insert"
    changed = {} if is_new else change["updateDescription"]["updatedFields"]
    collection = change["ns"]["coll"]
    if collection == FILLS:
        return ExportedFill(str(document["arbitrage_id"]), fill_of(document)) if is_new else None
    if collection == REJECTIONS:
        return RejectionCount(rejection_of(document), 0) if is_new else _counted(document, changed)
    arbitrage = arbitrage_of(document)
    numbers = tuple(range(len(arbitrage.history))) if is_new else _elements("history", changed)
    return ArbitrageSteps(arbitrage, numbers) if numbers else None


def _counted(document: Document, changed: Mapping[str, Any]) -> RejectionCount | None:
    numbers = _elements("rejection_ids", changed)
    if not numbers or "count" not in changed:
        return None
    return RejectionCount(replace(rejection_of(document), count=integer_of(changed["count"])), numbers[-1])


def _elements(name: str, changed: Mapping[str, Any]) -> tuple[int, ...]:
    """Numbers of the list's elements that are new; a list only grows."""
    numbers = (field.removeprefix(f"{name}.") for field in changed if field.startswith(f"{name}."))
    return tuple(sorted(int(number) for number in numbers if number.isdigit()))
