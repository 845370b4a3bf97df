"""The MongoDB that separate regions share: the first region's `prepare` makes one set of three members that accept only
TLS, and each region's logins are valid for all of it."""

from pathlib import Path

import pytest
from pymongo.errors import OperationFailure

from launch.commands.apart import prepare_store
from launch.commands.main import run
from launch.config.configuration import Configuration
from launch.sessions.paper import paper_settings
from launch.setup.data_dir import read_session
from launch.setup.login_files import own_logins, with_logins
from launch.setup.login_rights import SUPERVISOR
from session.session import Session
from store.errors import StoreError
from store.server.client import connect, database_of
from store.server.documents import SETTINGS
from tests.secured_services import members_address, secured_members
from tests.tls_server import made_certificates

REGIONS = ("us", "eu", "jp")


def made(folder: Path) -> Path:
    """Make the folder as `arbitrage apart make` does, for three members on this machine."""
    config, ca = folder / "arbitrage.toml", made_certificates(folder / "certificates", "db.example").ca
    config.write_text(f'mongodb = "{members_address(REGIONS)}"\n')
    words = [word for region in REGIONS for word in ("--region", f"{region}={region}.internal:9092")]
    words += ["--config", str(config), "--exchanges", "http://us.internal:8100", "--mongodb-ca", str(ca)]
    assert run(["apart", "make", str(folder / "made"), *words]) == 0
    return folder / "made"


def session_in(folder: Path, region: str, role: str) -> Session:
    return with_logins(read_session(folder / region), role)


async def prepare(folder: Path, region: str) -> None:
    settings = paper_settings(Configuration())
    session = session_in(folder, region, SUPERVISOR)
    await prepare_store(session, settings, own_logins(session.home, has_regions=True))


@pytest.mark.soak
async def test_the_first_region_makes_the_set_and_the_others_find_it(tmp_path: Path) -> None:
    folder = made(tmp_path)
    with secured_members(tmp_path, made_certificates(tmp_path / "certificates"), folder):
        for region in REGIONS:
            await prepare(folder, region)
        # again, as after a restart of a host
        await prepare(folder, REGIONS[0])
        for region in REGIONS:
            ui = session_in(folder, region, "ui")
            client = connect(ui.services.mongodb)
            try:
                database = database_of(client, ui.services.database)
                assert await database[SETTINGS].count_documents({}) > 0
                with pytest.raises(OperationFailure):
                    await client.admin.command("usersInfo", 1)
            finally:
                client.close()
        nobody = read_session(folder / REGIONS[1])
        with pytest.raises(StoreError, match="authentication"):
            await prepare_store(nobody, paper_settings(Configuration()), None)
