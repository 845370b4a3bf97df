"""The MongoDB that regions apart share: three members that take TLS alone become one set by the first region's
`prepare`, and each region's logins are those to all of it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pymongo.errors import OperationFailure

from launch.cli.apart_command import prepare_store
from launch.cli.main import run
from launch.config.configuration import Configuration
from launch.regions.regions_apart import store_of
from launch.sessions.paper import paper_settings
from launch.setup.data_dir import read_session
from launch.setup.login_files import own_logins, with_logins
from launch.setup.login_rights import SUPERVISOR
from session.session import Session
from store.errors import StoreError
from store.server.documents import SETTINGS
from store.server.embedded_mongod import EmbeddedMongod
from store.server.mongo_client import connect, database_of
from streams.broker.embedded_broker import free_ports
from tests.secured_services import prepared_mongod, tls_options
from tests.service_process import ServiceProcess
from tests.tls_server import made_certificates

REGIONS = ("us", "eu", "jp")


def made(folder: Path) -> Path:
    """As `arbitrage apart make` writes it for three members on this machine."""
    members = ",".join(f"127.0.0.1:{port}" for port in free_ports(len(REGIONS)))
    config, ca = folder / "arbitrage.toml", made_certificates(folder / "certificates", "db.example").ca
    config.write_text(f'mongodb = "mongodb://{members}/?replicaSet=rs0"\n')
    words = [word for region in REGIONS for word in ("--region", f"{region}={region}.internal:9092")]
    words += ["--config", str(config), "--exchanges", "http://us.internal:8100", "--mongodb-ca", str(ca)]
    assert run(["apart", "make", str(folder / "made"), *words]) == 0
    return folder / "made"


def session_in(folder: Path, region: str, role: str) -> Session:
    home = folder / region
    return with_logins(replace(read_session(home), home=home), role)


@contextmanager
def members(folder: Path, made_in: Path) -> Iterator[None]:
    files, wanted = made_certificates(folder / "certificates"), store_of(read_session(made_in / REGIONS[0]))
    with ExitStack() as stack:
        for member in wanted.members:
            key, port = (made_in / member.region / "mongodb.key").read_text(), int(member.address.rpartition(":")[2])
            home = folder / member.region
            mongod = EmbeddedMongod(home, port, tls_options(files, "requireTLS"), key, replica_set=wanted)
            process = ServiceProcess(prepared_mongod(mongod).command(), mongod.uri, home / "mongod.out")
            process.start()
            stack.callback(process.stop)
        yield


async def prepare(folder: Path, region: str) -> None:
    settings = paper_settings(Configuration())
    session = session_in(folder, region, SUPERVISOR)
    await prepare_store(session, settings, own_logins(session.home, has_regions=True))


@pytest.mark.soak
async def test_the_first_region_makes_the_set_and_the_others_find_it(tmp_path: Path) -> None:
    folder = made(tmp_path)
    with members(tmp_path, folder):
        for region in REGIONS:
            await prepare(folder, region)
        # again, as after a restart of a host
        await prepare(folder, REGIONS[0])
        for region in REGIONS:
            ui = session_in(folder, region, "ui")
            client = connect(ui.mongodb)
            try:
                database = database_of(client, ui.database)
                assert await database[SETTINGS].count_documents({}) > 0
                with pytest.raises(OperationFailure):
                    await client.admin.command("usersInfo", 1)
            finally:
                client.close()
        nobody = read_session(folder / REGIONS[1])
        with pytest.raises(StoreError, match="authentication"):
            await prepare_store(nobody, paper_settings(Configuration()), None)
