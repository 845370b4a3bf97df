"""What a session's trading does, change by change, in the order in which the store took it: arbitrages that come into
another state, fills, rejections."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self

from bson.timestamp import Timestamp

from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Rejection
from session.clock import wall_now
from session.session import Session
from store.queries.session_export import ExportedFill
from store.server.change_streams import ChangeFollower, ChangeStreamProgress
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
from store.server.mongo_client import Document, connect, database_of

Trading = Literal["trades", "fills", "rejections"]
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
    """Of what began in the session. Close it."""

    def __init__(self, session: Session, wanted: Iterable[Trading], token: str | None) -> None:
        """From the session's start, or after `token`. Raises StoreError where the database's address is none."""
        self._client = connect(session.mongodb)
        self._progress = ChangeStreamProgress()
        self._opened_at = wall_now()
        self._is_present = False
        of_session: Document = {
            "ns.coll": {"$in": [_COLLECTIONS[one] for one in wanted]},
            "operationType": {"$in": ["insert", "update"]},
            "fullDocument.session_id": session.session_id,
        }
        self._changes = ChangeFollower(
            database_of(self._client, session.database),
            [{"$match": of_session}],
            None if token is None else {"_data": token},
            self._progress,
            since=session.started_at,
            with_deltas=True,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._changes.__aexit__(kind, error, trace)
        self._client.close()

    @property
    def is_behind(self) -> bool:
        """Whether changes that were made before this was opened are still to come."""
        return not self._is_present and self._progress.caught_up_at is None

    async def next(self) -> TradingChange | None:
        """The next change; None where the server no longer has what came before, and it goes on with what comes now.

        Raises StoreError."""
        while (change := await self._changes.next()) is not None:
            at = _time_of(change)
            self._is_present = self._is_present or at >= self._opened_at
            what = _what(change)
            if what is not None:
                return TradingChange(at, _token_in(change), what)
        return None


def _time_of(change: Mapping[str, Any]) -> int:
    if isinstance(made := change.get("wallTime"), datetime):
        return microseconds_of(made)
    # servers before version 6 say no more
    stamp = change["clusterTime"]
    return int(stamp.time) * MICROSECONDS if isinstance(stamp, Timestamp) else 0


def _token_in(change: Mapping[str, Any]) -> str:
    return str(change["_id"]["_data"])


def _what(change: Mapping[str, Any]) -> ArbitrageSteps | ExportedFill | RejectionCount | None:
    """None where nothing of these happened, as where only a leg was sent."""
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
