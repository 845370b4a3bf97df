"""The processes of a session in MongoDB: reported by the supervisor, read by the dashboard, which requests starts and
stops.

The supervisor writes everything but what is wanted, the dashboard nothing else: neither undoes the other.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager

from pydantic import TypeAdapter, ValidationError
from pymongo import ASCENDING, ReturnDocument, UpdateOne

from session.session import Session
from store.errors import StoreError
from store.records.processes import STOPPABLE, SUPERVISOR, Process, ProcessOrder, ProcessReport, Wanted, is_silent
from store.server.client import QUICK, REACH_MS, Database, Document, connect, database_of, translated_errors
from store.server.clock import server_now
from store.server.documents import PROCESSES, integer_of

_PROCESS = TypeAdapter(Process)
_NOW: Document = {"$multiply": [{"$toLong": "$$NOW"}, 1_000]}
"""The server's time in microseconds, as an aggregation says it."""


@asynccontextmanager
async def open_processes(session: Session) -> AsyncGenerator["MongoProcesses"]:
    """Those of `session`, with a client of their own that gives up soon: its user has other things to do.

    Raises StoreError if the address of MongoDB is none.
    """
    client = connect(session.services.mongodb, REACH_MS)
    try:
        yield MongoProcesses(database_of(client, session.services.database), session.session_id, session.place.region)
    finally:
        client.close()


class MongoProcesses:
    """Processes of one session in one database, None: of all of them; of one region, each of which has a supervisor.
    What is wanted of a name outlives its session."""

    def __init__(self, database: Database, session_id: str | None, region: str | None = None) -> None:
        self._database = database
        self._session_id = session_id
        self._prefix = "" if region is None else f"{region}/"
        # a document without the field counts as null to MongoDB
        self._of_region: Document = {"region": region}
        self._of_session = self._of_region | ({} if session_id is None else {"session_id": session_id})

    async def beat(self, pid: int) -> int:
        """Record that the supervisor is alive, and return the server's time. Raises StoreUnavailableError."""
        is_same: Document = {"$eq": ["$session_id", self._session_id]}
        reports: Document = {
            **self._of_region,
            "session_id": self._session_id,
            "kind": SUPERVISOR,
            "pid": pid,
            "updated": _NOW,
            "since": {"$cond": [is_same, {"$ifNull": ["$since", _NOW]}, _NOW]},
        }
        processes = self._database[PROCESSES].with_options(write_concern=QUICK)
        with translated_errors():
            document = await processes.find_one_and_update(
                {"_id": self._prefix + SUPERVISOR},
                [{"$set": reports}],
                upsert=True,
                return_document=ReturnDocument.AFTER,
            )
        return integer_of((document or {}).get("updated"))

    async def report(self, reports: Iterable[ProcessReport], now: int) -> None:
        """How these are at `now`, by the server's clock. Raises StoreUnavailableError."""
        updates = [
            UpdateOne(
                {"_id": self._prefix + one.name},
                {"$set": self._document(one, now), "$setOnInsert": {"order": _order_document(ProcessOrder())}},
                upsert=True,
            )
            for one in reports
        ]
        if updates:
            with translated_errors():
                await self._database[PROCESSES].bulk_write(updates)

    async def orders(self) -> dict[str, ProcessOrder]:
        """By process name, of those reported that may be stopped. Raises StoreUnavailableError."""
        wanted: Document = {**self._of_region, "kind": {"$in": sorted(STOPPABLE)}}
        with translated_errors():
            found = self._database[PROCESSES].find(wanted, {"order": 1})
            return {self._name_of(document): _order_of(document) async for document in found}

    async def want(self, name: str, wanted: Wanted, who: str) -> Process | None:
        """Note what is wanted of a process of this session; None if there is none that may be stopped.

        Raises StoreUnavailableError. What is wanted already stays as it was, by whom and when.
        """
        which: Document = {"_id": self._prefix + name, "kind": {"$in": sorted(STOPPABLE)}, **self._of_session}
        with translated_errors():
            order = ProcessOrder(wanted, who, await server_now(self._database))
            await self._database[PROCESSES].update_one(
                which | {"order.wanted": {"$ne": wanted}}, {"$set": {"order": _order_document(order)}}
            )
        return next((one for one in await self.all() if one.name == name and one.is_stoppable), None)

    async def all(self) -> list[Process]:
        """By name, the supervisor among them. Raises StoreUnavailableError.

        Of a supervisor that was not heard of for a while all are `unknown`.
        """
        with translated_errors():
            now = await server_now(self._database)
            documents = [one async for one in self._database[PROCESSES].find(self._of_session).sort("_id", ASCENDING)]
        heartbeat_at = {
            str(one.get("session_id")): integer_of(one.get("updated"))
            for one in documents
            if self._name_of(one) == SUPERVISOR
        }
        return [
            _process_of(one, self._name_of(one), heartbeat_at.get(str(one.get("session_id")), 0), now)
            for one in documents
        ]

    def _name_of(self, document: Document) -> str:
        return str(document["_id"]).removeprefix(self._prefix)

    def _document(self, reports: ProcessReport, now: int) -> Document:
        return {
            **self._of_region,
            "session_id": self._session_id,
            "kind": reports.kind,
            "exchange": reports.exchange,
            "state": reports.state,
            "since": now - reports.age,
            "pid": reports.pid,
            "restarts": reports.restarts,
            "last_end": reports.last_end,
        }


def _process_of(document: Document, name: str, heartbeat_at: int, now: int) -> Process:
    """Raise StoreError if the document is of another version of this program."""
    state = document.get("state", "ready")
    fields = {
        "name": name,
        "kind": document.get("kind"),
        "exchange": document.get("exchange"),
        "state": "unknown" if is_silent(heartbeat_at, now) else state,
        "reported_state": state,
        "pid": document.get("pid"),
        "since": document.get("since", 0),
        "restarts": document.get("restarts", 0),
        "last_end": document.get("last_end"),
        "order": _order_of(document),
        "updated": heartbeat_at,
    }
    try:
        return _PROCESS.validate_python(fields)
    except ValidationError as error:
        raise StoreError(f"process {document['_id']!r} is not as this version writes it: {error}") from error


def _order_of(document: Document) -> ProcessOrder:
    order = document.get("order")
    if not isinstance(order, Mapping):
        return ProcessOrder()
    by = order.get("by")
    return ProcessOrder(
        "stopped" if order.get("wanted") == "stopped" else "running",
        by if isinstance(by, str) else None,
        integer_of(order.get("at")),
    )


def _order_document(order: ProcessOrder) -> Document:
    return {"wanted": order.wanted, "by": order.by, "at": order.at}
