"""All parts together, each started alone with its own login, over TLS and SCRAM: they trade across regions, their books
agree, and who has a wrong login, sends plain text or would drop a collection is refused."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from pymongo.errors import OperationFailure

from launch.setup.login_files import FOLDER, with_logins
from store.server.documents import ARBITRAGES
from store.server.mongo_client import connect, database_of
from tests.deploy.running_apart import RegionsApart, running_apart
from tests.whole.running import new_home, run_command

pytestmark = [pytest.mark.whole, pytest.mark.soak]

FAR = "bitstamp"
LONG = 180


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegionsApart]:
    with running_apart(tmp_path_factory.mktemp("apart")) as running:
        yield running


def test_regions_trade_with_each_other(apart: RegionsApart) -> None:
    apart.until(lambda: apart.regions.closed_at(FAR, 0) > 0, "an arbitrage across regions is closed", LONG)
    page = apart.session_of("us").page_url
    assert httpx.get(f"{page}/api/health", timeout=30).status_code == 200


async def test_a_bot_of_another_region_drops_nothing(apart: RegionsApart) -> None:
    bot = with_logins(apart.session_of("eu"), "bot")
    client = connect(bot.mongodb)
    try:
        with pytest.raises(OperationFailure, match="not authorized"):
            await database_of(client, bot.database).drop_collection(ARBITRAGES)
    finally:
        client.close()


@pytest.mark.parametrize(
    ("service", "wrong"),
    [
        ("kafka", {"password": "guessed"}),
        ("kafka", {"protocol": "SASL_PLAINTEXT"}),
        ("mongodb", {"password": "guessed"}),
    ],
)
def test_a_part_that_is_not_let_in_ends_with_one_sentence(
    apart: RegionsApart, tmp_path: Path, service: str, wrong: Mapping[str, str]
) -> None:
    home = new_home(tmp_path / "home")
    for name in ("run.json", "exchange_accounts.json", FOLDER):
        source = apart.home_of("eu") / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, home / name)
    login = home / FOLDER / "feed.json"
    kept = json.loads(login.read_text())
    login.write_text(json.dumps(kept | {service: kept[service] | wrong}))
    done = run_command(home, "feed", FAR, seconds=LONG)
    assert done.returncode != 0
    print(done.stdout, done.stderr)
    assert "Traceback" not in done.stderr


def test_the_books_of_all_regions_agree(apart: RegionsApart) -> None:
    apart.regions.switch("reduce_only")
    apart.until(lambda: not apart.regions.open_arbitrages(), "nothing is open", LONG)
    assert set(apart.stop("bot").values()) == {0}
    assert apart.regions.violations() == []
    assert [part.name for part in apart.parts if "ERROR" in part.said or "Traceback" in part.said] == []
