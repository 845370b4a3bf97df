"""What each member of a replica set has of the books by itself, which an audit compares once links are healed."""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.read_concern import ReadConcern

from runtime.logins import Address, login_of
from store.errors import StoreError
from store.server.client import REGION, STREAMED, Client, connect, translated_errors
from store.server.documents import ARBITRAGES, BALANCES, FILLS, STEPS

BOOKS = (ARBITRAGES, STEPS, FILLS, BALANCES)
URI = re.compile(r"(mongodb://(?:[^@/]*@)?)([^/?]+)(/[^?]*)?(?:\?(.*))?")
LOCAL = ReadConcern("local")
AS_STORED: CodecOptions[Any] = CodecOptions(document_class=RawBSONDocument)


@dataclass(frozen=True, slots=True)
class BookCopy:
    """One collection as one member has it: number of documents, and a hash of all of them by id."""

    count: int
    digest: str


async def member_books(uri: str, database: str) -> dict[str, dict[str, BookCopy]]:
    """Region of each member of `uri` (its address, if it has none) → collection of BOOKS → its copy.

    Each is asked itself, for what it has and not for what a majority has. Writes meanwhile make copies differ.
    Raises StoreUnavailableError if a member is not reached, StoreError.
    """
    copies = {}
    for address in member_uris(uri):
        client = connect(address)
        try:
            with translated_errors():
                hello = await client.admin.command("hello")
                own = {name: await _copy(client, database, name) for name in BOOKS}
        finally:
            client.close()
        copies[str(hello.get("tags", {}).get(REGION, hello["me"]))] = own
    return copies


def member_uris(uri: str) -> list[str]:
    """One for each member that `uri` names, which asks that member alone. Raises StoreError for another kind of URI."""
    found = URI.fullmatch(uri)
    if found is None:
        raise StoreError("MongoDB's address must begin with mongodb:// and name each member, to ask them one by one.")
    before, members, path, options = found.groups()
    own = f"{options}&directConnection=true" if options else "directConnection=true"
    return [Address(f"{before}{member}{path or '/'}?{own}", login_of(uri)) for member in members.split(",")]


async def _copy(client: Client, database: str, name: str) -> BookCopy:
    collection = client[database].get_collection(name, codec_options=AS_STORED, read_concern=LOCAL)
    digest, count = sha256(), 0
    async for document in collection.find({}, sort=[("_id", 1)], batch_size=STREAMED):
        digest.update(document.raw)
        count += 1
    return BookCopy(count, digest.hexdigest())
