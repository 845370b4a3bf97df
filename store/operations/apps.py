"""Stored stream apps in MongoDB: users write the apps and their versions, hosts write their reports."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pymongo import ASCENDING, DESCENDING, DeleteMany, InsertOne, ReplaceOne

from store.errors import AppExistsError, AppRunsError, StoreError, VersionConflictError
from store.records.apps import AppOrder, AppReport, AppVersion, AppWanted, StoredApp, description_of, ordered
from store.server.change_streams import ChangeFollower, ChangeStreamProgress, read_until_reachable
from store.server.client import Database, Document, translated_errors
from store.server.clock import server_now
from store.server.documents import APP_REPORTS, APP_VERSIONS, STREAM_APPS
from store.server.transactions import Transaction, in_transaction

WAIT_MS = 250
"""How often at least a watcher hears from the server."""

_APP = TypeAdapter(StoredApp)
_VERSION = TypeAdapter(AppVersion)
_REPORT = TypeAdapter(AppReport)

Value = TypeVar("Value")
Change = Callable[[Transaction, StoredApp | None], StoredApp | None]


class MongoApps:
    """`store.ports.apps.StoredApps` in one database. `region`: of the host that reports, and whose reports are read, in
    a session with regions."""

    def __init__(
        self, database: Database, region: str | None = None, progress: ChangeStreamProgress | None = None
    ) -> None:
        self._database = database
        self._prefix = "" if region is None else f"{region}/"
        self._progress = progress

    async def apps(self) -> list[StoredApp]:
        with translated_errors():
            documents = [one async for one in self._database[STREAM_APPS].find().sort("_id", ASCENDING)]
            reports = {str(one["_id"]): one async for one in self._database[APP_REPORTS].find()}
        return [_app_of(one, reports.get(self._prefix + str(one["_id"]))) for one in documents]

    async def app(self, name: str) -> StoredApp | None:
        with translated_errors():
            document = await self._database[STREAM_APPS].find_one({"_id": name})
            report = await self._database[APP_REPORTS].find_one({"_id": self._prefix + name})
        return None if document is None else _app_of(document, report)

    async def create(self, name: str, text: str, who: str, note: str = "") -> StoredApp:
        def step(transaction: Transaction, known: StoredApp | None) -> StoredApp:
            if known is not None:
                raise AppExistsError(name)
            now = transaction.now()
            return _added(transaction, StoredApp(name, 1, who, now, now), text, note)

        created = await self._change(name, step)
        if created is None:
            raise StoreError(f"the app {name} was not stored")
        return created

    async def replace(self, name: str, text: str, expected_version: int, who: str, note: str = "") -> StoredApp | None:
        def step(transaction: Transaction, known: StoredApp | None) -> StoredApp | None:
            if known is None:
                return None
            if known.version != expected_version:
                raise VersionConflictError(known.version, f"the app {name}")
            changed = replace(known, version=expected_version + 1, author=who, updated_at=transaction.now())
            return _added(transaction, changed, text, note)

        return await self._change(name, step)

    async def order(
        self,
        name: str,
        wanted: AppWanted,
        who: str,
        version: int | None = None,
        *,
        keeps_state: bool = True,
        savepoint: str = "",
        regions: tuple[str, ...] | None = None,
    ) -> StoredApp | None:
        def step(transaction: Transaction, known: StoredApp | None) -> StoredApp | None:
            if known is None:
                return None
            number = known.order.version if wanted == "stopped" else version or known.version
            if number is not None and transaction.find_one(APP_VERSIONS, {"_id": _key(name, number)}) is None:
                return None
            places = known.order.regions if regions is None else regions
            order = AppOrder(
                wanted, number, keeps_state, by=who, at=transaction.now(), savepoint=savepoint, regions=places
            )
            after = ordered(known, order)
            _write(transaction, after)
            return after

        return await self._change(name, step)

    async def remove(self, name: str) -> bool:
        def step(transaction: Transaction, known: StoredApp | None) -> StoredApp | None:
            if known is None:
                return None
            if known.order.wanted == "published":
                raise AppRunsError(name)
            transaction.write(STREAM_APPS, [DeleteMany({"_id": name})])
            transaction.write(APP_VERSIONS, [DeleteMany({"name": name})])
            return known

        return await self._change(name, step) is not None

    async def version(self, name: str, version: int) -> AppVersion | None:
        with translated_errors():
            document = await self._database[APP_VERSIONS].find_one({"_id": _key(name, version)})
        return None if document is None else _value(_VERSION, document)

    async def versions(self, name: str, *, with_texts: bool = True) -> list[AppVersion]:
        left_out = None if with_texts else {"text": False}
        with translated_errors():
            found = self._database[APP_VERSIONS].find({"name": name}, left_out).sort("version", DESCENDING)
            return [_value(_VERSION, {"text": "", **one}) async for one in found]

    async def report(self, name: str, report: AppReport) -> None:
        with translated_errors():
            document = _document(_REPORT, replace(report, at=await server_now(self._database)))
            await self._database[APP_REPORTS].replace_one({"_id": self._prefix + name}, document, upsert=True)

    async def watch(self) -> AsyncGenerator[list[StoredApp]]:
        async with ChangeFollower(
            self._database[STREAM_APPS], progress=self._progress, wait_ms=WAIT_MS, with_documents=False
        ) as changes:
            while True:
                # at first there is no change, but what is there already
                await changes.next()
                yield await read_until_reachable(self.apps)

    async def _change(self, name: str, step: Change) -> StoredApp | None:
        """Return what `step` makes of the app, in one transaction; what its host says of it is no part of that."""

        def changed(transaction: Transaction) -> StoredApp | None:
            document = transaction.find_one(STREAM_APPS, {"_id": name})
            return step(transaction, None if document is None else _app_of(document, None))

        after = await in_transaction(self._database, changed)
        if after is None:
            return None
        with translated_errors():
            report = await self._database[APP_REPORTS].find_one({"_id": self._prefix + name})
        return after if report is None else replace(after, report=_value(_REPORT, report))


def _added(transaction: Transaction, app: StoredApp, text: str, note: str) -> StoredApp:
    version = AppVersion(app.name, app.version, text, app.author, app.updated_at, note)
    document = _document(_VERSION, version) | {"_id": _key(app.name, app.version)}
    transaction.write(APP_VERSIONS, [InsertOne(document)])
    described = replace(app, description=description_of(text))
    _write(transaction, described)
    return described


def _write(transaction: Transaction, app: StoredApp) -> None:
    document = _document(_APP, replace(app, report=None))
    transaction.write(STREAM_APPS, [ReplaceOne({"_id": app.name}, document, upsert=True)])


def _app_of(document: Document, report: Document | None) -> StoredApp:
    of_host = None if report is None else _value(_REPORT, report)
    return replace(_value(_APP, document), report=of_host)


def _key(name: str, version: int) -> str:
    return f"{name}|{version}"


def _document(adapter: TypeAdapter[Value], value: Value) -> Document:
    document: Document = adapter.dump_python(value, mode="json")
    return document


def _value(adapter: TypeAdapter[Value], document: Document) -> Value:
    """Raise StoreError if the document is of another version of this program."""
    try:
        return adapter.validate_python({name: value for name, value in document.items() if name != "_id"})
    except ValidationError as error:
        raise StoreError(f"the app {document.get('_id')!r} is not as this version writes it: {error}") from error
