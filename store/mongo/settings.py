"""The settings in force and all their versions: who changed what, when."""

from collections.abc import AsyncGenerator
from functools import partial

from pymongo import ASCENDING, DESCENDING, InsertOne, ReplaceOne

from market.decide.settings import Settings
from market.decide.settings_entries import EntryChange, changed_entries
from store.app_actions import (
    ACTIONS,
    MINUTE,
    ActionFacts,
    AppAction,
    AppActionOutcome,
    EntryAuthor,
    StandingEntry,
    action_entry,
    next_version,
    refusal,
    standing_entries,
)
from store.operations.audit import audit_document
from store.records.audit_entry import AuditEntry
from store.server.change_streams import ChangeFollower, ChangeStreamProgress, read_until_reachable
from store.server.client import Database, Document, translated_errors
from store.server.documents import (
    AUDIT,
    SETTINGS,
    SETTINGS_ID,
    SETTINGS_VERSIONS,
    integer_of,
    settings_document,
    settings_of,
    version_of,
)
from store.server.transactions import Transaction, in_transaction
from store.settings_versions import Following, SettingsVersions, halt_entry, without_exchange

WAIT_MS = 250
"""How often at least a watcher hears from the server: bots post nothing once it has been silent for a second."""


class MongoSettings(SettingsVersions):
    """Settings of one database; every change is one transaction."""

    def __init__(self, database: Database, progress: ChangeStreamProgress | None = None) -> None:
        self._progress = progress
        self._database = database

    async def current(self) -> Settings | None:
        """Those in force."""
        with translated_errors():
            document = await self._database[SETTINGS].find_one({"_id": SETTINGS_ID})
        return None if document is None else settings_of(document)

    async def put(self, following: Following, who: str) -> Settings | None:
        def step(transaction: Transaction) -> Settings | None:
            current = settings_in(transaction)
            after = following(current)
            if after is not None and after is not current:
                _store(transaction, current, after, who)
            return after

        return await in_transaction(self._database, step)

    async def halt_exchange(self, exchange: str, entry: AuditEntry, age: int) -> Settings | None:
        def step(transaction: Transaction) -> Settings | None:
            current = settings_in(transaction)
            after = without_exchange(current, exchange)
            if current is None or after is None:
                return None
            now = transaction.now()
            if transaction.find_one(AUDIT, {"_id": entry.entry_id}, {"_id": 1}) or _enabled_since(
                transaction, exchange, now - age
            ):
                return None
            transaction.write(AUDIT, [InsertOne(audit_document(halt_entry(entry, current, after, now)))])
            _store(transaction, current, after, entry.who)
            return after

        return await in_transaction(self._database, step)

    async def act(self, action: AppAction, entry: AuditEntry) -> AppActionOutcome:
        def step(transaction: Transaction) -> AppActionOutcome:
            current = settings_in(transaction)
            if current is None:
                return AppActionOutcome("unchanged")
            facts = _facts(transaction, action, entry)
            refused = refusal(action, current, entry.who, facts)
            if refused is not None:
                return AppActionOutcome(refused)
            after = next_version(action, current)
            done = action_entry(entry, action, current, after, facts.now)
            transaction.write(AUDIT, [InsertOne(audit_document(done))])
            if after is current:
                return AppActionOutcome()
            _store(transaction, current, after, entry.who)
            return AppActionOutcome(settings=after)

        return await in_transaction(self._database, step)

    async def entries_of_apps(self) -> tuple[StandingEntry, ...]:
        def step(transaction: Transaction) -> tuple[StandingEntry, ...]:
            return standing_entries(settings_in(transaction), partial(_last_author, transaction))

        return await in_transaction(self._database, step)

    async def watch(self) -> AsyncGenerator[Settings]:
        """Those in force, then each later version once, in order, whatever happens to the connection."""
        seen: int | None = None
        async with ChangeFollower(
            self._database[SETTINGS_VERSIONS], progress=self._progress, wait_ms=WAIT_MS
        ) as changes:
            while True:
                await changes.next()
                for settings in await read_until_reachable(partial(self._later_than, seen)):
                    seen = settings.version
                    yield settings

    async def _later_than(self, version: int | None) -> list[Settings]:
        """Later versions, oldest first; only those in force if none is known."""
        if version is None:
            current = await self.current()
            return [] if current is None else [current]
        with translated_errors():
            found = self._database[SETTINGS_VERSIONS].find({"_id": {"$gt": version}}).sort("_id", ASCENDING)
            return [version_of(document).after async for document in found]


def settings_in(transaction: Transaction) -> Settings | None:
    """Those in force."""
    document = transaction.find_one(SETTINGS, {"_id": SETTINGS_ID})
    return None if document is None else settings_of(document)


def _enabled_since(transaction: Transaction, exchange: str, since: int) -> bool:
    """As `store.settings_versions.is_enabling`, of any version."""
    enabling: Document = {
        "at": {"$gt": since},
        "before": {"$ne": None},
        "before.enabled_exchanges": {"$ne": exchange},
        "after.enabled_exchanges": exchange,
    }
    return transaction.find_one(SETTINGS_VERSIONS, enabling, {"_id": 1}) is not None


def _facts(transaction: Transaction, action: AppAction, entry: AuditEntry) -> ActionFacts:
    now, change = transaction.now(), action.change
    mine: Document = {"who": entry.who, "action": {"$in": list(ACTIONS)}}
    return ActionFacts(
        now=now,
        is_repeated=transaction.find_one(AUDIT, {"_id": entry.entry_id}, {"_id": 1}) is not None,
        since_minute=0 if action.takes_back else _since_minute(transaction, action, entry, now),
        last_row_time=None if change is None else _last_row_time(transaction, mine | {"target": change.name}),
        last=None if change is None else _last_author(transaction, change),
    )


def _since_minute(transaction: Transaction, action: AppAction, entry: AuditEntry, now: int) -> int:
    alike: Document = {"who": entry.who, "action": entry.action}
    if action.change is not None:
        alike["after.value"] = {"$ne": None}
    # rows that count are a minute old at most, and so their neighbours were acted on within two
    beside = {"$gt": action.row_time - MINUTE, "$lt": action.row_time + MINUTE}
    lately: list[Document] = [
        {"at": {"$gt": now - MINUTE}},
        {"at": {"$gt": now - 2 * MINUTE}, "after.row_time": beside},
    ]
    recent = transaction.aggregate(AUDIT, [{"$match": alike | {"$or": lately}}, {"$count": "n"}])
    return integer_of(recent[0]["n"]) if recent else 0


def _last_row_time(transaction: Transaction, wanted: Document) -> int | None:
    order: Document = {"$sort": {"at": DESCENDING, "_id": DESCENDING}}
    time: Document = {"$project": {"row_time": "$after.row_time"}}
    found = transaction.aggregate(AUDIT, [{"$match": wanted}, order, {"$limit": 1}, time])
    return integer_of(found[0].get("row_time")) if found else None


def _last_author(transaction: Transaction, change: EntryChange) -> EntryAuthor | None:
    """Return who changed the entry last; None if nobody ever did."""
    wanted: tuple[Document, Document] = {"changed": change.name}, _changed_by_older_programs(change)
    for one in wanted:
        newest: list[Document] = [{"$match": one}, {"$sort": {"_id": DESCENDING}}, {"$limit": 1}]
        found = transaction.aggregate(SETTINGS_VERSIONS, [*newest, {"$project": {"who": 1, "at": 1}}])
        if found:
            return EntryAuthor(str(found[0]["who"]), integer_of(found[0]["at"]))
    return None


def _changed_by_older_programs(change: EntryChange) -> Document:
    """Return the filter for versions that do not name what they changed. Nobody wrote thresholds of assets and pairs
    then."""
    if change.setting != "disabled_assets":
        return {"_id": {"$lt": 0}}
    key: Document = {"$literal": change.key}
    sides = [{"$in": [key, {"$ifNull": [f"${side}.disabled_assets", []]}]} for side in ("before", "after")]
    return {"changed": {"$exists": False}, "$expr": {"$ne": sides}}


def _store(transaction: Transaction, before: Settings | None, after: Settings, who: str) -> None:
    document = settings_document(after)
    transaction.write(SETTINGS, [ReplaceOne({"_id": SETTINGS_ID}, document, upsert=True)])
    version: Document = {
        "_id": after.version,
        "at": transaction.now(),
        "who": who,
        "before": None if before is None else settings_document(before),
        "after": document,
        "changed": [one.name for one in changed_entries(before, after)],
    }
    transaction.write(SETTINGS_VERSIONS, [InsertOne(version)])
