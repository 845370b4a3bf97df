"""A MongoDB that takes nothing but TLS, with a certificate of ours, reached as a session reaches it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from launch.commands.doctor import configured_findings
from launch.config.configuration import Configuration
from launch.sessions.paper import paper_settings
from runtime.certificate_issuing import SERVER_DAYS, moment_of
from runtime.clock import wall_now
from runtime.logins import Address
from store.errors import LoginRefusedError, StoreUnavailableError
from store.mongo.store import MongoTradeStore
from store.server.client import check_reachable, connect
from tests.secured_services import MONGODB_LOGINS, SecuredMongod, secured_mongod
from tests.services import LOGIN
from tests.tls_server import certificate_server, made_certificates


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredMongod]:
    with secured_mongod(tmp_path_factory.mktemp("secured")) as service:
        yield service


async def test_the_store_works_over_tls(secured: SecuredMongod) -> None:
    address, settings = secured.configured(secured.files.ca), paper_settings(Configuration())
    await check_reachable(address)
    async with MongoTradeStore(connect(address), "secured", "session-1") as store:
        await store.prepare()
        await store.settings.create(settings)
        assert await store.settings.current() == settings


async def test_a_wrong_password_is_refused(secured: SecuredMongod) -> None:
    guessed = Address(secured.configured(secured.files.ca), replace(LOGIN, password="guessed"))
    with pytest.raises(
        LoginRefusedError, match=r"^MongoDB refused the login \(Authentication failed\); check its user"
    ):
        await check_reachable(guessed)


@pytest.mark.parametrize(
    ("authority", "host", "words"),
    [
        ("other", "127.0.0.1", r"certificate verify failed: .*authority in mongodb_ca\."),
        ("own", "127.0.0.2", r"not valid for '127\.0\.0\.2'.*for this host"),
        (None, "127.0.0.1", "connection closed; if it asks for TLS, set mongodb_ca"),
    ],
    ids=["wrong authority", "wrong host", "plain text"],
)
async def test_a_server_that_cannot_be_trusted_is_refused(
    secured: SecuredMongod, tmp_path: Path, authority: str | None, host: str, words: str
) -> None:
    authorities = {None: None, "own": secured.files.ca, "other": made_certificates(tmp_path).ca}
    with pytest.raises(StoreUnavailableError, match=words) as refused:
        await check_reachable(secured.configured(authorities[authority], host, "directConnection=true"))
    assert re.fullmatch(r"MongoDB is not reachable: [^\n]*", str(refused.value))


async def test_an_expired_certificate_is_refused(tmp_path: Path) -> None:
    former = made_certificates(tmp_path, at=moment_of(wall_now()) - timedelta(days=SERVER_DAYS + 1))
    with certificate_server(former.server("localhost")) as port:
        expired = SecuredMongod(former, port)
        with pytest.raises(StoreUnavailableError, match=r"certificate has expired.*valid today"):
            await check_reachable(expired.configured(former.ca))


def test_the_doctor_says_what_a_certificate_is_worth(secured: SecuredMongod, tmp_path: Path) -> None:
    uri = f"mongodb://127.0.0.1:{secured.port},127.0.0.2:{secured.port}/?replicaSet=rs0"
    config = Configuration(mongodb=uri, mongodb_ca=str(secured.files.ca))
    own, other = (one for one in configured_findings(config, MONGODB_LOGINS) if "certificate" in one.subject)
    assert (own.state, "has one until 20" in own.text) == ("ok", True)
    assert (other.state, "not valid for '127.0.0.2'" in other.text) == ("missing", True)
    soon = made_certificates(tmp_path, at=moment_of(wall_now()) - timedelta(days=SERVER_DAYS - 20))
    with certificate_server(soon.server("localhost")) as port:
        config = Configuration(mongodb=f"mongodb://localhost:{port}/?tls=true&tlsCAFile={soon.ca}")
        (ending,) = (one for one in configured_findings(config, {}) if "certificate" in one.subject)
    assert (ending.state, "renew it there" in ending.text) == ("advice", True)
