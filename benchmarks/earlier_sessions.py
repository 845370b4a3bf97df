"""Fills a data folder with what earlier sessions would have left in MongoDB: copies of a real session's documents.

Every copy is what the product wrote, byte by byte, except for its times, its ids and its session. The copies lie before
the copied session, spread evenly over a month. Documents that MongoDB deletes after a week are only in the copies of
the last week.
"""

import hashlib
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bson import encode
from bson.raw_bson import RawBSONDocument

from benchmarks.processes import running
from launch.setup.data_layout import database_name
from launch.setup.login_files import own_logins
from market.time_units import MICROSECONDS
from store.server.client import Database, Document
from store.server.documents import (
    ARBITRAGES,
    EPISODES,
    FILLS,
    OPPORTUNITIES,
    REJECTIONS,
    SESSION_BALANCES,
    STEPS,
)
from store.server.embedded_mongod import EmbeddedMongod
from store.server.indexes import RETENTION_SECONDS
from store.server.system_client import system_client
from streams.broker.embedded_broker import free_ports

DAYS = 30
ARBITRAGES_A_SESSION = 5_000
SPARE_SECONDS = 24 * 3_600
"""Documents that would be deleted within a day are left out, since they would go while the measurement runs."""
START_SECONDS = 60.0
FILLING_CACHE = "cache_size=2G"
"""While the folder is filled; the next start has the product's own setting."""
BATCH_BYTES = 8_000_000
FINISHED = ("closed", "unwound", "unfilled")
OF_ARBITRAGES = (ARBITRAGES, STEPS, FILLS)
"""Kept for ever."""
EXPIRING = (OPPORTUNITIES, REJECTIONS, EPISODES)

_IDS = re.compile(rb"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_MICROSECONDS = re.compile(rb"(?<![0-9.])1[5-9][0-9]{14}(?![0-9])")
_SECONDS = re.compile(rb"(?<=\|)1[0-9]{9}(?=\x00)")
"""In the ids of rejections."""
_NUMBERED = ("fill_id", "exchange_order_id")

Replaced = Callable[["Copy", bytes], bytes]


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of the session; the first lies just before it."""

    number: int
    back: int
    """Microseconds before the session; whole seconds."""
    session_id: bytes

    def hashed(self, old: bytes) -> bytes:
        """Return another id of the same form."""
        digits = iter(hashlib.blake2b(old, digest_size=16, salt=struct.pack("<q", self.number)).hexdigest())
        return bytes(sign if sign == ord("-") else ord(next(digits)) for sign in old)

    def earlier(self, old: bytes) -> bytes:
        return str(int(old) - self.back).encode()

    def earlier_second(self, old: bytes) -> bytes:
        return str(int(old) - self.back // MICROSECONDS).encode()

    def earlier_number(self, old: bytes) -> bytes:
        return struct.pack("<q", struct.unpack("<q", old)[0] - self.back)

    def earlier_date(self, old: bytes) -> bytes:
        return struct.pack("<q", struct.unpack("<q", old)[0] - self.back // 1_000)

    def numbered(self, old: bytes) -> bytes:
        """Return an exchange's id: if it is a number, below those of the session, as an exchange counts up."""
        if old.isdigit():
            return str((int(old) - self.number * 100_000) % 10 ** len(old)).zfill(len(old)).encode()
        signs = hashlib.blake2b(old, salt=struct.pack("<q", self.number)).hexdigest().upper().encode()
        return old[:-12] + bytes(sign if sign == ord("-") else new for sign, new in zip(old[-12:], signs, strict=False))

    def of_session(self, _old: bytes) -> bytes:
        return self.session_id


@dataclass(slots=True)
class Template:
    """The documents of a session, cut where copies differ."""

    replaced: dict[bytes, Replaced] = field(default_factory=dict)
    documents: dict[str, list[list[bytes]]] = field(default_factory=dict)
    """Collection → each document's pieces; every second is one of `replaced`."""

    def note(self, documents: Mapping[str, list[Document]], session_id: str) -> None:
        """Note what differs between copies of these documents, and how."""
        for found in documents.values():
            for document in found:
                raw = encode(document)
                self.replaced |= dict.fromkeys(_IDS.findall(raw), Copy.hashed)
                self.replaced |= dict.fromkeys(_MICROSECONDS.findall(raw), Copy.earlier)
                self.replaced |= dict.fromkeys(_SECONDS.findall(raw), Copy.earlier_second)
                self._note_values(document)
        self.replaced[session_id.encode()] = Copy.of_session

    def cut(self, documents: Mapping[str, list[Document]]) -> None:
        self.documents = {name: [self._pieces(encode(one)) for one in found] for name, found in documents.items()}

    def _pieces(self, raw: bytes) -> list[bytes]:
        # the longest first: a number may begin as another does
        marks = sorted((mark for mark in self.replaced if mark in raw), key=len, reverse=True)
        return re.split(b"(" + b"|".join(map(re.escape, marks)) + b")", raw, flags=re.DOTALL)

    def copies(self, copy: Copy, collections: tuple[str, ...]) -> Iterator[tuple[str, RawBSONDocument]]:
        new = {old: replaced(copy, old) for old, replaced in self.replaced.items()}
        for name in collections:
            for pieces in self.documents[name]:
                yield name, RawBSONDocument(b"".join([new.get(piece, piece) for piece in pieces]))

    def _note_values(self, value: object, name: str = "") -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                self._note_values(each, key)
        elif isinstance(value, list):
            for each in value:
                self._note_values(each, name)
        elif isinstance(value, str) and name in _NUMBERED:
            self.replaced.setdefault(value.encode(), Copy.numbered)
        elif isinstance(value, int) and value > 10**15:
            self.replaced[struct.pack("<q", value)] = Copy.earlier_number
        elif name == "recorded_at":
            self.replaced[encode({"": value})[6:14]] = Copy.earlier_date


async def fill(home: Path, arbitrages: int) -> dict[str, int]:
    """Copy the folder's only session until there are `arbitrages`; nothing else may run there. Return collection →
    documents."""
    own, name, [port] = own_logins(home), database_name("paper"), free_ports(1)
    mongod = EmbeddedMongod(home, port, key=own.mongodb_key, users=own.database_users(name))
    mongod.prepare()
    with running(*mongod.command()):
        await mongod.wait_ready(START_SECONDS)
        client = system_client(f"127.0.0.1:{port}", "replicaSet=rs0&directConnection=true", own.mongodb_key)
        try:
            await client.admin.command("setParameter", 1, wiredTigerEngineRuntimeConfig=FILLING_CACHE)
            await fill_database(client[name], arbitrages)
            return {each: await client[name][each].estimated_document_count() for each in (*OF_ARBITRAGES, *EXPIRING)}
        finally:
            await client.admin.command("fsync", 1)
            client.close()


async def fill_database(database: Database, arbitrages: int) -> None:
    documents, balances = await _session(database)
    session_id = str(documents[ARBITRAGES][0]["session_id"])
    template = Template()
    template.note(documents | {SESSION_BALANCES: balances}, session_id)
    template.cut(documents | {SESSION_BALANCES: balances})
    each = len(documents[ARBITRAGES])
    count = -(-arbitrages // each)
    apart = DAYS * 24 * 3_600 // count
    a_session = max(1, ARBITRAGES_A_SESSION // each)
    waiting: dict[str, list[RawBSONDocument]] = {}
    for number in range(1, count + 1):
        back = number * apart
        named = hashlib.blake2b(session_id.encode(), digest_size=16, salt=struct.pack("<q", number // a_session))
        copy = Copy(number, back * MICROSECONDS, named.hexdigest().encode())
        names = OF_ARBITRAGES + (EXPIRING if back < RETENTION_SECONDS - SPARE_SECONDS else ())
        # of the copies that make up a session one has its balances: a document per exchange
        names += (SESSION_BALANCES,) if number % a_session == 0 or number == 1 else ()
        for name, document in template.copies(copy, names):
            waiting.setdefault(name, []).append(document)
        await _write(database, waiting, BATCH_BYTES)
    await _write(database, waiting, 0)


async def _session(database: Database) -> tuple[dict[str, list[Document]], list[Document]]:
    """Return the documents of the arbitrages that a session finished, and its balances."""
    finished = await database[ARBITRAGES].find({"state": {"$in": list(FINISHED)}}).to_list(None)
    if not finished:
        raise SystemExit("the session to be copied finished no arbitrage; let it trade for longer")
    of_those: Document = {"arbitrage_id": {"$in": [one["_id"] for one in finished]}}
    documents: dict[str, list[Document]] = {ARBITRAGES: finished}
    for name in (STEPS, FILLS):
        documents[name] = await database[name].find(of_those).to_list(None)
    for name in EXPIRING:
        documents[name] = await database[name].find().to_list(None)
    return documents, await database[SESSION_BALANCES].find().to_list(None)


async def _write(database: Database, waiting: dict[str, list[Any]], least: int) -> None:
    for name, documents in waiting.items():
        if sum(len(one.raw) for one in documents) > least:
            await database[name].insert_many(documents, ordered=False)
            documents.clear()
