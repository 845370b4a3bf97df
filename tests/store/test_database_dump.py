"""A database is copied as it was at the first read, whatever is written meanwhile."""

import io
from uuid import uuid4

import pytest

from store.backups.database_dump import blocking_database, database_snapshot, documents_of
from store.errors import StoreError


def test_a_copy_is_of_the_first_read(mongodb_uri: str) -> None:
    name = f"dump_{uuid4().hex}"
    with blocking_database(mongodb_uri, name) as database:
        database["one"].insert_many([{"_id": 1}, {"_id": 2}])
        database["two"].insert_one({"_id": 1})
        database["arbitrages"].insert_one({"_id": 1, "legs": []})
        with database_snapshot(mongodb_uri, name) as snapshot:
            assert snapshot.collections() == ["arbitrages", "one", "two"]
            assert snapshot.granted_since(0) == frozenset()
            database["one"].insert_one({"_id": 3})
            database["two"].delete_one({"_id": 1})
            database["two"].create_index("name")
            database["young"].insert_one({"_id": 1})
            copies = {}
            for collection in ("one", "two"):
                target = io.BytesIO()
                copies[collection] = (snapshot.copy(collection, target), target.getvalue())
            with pytest.raises(StoreError, match="a collection was made while the database was copied; try again"):
                snapshot.copy("young", io.BytesIO())
        database.client.drop_database(name)
    assert copies["one"][0] == 2
    assert [document["_id"] for document in documents_of(io.BytesIO(copies["one"][1]))] == [1, 2]
    assert copies["two"][0] == 1


def test_what_is_cut_off_is_no_copy() -> None:
    with pytest.raises(StoreError, match="cut off"):
        list(documents_of(io.BytesIO(b"\x20\x00\x00\x00short")))
