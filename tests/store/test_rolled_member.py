"""A member that was away for longer than the oplog of the others reaches back."""

import asyncio
import shutil
from pathlib import Path

import pytest

from store.server.member_states import MemberRole
from store.server.replica_set import REPLICA_SET
from store.server.system_client import system_client
from tests.services import MONGODB_KEY, START_SECONDS
from tests.store.regional_mongods import CALM_MS, RegionalMongods, regional_mongods
from tests.store.rolling import SMALL_OPLOG, roll_oplog
from tests.store.test_outages import until
from tests.store.test_regions import MANY

pytestmark = pytest.mark.soak
DEADLINE_SECONDS = 300
AWAY = "jp"
TOO_OLD = "Too stale to catch up. Entering maintenance mode"
"""What mongod logs; of its state it says no more than that it recovers."""


async def becomes(mongods: RegionalMongods, role: MemberRole) -> None:
    """Its role, as the pages of another region see it."""
    address = mongods.members[AWAY].address
    async with mongods.store("us") as store:
        await store.server_now()
        place = store.place
        assert place is not None
        await until(lambda: {one.address: one.role for one in place.primary.members}[address] == role)


async def test_it_has_nothing_to_read_until_it_begins_anew_and_copies_all(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        with regional_mongods(tmp_path, election_ms=CALM_MS, options=SMALL_OPLOG) as mongods:
            await mongods.wait_ready()
            async with mongods.store("us") as store:
                await store.prepare()
                await store.settings.create(MANY)
            process, member = mongods.processes[AWAY], mongods.members[AWAY]
            process.kill()
            client = system_client(mongods.members["us"].address, f"replicaSet={REPLICA_SET}", MONGODB_KEY)
            await roll_oplog(client)
            process.start()
            await until(lambda: TOO_OLD in process.log_path.read_text())
            await becomes(mongods, "other")
            # as the page says that it is to be done
            process.kill()
            shutil.rmtree(member.folder)
            member.prepare()
            process.start()
            await member.wait_ready(START_SECONDS)
            await becomes(mongods, "secondary")
            rows = await client["filler"]["rows"].count_documents({})
            client.close()
            alone = system_client(member.address, "directConnection=true&readPreference=nearest", MONGODB_KEY)
            assert await alone["filler"]["rows"].count_documents({}) == rows
            alone.close()
