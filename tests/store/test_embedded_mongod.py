"""The embedded mongod as a process: clean ends, unclean ends, and what it says if it cannot start."""

import asyncio
import socket
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pymongo import UpdateOne
from pymongo.errors import OperationFailure

from runtime.logins import Address, Login
from store.errors import StoreError, StoreUnavailableError
from store.server.client import connect, database_of
from store.server.database_users import DatabaseUser
from store.server.embedded_mongod import EmbeddedMongod, mongod_program, prepare
from store.server.member_start import prepare_member
from store.server.replica_set import regional_set
from store.server.system_client import system_client
from store.server.transactions import Transaction, in_transaction
from tests.services import MONGODB_KEY, mongod_process, wait_primary

DEADLINE_SECONDS = 60


async def test_it_stops_cleanly_and_comes_back_with_its_data(tmp_path: Path) -> None:
    with mongod_process(tmp_path) as process:
        await wait_primary(process)
        client = connect(process.address)
        await client["kept"]["rows"].insert_one({"_id": 1})
        process.stop()
        assert (tmp_path / "mongodb" / "mongod.lock").read_text() == ""
        process.start()
        await wait_primary(process)
        assert await client["kept"]["rows"].count_documents({}) == 1
        client.close()
        journal = tmp_path / "mongodb" / "journal"
        assert sum(file.stat().st_size for file in journal.iterdir()) <= 64 * 2**20, "each session's disk"


async def test_what_a_dead_process_left_open_holds_nobody_up(tmp_path: Path) -> None:
    """As after kill -9 in the middle of a transaction: the rows that it wrote are free again within seconds."""
    with mongod_process(tmp_path) as process:
        await wait_primary(process)
        dead, alive = connect(process.address), connect(process.address)
        await alive["kept"]["rows"].insert_one({"_id": 1, "by": "nobody"})
        session = await dead.start_session()
        session.start_transaction()
        await dead["kept"]["rows"].update_one({"_id": 1}, {"$set": {"by": "dead"}}, session=session)

        def step(transaction: Transaction) -> None:
            transaction.write("rows", [UpdateOne({"_id": 1}, {"$set": {"by": "alive"}})])

        await in_transaction(database_of(alive, "kept"), step)
        assert await alive["kept"]["rows"].find_one() == {"_id": 1, "by": "alive"}
        alive.close()
        dead.close()


async def test_roles_that_are_gone_are_let_in_no_more(tmp_path: Path) -> None:
    with mongod_process(tmp_path) as process:
        place = urlsplit(process.address).netloc
        now, former = (DatabaseUser(Login(name, name * 10), "kept", ()) for name in ("now", "former"))
        for users in ((now, former), (now,)):
            await prepare(place, MONGODB_KEY, users)
        for user, expectation in (
            (now, nullcontext()),
            (former, pytest.raises(OperationFailure, match="Authentication failed")),
        ):
            client = connect(Address(process.address, user.login))
            with expectation:
                assert await client["kept"]["rows"].find_one() is None
            client.close()
        owner = system_client(place, "directConnection=true", MONGODB_KEY)
        assert [role["role"] for role in (await owner.admin.command("rolesInfo", 1))["roles"]] == ["now"]
        owner.close()


async def test_a_session_without_regions_leaves_the_data_of_a_region_alone(tmp_path: Path) -> None:
    with mongod_process(tmp_path) as process:
        place = urlsplit(process.address).netloc
        await prepare_member(regional_set({"us": place}), place, MONGODB_KEY, (), DEADLINE_SECONDS)
        with pytest.raises(StoreError, match="belongs to a session of regions"):
            await prepare(place, MONGODB_KEY, (), DEADLINE_SECONDS)


async def test_it_recovers_from_a_kill_again_and_again(tmp_path: Path) -> None:
    with mongod_process(tmp_path) as process:
        await wait_primary(process)
        client = connect(process.address)
        for index in range(3):
            await client["kept"]["rows"].insert_one({"_id": index})
            process.kill()
            assert (tmp_path / "mongodb" / "mongod.lock").read_text() != ""
            process.start()
            await wait_primary(process)
            assert await client["kept"]["rows"].count_documents({}) == index + 1
        client.close()


async def test_it_listens_on_loopback_alone(tmp_path: Path) -> None:
    command = EmbeddedMongod(tmp_path, 27_017).command()
    assert command[command.index("--bind_ip") + 1] == "127.0.0.1"
    with mongod_process(tmp_path) as process:
        await wait_primary(process)
        elsewhere = socket.gethostbyname(socket.gethostname())
        if elsewhere.startswith("127."):
            pytest.skip("this machine has no address but loopback")
        with pytest.raises(OSError, match="rejected"):
            socket.create_connection((elsewhere, urlsplit(process.address).port or 0), timeout=2)


async def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        async with asyncio.timeout(DEADLINE_SECONDS):
            with pytest.raises(StoreUnavailableError, match="was not ready within 1 s"):
                await EmbeddedMongod(tmp_path, silent.getsockname()[1]).wait_ready(1)


def test_without_a_program_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No mongod"):
        mongod_program("no_such_package", str(tmp_path))


def test_a_program_on_the_path_is_taken(tmp_path: Path) -> None:
    program = tmp_path / "mongod"
    program.write_text("")
    program.chmod(0o755)
    assert mongod_program("no_such_package", str(tmp_path)) == program


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "mongodb").write_text("a file")
    with pytest.raises(StoreError, match="cannot be created"):
        EmbeddedMongod(tmp_path, 27_017).prepare()
