"""Regions over REST, with the real carrier's commands."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from runtime.clock import wall_now
from session.session import Session
from tests.ui.clients import client_of
from tests.ui.regional_dashboard import AuditingReader, application_of, carrier, dashboard_at, regional_session, seen
from tests.ui.samples import session_of
from tests.ui.waiting import until
from ui.api import region_routes
from ui.auth.api_keys import digest_of, ensure_api_key, new_key
from ui.auth.callers import Caller
from ui.auth.key_store import StoredKey, add_key
from ui.services.dashboard import Dashboard
from ui.services.region import change_links

LINKS = "/api/regions/links"


@pytest.fixture(scope="module")
def carrying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("carrier")
    with carrier(home):
        yield home


@pytest.fixture
async def reader() -> AsyncIterator[AuditingReader]:
    opened = AuditingReader()
    yield opened
    await opened.close()


@pytest.fixture
async def regional(carrying: Path, reader: AuditingReader) -> Dashboard:
    """In us, which leads."""
    dashboard = dashboard_at(regional_session(carrying), reader)
    seen(dashboard, "primary", "secondary", "secondary")
    return dashboard


@pytest.fixture
async def rest(regional: Dashboard) -> AsyncIterator[httpx.AsyncClient]:
    """With the owner's key; all links are whole."""
    key = ensure_api_key(regional.session.home).read_text().strip()
    async with client_of(application_of(regional, region_routes.router)) as client:
        client.headers["X-API-Key"] = key
        await client.post(LINKS, json={"command": "heal"})
        yield client


def cut_ways(links: list[dict[str, object]]) -> list[str]:
    return [f"{link['source']}>{link['target']}" for link in links if link["is_cut"]]


async def test_the_page_of_a_region_says_what_it_knows_of_all(rest: httpx.AsyncClient) -> None:
    found = (await rest.get("/api/regions")).json()
    assert (found["region"], found["leader"], found["primary_lost_since"]) == ("us", "us", None)
    assert [(one["name"], one["is_leader"], one["exchanges"]) for one in found["regions"]] == [
        ("us", True, ["alpha"]),
        ("eu", False, ["beta"]),
        ("jp", False, ["gamma"]),
    ]
    assert found["regions"][0]["in_flight"] is None, "the store is away"
    delays = {f"{link['source']}>{link['target']}": link["delay_ms"] for link in found["links"]}
    assert delays == {"us>eu": 40, "us>jp": 75, "eu>us": 40, "eu>jp": 115, "jp>us": 75, "jp>eu": 115}
    assert (cut_ways(found["links"]), found["links_unknown"]) == ([], None)


async def test_a_cut_is_done_recorded_and_healed(rest: httpx.AsyncClient, reader: AuditingReader) -> None:
    answer = await rest.post(LINKS, json={"command": "cut us>jp"})
    assert (answer.status_code, cut_ways(answer.json()["items"])) == (200, ["us>jp"])
    assert cut_ways((await rest.get("/api/regions")).json()["links"]) == ["us>jp"]
    entry = list(reader.recorded.entries.values())[-1]
    assert (entry.who, entry.action, entry.target, entry.outcome) == ("owner", "links.change", "cut us>jp", "done")
    assert (entry.before, entry.after) == ({"us>jp": "75 ms"}, {"us>jp": "cut, 75 ms"})
    healed = await rest.post(LINKS, json={"command": "heal jp"})
    assert cut_ways(healed.json()["items"]) == []


async def test_a_clock_is_set_off_recorded_and_healed(rest: httpx.AsyncClient, reader: AuditingReader) -> None:
    assert (await rest.post(LINKS, json={"command": "skew eu +2s"})).status_code == 200
    found = (await rest.get("/api/regions")).json()
    assert [one["clock_ahead_ms"] for one in found["regions"]] == [0, 2_000, 0]
    entry = list(reader.recorded.entries.values())[-1]
    assert (entry.target, entry.before, entry.after) == (
        "skew eu +2s",
        {"clock of eu": "+0 ms"},
        {"clock of eu": "+2000 ms"},
    )
    # a link's healing leaves it, a region's does not
    for command, ahead in (("heal us eu", 2_000), ("heal eu", 0)):
        await rest.post(LINKS, json={"command": command})
        assert (await rest.get("/api/regions")).json()["regions"][1]["clock_ahead_ms"] == ahead


async def test_a_mistake_is_one_sentence_with_its_column(rest: httpx.AsyncClient, reader: AuditingReader) -> None:
    answer = await rest.post(LINKS, json={"command": "cut kp"})
    why = "column 5: there is no region 'kp'; write us, eu or jp"
    assert answer.status_code == 422
    assert answer.json()["detail"] == f"Not done: {why}."
    assert answer.json()["errors"] == [{"field": "body.command", "why": why}]
    entry = list(reader.recorded.entries.values())[-1]
    assert (entry.outcome, entry.after, entry.reason) == ("rejected", {}, f"{why}.")


@pytest.mark.parametrize("body", [{}, {"command": ""}, {"command": "x" * 201}, {"command": "heal", "region": "jp"}])
async def test_a_body_that_is_no_command_is_refused(rest: httpx.AsyncClient, body: dict[str, str]) -> None:
    assert (await rest.post(LINKS, json=body)).status_code == 422


async def test_viewers_read_and_do_not_change(rest: httpx.AsyncClient, regional: Dashboard) -> None:
    key = new_key()
    add_key(regional.session.home, StoredKey("desk", "viewer", wall_now(), digest_of(key)))
    rest.headers["X-API-Key"] = key
    assert (await rest.get("/api/regions")).status_code == 200
    assert (await rest.post(LINKS, json={"command": "cut jp"})).status_code == 403
    assert cut_ways((await rest.get("/api/regions")).json()["links"]) == []


async def test_a_region_without_the_primary_cannot_record_a_change_and_makes_none(
    rest: httpx.AsyncClient, regional: Dashboard
) -> None:
    seen(regional, "secondary", "unreachable", "unreachable", now=7)
    answer = await rest.post(LINKS, json={"command": "cut jp"})
    assert answer.status_code == 409
    assert "Region us does not reach MongoDB's primary" in answer.json()["detail"]
    found = (await rest.get("/api/regions")).json()
    assert (cut_ways(found["links"]), found["primary_lost_since"]) == ([], 7)


async def test_what_cannot_be_recorded_is_not_done(rest: httpx.AsyncClient, reader: AuditingReader) -> None:
    reader.recorded.is_away = True
    assert (await rest.post(LINKS, json={"command": "cut jp"})).status_code == 503
    assert cut_ways((await rest.get("/api/regions")).json()["links"]) == []


async def test_a_cut_that_takes_the_store_away_is_answered_and_recorded_later(
    rest: httpx.AsyncClient, regional: Dashboard, reader: AuditingReader
) -> None:
    reader.recorded.may_end.clear()
    operator = Caller("owner", "operator", "key", "127.0.0.1")
    links = await change_links(regional, "cut eu", operator, seconds=0)
    assert [f"{link['source']}>{link['target']}" for link in links if link["is_cut"]] == [
        "us>eu",
        "eu>us",
        "eu>jp",
        "jp>eu",
    ]
    entries = reader.recorded.entries
    assert list(entries.values())[-1].outcome == "started"
    reader.recorded.may_end.set()
    await until(lambda: list(entries.values())[-1].outcome == "done")
    await rest.post(LINKS, json={"command": "heal"})


async def asked(dashboard: Dashboard) -> tuple[httpx.Response, httpx.Response]:
    key = ensure_api_key(dashboard.session.home).read_text().strip()
    async with client_of(application_of(dashboard, region_routes.router)) as client:
        client.headers["X-API-Key"] = key
        return await client.get("/api/regions"), await client.post(LINKS, json={"command": "cut jp"})


async def test_a_session_without_regions_has_nothing_here(tmp_path: Path, reader: AuditingReader) -> None:
    answers = await asked(dashboard_at(session_of(tmp_path), reader))
    assert [(one.status_code, one.json()["detail"]) for one in answers] == [(404, "This session has no regions.")] * 2


@pytest.mark.parametrize(
    ("changed_session", "status", "why"),
    [
        (lambda one: replace(one, place=replace(one.place, carrier_home=None)), 409, "this session has no carrier"),
        (lambda one: replace(one, mode="live"), 409, "Only a paper session has links that can be changed."),
        (lambda one: one, 503, "the carrier of the regions is not there"),
    ],
)
async def test_links_that_cannot_be_changed_are_said_so_and_the_regions_are_shown(
    tmp_path: Path, reader: AuditingReader, changed_session: Callable[[Session], Session], status: int, why: str
) -> None:
    found, changed = await asked(dashboard_at(changed_session(regional_session(tmp_path)), reader))
    assert (changed.status_code, why in changed.json()["detail"]) == (status, True)
    assert (found.status_code, found.json()["links"]) == (200, [])
    assert [one["clock_ahead_ms"] for one in found.json()["regions"]] == [None] * 3
    assert found.json()["links_unknown"]
