"""Each member's own copy of the books: the same if nothing differs, another for any change."""

import asyncio
from pathlib import Path

import pytest

from market.trade.leases import UNFENCED
from runtime.logins import Address, Login, login_of
from store.errors import StoreError
from store.mongo.store import MongoTradeStore
from store.queries.member_books import BOOKS, member_books, member_uris
from tests.market.samples import settings_of
from tests.services import LOGIN
from tests.store.regional_mongods import DATABASE, REGIONS, regional_mongods
from tests.store.reservation_requests import open_books, request

MANY = settings_of(max_open_arbitrages=100)
DEADLINE_SECONDS = 240


@pytest.mark.parametrize(
    ("uri", "members"),
    [
        (
            "mongodb://10.0.0.1:1,10.0.0.2:2/?replicaSet=rs0",
            [
                "mongodb://10.0.0.1:1/?replicaSet=rs0&directConnection=true",
                "mongodb://10.0.0.2:2/?replicaSet=rs0&directConnection=true",
            ],
        ),
        ("mongodb://host", ["mongodb://host/?directConnection=true"]),
        (
            "mongodb://user:word@one,two/admin?tls=true",
            [
                "mongodb://user:word@one/admin?tls=true&directConnection=true",
                "mongodb://user:word@two/admin?tls=true&directConnection=true",
            ],
        ),
    ],
)
def test_each_member_that_an_address_names_is_asked_by_itself(uri: str, members: list[str]) -> None:
    login = Login("reader", "secret")
    found = member_uris(Address(uri, login))
    assert found == members
    assert [login_of(one) for one in found] == [login] * len(members)


def test_an_address_that_names_no_members_is_refused() -> None:
    with pytest.raises(StoreError, match="must begin with mongodb:// and name each member"):
        member_uris("mongodb+srv://cluster.example/")


async def test_a_copy_differs_after_any_write(mongodb_uri: str, database: str, mongo_store: MongoTradeStore) -> None:
    await open_books(mongo_store, MANY)
    (before,) = (await member_books(mongodb_uri, database)).values()
    assert await member_books(mongodb_uri, database) == await member_books(mongodb_uri, database)
    assert (await mongo_store.reserve(request(), UNFENCED)).rejection is None
    (after,) = (await member_books(mongodb_uri, database)).values()
    assert {name: (before[name].count, after[name].count) for name in BOOKS} == {
        "arbitrages": (0, 1),
        "steps": (0, 1),
        "fills": (0, 0),
        "balances": (4, 4),
    }
    assert {name for name in BOOKS if before[name].digest != after[name].digest} == {"arbitrages", "steps", "balances"}


@pytest.mark.soak
async def test_all_regions_have_the_same_books(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        with regional_mongods(tmp_path) as mongods:
            await mongods.wait_ready()
            async with mongods.store("us") as store:
                await store.prepare()
                await open_books(store, MANY)
                assert (await store.reserve(request(), UNFENCED)).rejection is None
            uri = Address(mongods.replica_set.uri, LOGIN)
            copies = await member_books(uri, DATABASE)
            # a member may be behind by a moment
            while any(own != copies["us"] for own in copies.values()):
                copies = await member_books(uri, DATABASE)
            assert set(copies) == set(REGIONS)
            assert copies["jp"]["arbitrages"].count == 1
