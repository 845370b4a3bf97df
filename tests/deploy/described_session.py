"""What the commands of docs/deployment.md write."""

import re
import shlex
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from exchanges.addresses import every_address
from exchanges.ccxt.client import make_exchange, session_config
from launch.commands.main import run
from launch.setup.login_files import FOLDER, with_logins
from runtime.logins import Login, login_of
from session.session import Session
from tests.deploy.manifests import ROOT

Service = Literal["kafka", "mongodb"]
SERVICES: tuple[Service, ...] = get_args(Service)
PAGE = ROOT / "docs" / "deployment.md"
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
(IMAGE_HOME,) = map(Path, re.findall(r"^ENV ARBITRAGE_HOME=(.*)$", DOCKERFILE, re.MULTILINE))
"""The data folder of each part."""


def made_by_page(named: str, folder: Path) -> Path:
    """Run the one command of the page that makes the folder `named`, with `folder` in place of it."""
    pattern = rf"^arbitrage (apart make {re.escape(named)} (?:.*\\\n)*.*)$"
    (command,) = re.findall(pattern, PAGE.read_text(), re.MULTILINE)
    words = shlex.split(command.replace("\\\n", ""))
    words[2] = str(folder)
    config = words.index("--config") + 1
    words[config] = str(ROOT / words[config])
    assert run(words) == 0
    return folder


async def assert_all_exchanges_are_called(session: Session) -> None:
    """Check the addresses of the clients that bots and feeds make; a client refuses one that no simulated exchange can
    have."""
    for name in session.exchanges:
        client = make_exchange(session_config(session, name, {}))
        try:
            addresses = [client.implode_hostname(each) for each in every_address(client.urls)]
        finally:
            await client.close()
        assert {urlsplit(each).netloc for each in addresses} == {urlsplit(session.simulated.url or "").netloc}


def login_by(session: Session, role: str, service: Service) -> Login | None:
    """Return the login that a part of that role reads there."""
    assert (session.home / FOLDER / f"{role}.json").exists()
    mine = with_logins(session, role)
    return login_of(mine.services.kafka if service == "kafka" else mine.services.mongodb)
