"""Stored apps over REST: written with versions, published and stopped by authors, recorded, and never under a name that
could be anything else."""

import json
import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from market.decide.settings_entries import EntryChange
from session.app_actions import AppActionTerms
from session.session import Placement, Session
from store.app_actions import AppAction
from store.mongo.store import MongoTradeStore
from store.records.apps import MOST_TEXT_BYTES, MOST_VERSIONS, AppReport
from store.records.audit_entry import AuditEntry
from tests.ui.api.apps.app_samples import WIDE, WIDER, WRONG, key_of
from tests.ui.api.apps.door import door_of
from tests.ui.clients import client_of
from ui.apps.app_archive import packed
from ui.services.dashboard import dashboard_of

Headers = dict[str, str]
PAUSES = "from quotes select base as asset insert into AssetPauses;"
SHIPPED = sorted((Path(__file__).parents[4] / "apps").glob("*.app"))


@pytest.fixture
def author(session: Session) -> Headers:
    return key_of(session, "writer", "author")


async def test_a_text_is_checked_and_explained_without_a_key(api: httpx.AsyncClient) -> None:
    wrong = (await api.post("/api/apps/check", json={"text": WRONG})).json()
    assert [(one["line"], one["column"], one["nearest"]) for one in wrong["mistakes"]] == [(1, 13, "bid")]
    right = await api.post("/api/apps/check", json={"text": WIDE})
    assert (right.status_code, right.json()["mistakes"], right.json()["name"]) == (200, [], "app")
    explained = (await api.post("/api/apps/explain", json={"text": WIDE})).json()
    assert [(one["name"], one["kind"]) for one in explained["streams"]] == [("quotes", "read"), ("Wide", "given")]
    refused = await api.post("/api/apps/explain", json={"text": WRONG})
    assert (refused.status_code, refused.json()["mistakes"][0]["column"]) == (422, 13)
    for text in ("x" * 900_000, "define stream S (a int);" * 30_000, "(" * 500_000):
        assert len((await api.post("/api/apps/check", json={"text": text})).json()["mistakes"]) == 1
    assert (await api.post("/api/apps/check", json={"text": "x" * 10_000_000})).status_code == 413


async def test_the_document_has_all_that_it_refers_to(api: httpx.AsyncClient) -> None:
    document = (await api.get("/openapi.json")).json()
    referred = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document)))
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert referred <= known
    body = document["paths"]["/api/apps/dry-run"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(body["properties"]["source"]["properties"]) == {"session", "set", "minutes"}


async def test_a_version_is_explained_by_its_number_and_the_list_says_what_an_app_is_for(
    api: httpx.AsyncClient, author: Headers
) -> None:
    described = f"@App:description('Wide prices.') {WIDE.replace('Wide', 'Wider')}"
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    assert (await api.get("/api/apps/wide/explain?version=published")).status_code == 404
    await api.post("/api/apps/wide/publish", json={}, headers=author)
    await api.put("/api/apps/wide", json={"text": described, "version": 1}, headers=author)
    found = {}
    for asked in ("", "?version=published", "?version=1", "?version=2"):
        explained = (await api.get(f"/api/apps/wide/explain{asked}")).json()
        found[asked] = explained["version"], explained["streams"][-1]["name"]
    assert found == {
        "": (2, "Wider"),
        "?version=published": (1, "Wide"),
        "?version=1": (1, "Wide"),
        "?version=2": (2, "Wider"),
    }
    for wrong, status in (("3", 404), ("newest", 422), ("0", 422)):
        assert (await api.get(f"/api/apps/wide/explain?version={wrong}")).status_code == status
    assert [one["description"] for one in (await api.get("/api/apps")).json()["apps"]] == ["Wide prices."]


async def test_cases_are_run_with_the_check(api: httpx.AsyncClient) -> None:
    row = '["kraken","BTC/USD","BTC","USD",2.0,1.0,3.0,1.0,1,1,1]'
    expected = '{"out":[["Wide",1000,false,["kraken",%s]]]}'
    case = '{"id":"%s","events":[[1000,"quotes",%s]],"outputs":["Wide"],"expected":' + expected + "}"
    cases = "\n".join(case % one for one in (("good", row, "2.0"), ("bad", row, "7.0")))
    answer = (await api.post("/api/apps/check", json={"text": WIDE, "cases": cases})).json()
    assert [(one["id"], one["passed"]) for one in answer["cases"]] == [("good", True), ("bad", False)]


async def test_an_app_is_written_published_stopped_and_removed(api: httpx.AsyncClient, author: Headers) -> None:
    made = await api.post("/api/apps", json={"name": "wide", "text": WIDE, "note": "first"}, headers=author)
    assert (made.status_code, made.headers["location"], made.headers["etag"]) == (201, "/api/apps/wide", '"1"')
    assert (made.json()["state"], made.json()["author"], made.json()["published_version"]) == ("draft", "writer", None)
    again = await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    assert again.status_code == 409
    changed = await api.put("/api/apps/wide", json={"text": WIDER, "version": 1}, headers=author)
    assert (changed.status_code, changed.json()["version"], changed.json()["text"]) == (200, 2, WIDER)
    published = await api.post("/api/apps/wide/publish", json={}, headers=author)
    assert (published.status_code, published.json()["state"]) == (202, "starting")
    assert (await api.delete("/api/apps/wide", headers=author)).status_code == 409
    back = await api.post("/api/apps/wide/rollback", json={"version": 1}, headers=author)
    assert (back.status_code, back.json()["published_version"], back.json()["version"]) == (202, 1, 2)
    stopped = await api.post("/api/apps/wide/stop", headers=author)
    assert (stopped.status_code, stopped.json()["state"]) == (202, "stopped")
    started = await api.post("/api/apps/wide/start", headers=author)
    assert (started.json()["state"], started.json()["published_version"]) == ("starting", 1)
    listed = (await api.get("/api/apps")).json()["apps"]
    assert [(one["name"], one["state"], one["version"]) for one in listed] == [("wide", "starting", 2)]
    await api.post("/api/apps/wide/stop", headers=author)
    assert (await api.delete("/api/apps/wide", headers=author)).status_code == 204
    assert (await api.get("/api/apps/wide")).status_code == 404


async def test_every_shipped_app_is_published(api: httpx.AsyncClient, author: Headers) -> None:
    for path in SHIPPED:
        text = path.read_text()
        checked = (await api.post("/api/apps/check", json={"text": text})).json()
        made = await api.post("/api/apps", json={"name": path.stem, "text": text}, headers=author)
        published = await api.post(f"/api/apps/{path.stem}/publish", json={}, headers=author)
        assert (path.stem, checked["mistakes"]) == (path.stem, [])
        assert (path.stem, made.status_code, published.status_code) == (path.stem, 201, 202)


async def test_versions_are_kept_and_compared(api: httpx.AsyncClient, author: Headers) -> None:
    await api.post("/api/apps", json={"name": "wide", "text": WIDE, "note": "first"}, headers=author)
    await api.put("/api/apps/wide", json={"text": WIDER}, headers=author | {"If-Match": '"1"'})
    versions = (await api.get("/api/apps/wide/versions")).json()["versions"]
    assert [(one["version"], one["author"], one["note"]) for one in versions] == [
        (2, "writer", ""),
        (1, "writer", "first"),
    ]
    assert (await api.get("/api/apps/wide/versions/1")).json()["text"] == WIDE
    difference = (await api.get("/api/apps/wide/diff?from=1&to=2")).json()
    assert difference["diff"].splitlines()[-2:] == [f"-{WIDE}", f"+{WIDER}"]
    for path in ("versions/3", "versions/0", f"versions/{10**30}", "diff?from=1&to=3"):
        assert (await api.get(f"/api/apps/wide/{path}")).status_code == 404


async def test_nobody_overwrites_a_version_that_he_has_not_seen(api: httpx.AsyncClient, author: Headers) -> None:
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    await api.put("/api/apps/wide", json={"text": WIDER, "version": 1}, headers=author)
    answers = [
        await api.put("/api/apps/wide", json={"text": WIDE}, headers=author),
        await api.put("/api/apps/wide", json={"text": WIDE, "version": 1}, headers=author),
        await api.put("/api/apps/wide", json={"text": WIDE}, headers=author | {"If-Match": '"1"'}),
        await api.put("/api/apps/wide", json={"text": WIDE}, headers=author | {"If-Match": '"x"'}),
    ]
    assert [one.status_code for one in answers] == [428, 409, 412, 412]
    assert [one.json().get("current_version") for one in answers] == [None, 2, 2, 2]
    assert (await api.get("/api/apps/wide")).json()["text"] == WIDER


async def test_a_text_with_mistakes_is_a_draft_and_no_more(api: httpx.AsyncClient, author: Headers) -> None:
    refused = await api.post("/api/apps", json={"name": "wide", "text": WRONG}, headers=author)
    assert (refused.status_code, refused.json()["mistakes"][0]["nearest"]) == (422, "bid")
    assert (
        await api.post("/api/apps", json={"name": "wide", "text": WRONG, "draft": True}, headers=author)
    ).status_code == 201
    assert (await api.post("/api/apps/wide/publish", json={}, headers=author)).status_code == 422
    assert (await api.post("/api/apps/wide/start", headers=author)).status_code == 409
    assert (await api.get("/api/apps/wide")).json()["state"] == "draft"


NAMES = (
    *("", "a b", "../x", "a/b", "a%2fb", "$where", "a.b", "<b>x</b>", "=1+1", "-x", "1x", "é", "a\x00b", "x" * 65),
    *("check", "explain", "language", "dry-run", "export", "import"),
)


async def test_a_name_is_letters_and_digits_and_nothing_else(api: httpx.AsyncClient, author: Headers) -> None:
    for name in NAMES:
        answer = await api.post("/api/apps", json={"name": name, "text": WIDE}, headers=author)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), name
    assert (await api.get("/api/apps")).json()["apps"] == []
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    for name in NAMES:
        assert (await api.post("/api/apps/wide/clone", json={"name": name}, headers=author)).status_code == 422, name
    assert [one["name"] for one in (await api.get("/api/apps")).json()["apps"]] == ["wide"]


async def test_drafts_and_versions_have_an_end(api: httpx.AsyncClient, author: Headers, store: MongoTradeStore) -> None:
    for text in ("x" * (MOST_TEXT_BYTES + 1), "é" * (MOST_TEXT_BYTES // 2 + 1)):
        answer = await api.post("/api/apps", json={"name": "long", "text": text, "draft": True}, headers=author)
        assert (answer.status_code, "bytes" in answer.json()["detail"]) == (422, True)
    await store.apps.create("wide", WIDE, "ada")
    full = await api.put("/api/apps/wide", json={"text": WIDER, "version": MOST_VERSIONS}, headers=author)
    assert (full.status_code, "clone it" in full.json()["detail"]) == (409, True)


async def test_a_text_does_not_name_another_app(api: httpx.AsyncClient, author: Headers) -> None:
    named = f"@App:name('other') {WIDE}"
    assert (await api.post("/api/apps", json={"name": "wide", "text": named}, headers=author)).status_code == 422
    assert (await api.post("/api/apps", json={"name": "other", "text": named}, headers=author)).status_code == 201
    copy = await api.post("/api/apps/other/clone", json={"name": "third"}, headers=author)
    assert (copy.status_code, copy.json()["text"]) == (201, f"@App:name('third') {WIDE}")


async def test_an_author_writes_apps_and_trades_nothing(
    api: httpx.AsyncClient, author: Headers, session: Session
) -> None:
    viewer = key_of(session, "desk", "viewer")
    assert (await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=viewer)).status_code == 403
    assert (await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)).status_code == 201
    assert (await api.post("/api/apps/wide/publish", json={}, headers=viewer)).status_code == 403
    for method, path in (
        ("PATCH", "settings"),
        ("PUT", "trading-state"),
        ("POST", "backtests"),
        ("DELETE", "assets/BTC"),
    ):
        answer = await api.request(method, f"/api/{path}", json={}, headers=author)
        assert (path, answer.status_code) == (path, 403)
        assert "may publish stream apps, and change nothing else" in answer.json()["detail"]


async def test_an_app_that_halts_exchanges_is_the_operators(
    application: FastAPI, author: Headers, key: str, session: Session
) -> None:
    access = replace(session.page.access, halting_apps=("guard",))
    page = replace(session.page, access=access)
    dashboard = dashboard_of(application)
    application.state.dashboard = replace(dashboard, session=replace(session, page=page))
    async with client_of(application) as api:
        refused = await api.post("/api/apps", json={"name": "guard", "text": WIDE}, headers=author)
        assert (refused.status_code, "only operators" in refused.json()["detail"]) == (403, True)
        operator = {"X-API-Key": key}
        assert (await api.post("/api/apps", json={"name": "guard", "text": WIDE}, headers=operator)).status_code == 201
        for path in ("publish", "stop", "rollback"):
            body = {"version": 1} if path == "rollback" else {}
            assert (await api.post(f"/api/apps/guard/{path}", json=body, headers=author)).status_code == 403


async def test_an_app_that_acts_is_published_only_if_the_operator_allows_it(
    application: FastAPI, author: Headers, key: str, session: Session
) -> None:
    dashboard = dashboard_of(application)

    def allow(*terms: AppActionTerms) -> None:
        page = replace(session.page, access=replace(session.page.access, acting_apps=terms))
        application.state.dashboard = replace(dashboard, session=replace(session, page=page))

    async with client_of(application) as api:
        assert (await api.post("/api/apps", json={"name": "guard", "text": PAUSES}, headers=author)).status_code == 201
        refused = await api.post("/api/apps/guard/publish", json={}, headers=author)
        assert (refused.status_code, "[apps.actions.guard]" in refused.json()["detail"]) == (422, True)
        allow(AppActionTerms("guard", pause=True))
        assert (await api.post("/api/apps/guard/publish", json={}, headers=author)).status_code == 403
        operator = {"X-API-Key": key}
        assert (await api.post("/api/apps/guard/publish", json={}, headers=operator)).status_code == 202
        allow()
        assert (await api.post("/api/apps/guard/start", headers=operator)).status_code == 422


async def test_an_app_is_published_for_some_regions_of_the_session(
    application: FastAPI, author: Headers, session: Session
) -> None:
    async def published(api: httpx.AsyncClient, **body: object) -> tuple[int, object]:
        answer = await api.post("/api/apps/wide/publish", json=body, headers=author)
        found = answer.json()
        return answer.status_code, found.get("regions", found.get("detail"))

    async with client_of(application) as api:
        await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
        refused = "This session has no region 'us'; its regions: none."
        assert await published(api, regions=["us"]) == (422, refused)
        assert await published(api, regions=[]) == (202, [])
        placed = replace(session, place=Placement("us", ("us", "eu", "jp")))
        application.state.dashboard = replace(dashboard_of(application), session=placed)
        assert await published(api, regions=["jp", "eu"]) == (202, ["eu", "jp"])
        assert await published(api) == (202, ["eu", "jp"])
        refused = "This session has no region 'mars'; its regions: us, eu, jp."
        assert await published(api, regions=["eu", "mars"]) == (422, refused)
        assert await published(api, regions=["jp", "eu", "us"]) == (202, [])


async def test_savepoints_are_listed(api: httpx.AsyncClient, author: Headers, session: Session) -> None:
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    async with door_of(session, lambda _: ["20261130T081500Z"]) as asked:
        assert (await api.get("/api/apps/wide/savepoints")).json() == {"savepoints": ["20261130T081500Z"]}
        assert asked == [{"do": "savepoints", "app": "wide"}]
        assert (await api.get("/api/apps/other/savepoints")).status_code == 404
    assert (await api.get("/api/apps/wide/savepoints")).status_code == 503


async def test_an_app_says_what_it_set_and_what_it_asked_for_in_vain(
    application: FastAPI, author: Headers, store: MongoTradeStore
) -> None:
    """Also one that does not run: what it set stays until a person takes it off."""
    change = EntryChange("asset_thresholds", "BTC", 12.0)
    entry = AuditEntry("action row 1", "app wide", "app", "app", "", "app.threshold", change.name)
    outcome = await store.settings.act(AppAction(change, 1, 6), entry)
    assert outcome.settings is not None
    dashboard_of(application).hub.apply_settings(outcome.settings)
    what = {"action": "app.notice", "target": "notice"}
    for at in (7, 8):
        application.state.left_out_actions.add("wide", what, "its row is too old", at)
    async with client_of(application) as api:
        for name in ("wide", "other"):
            await api.post("/api/apps", json={"name": name, "text": WIDE}, headers=author)
        found = (await api.get("/api/apps/wide")).json()["actions"]
        [standing] = found["standing"]
        assert standing.pop("since") > 0
        assert standing == {"setting": "asset_thresholds", "key": "BTC", "value": 12.0}
        last = {"last": "app.notice notice", "last_at": 8}
        assert found["left_out"] == [{"reason": "its row is too old", "actions": 2, **last}]
        assert (await api.get("/api/apps/other")).json()["actions"] == {"standing": [], "left_out": []}
        [left] = (await api.get("/api/apps")).json()["left"]
        assert (left["app"], left["key"], left["value"]) == ("wide", "BTC", 12.0)
        await api.post("/api/apps/wide/publish", json={}, headers=author)
        assert (await api.get("/api/apps")).json()["left"] == []


async def test_the_audit_log_has_every_change(api: httpx.AsyncClient, author: Headers, key: str) -> None:
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    await api.put("/api/apps/wide", json={"text": WRONG, "version": 1}, headers=author)
    await api.post("/api/apps/wide/publish", json={"state": "empty"}, headers=author)
    await api.post("/api/apps/wide/start", headers=author)
    await api.post("/api/apps/wide/rollback", json={"version": 1}, headers=author)
    await api.post("/api/apps/nothing/stop", headers=author)
    entries = (await api.get("/api/audit?who=writer", headers={"X-API-Key": key})).json()["items"]
    assert [(one["action"], one["target"], one["outcome"]) for one in reversed(entries)] == [
        ("app.create", "wide", "done"),
        ("app.replace", "wide", "rejected"),
        ("app.publish", "wide", "done"),
        ("app.start", "wide", "done"),
        ("app.rollback", "wide", "done"),
        ("app.stop", "nothing", "rejected"),
    ]
    assert entries[3]["after"] == {"wanted": "published", "version": 1, "keeps_state": False}


async def test_the_state_is_what_the_host_says(
    api: httpx.AsyncClient, author: Headers, store: MongoTradeStore, session: Session
) -> None:
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    await api.post("/api/apps/wide/publish", json={}, headers=author)
    stored = await store.apps.app("wide")
    assert stored is not None
    report = AppReport("failed", stored.order.number, "it keeps too much", 1, session.session_id)
    await store.apps.report("wide", report)
    found = (await api.get("/api/apps/wide")).json()
    assert (found["state"], found["reason"], found["status"]) == ("failed", "it keeps too much", {})


async def test_a_running_app_says_what_goes_wrong(
    api: httpx.AsyncClient, author: Headers, store: MongoTradeStore, session: Session
) -> None:
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    await api.post("/api/apps/wide/publish", json={}, headers=author)
    stored = await store.apps.app("wide")
    assert stored is not None
    await store.apps.report("wide", AppReport("running", stored.order.number, "begun empty: T", 1, session.session_id))
    loop = "restarted 7 times in the last minute: its process was killed by SIGKILL"
    statuses = {"wide": {"reason": loop, "errors": {"!Out": 2}, "rejected_rows": 3, "repeats": 5}}
    async with door_of(session, lambda _: statuses):
        found = (await api.get("/api/apps/wide")).json()
        assert (found["state"], found["reason"]) == ("running", f"begun empty: T; {loop}")
        assert (found["errors"], found["status"]["repeats"]) == (5, 5)
        assert (await api.get("/api/apps")).json()["apps"][0]["reason"] == found["reason"]
    assert "does not answer" in (await api.get("/api/apps/wide")).json()["reason"]


async def test_a_published_app_says_if_nobody_is_there_who_runs_it(
    api: httpx.AsyncClient, author: Headers, session: Session
) -> None:
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    published = (await api.post("/api/apps/wide/publish", json={}, headers=author)).json()
    listed = (await api.get("/api/apps")).json()["apps"][0]
    said = "the part that runs apps does not answer: it is being started, or this deployment has none"
    assert [(one["state"], one["reason"]) for one in (published, listed)] == [("starting", said)] * 2
    async with door_of(session, lambda _: {}):
        assert "has not taken the order yet" in (await api.get("/api/apps/wide")).json()["reason"]
    stopped = (await api.post("/api/apps/wide/stop", headers=author)).json()
    assert (stopped["state"], "reason" in stopped) == ("stopped", False)


async def test_an_import_says_of_each_app_what_became_of_it(api: httpx.AsyncClient, author: Headers) -> None:
    texts = {"first": WIDE, "second": f"@App:name('other') {WIDE}", "third": WIDE}
    answer = await api.post("/api/apps/import", content=packed(texts), headers=author)
    assert (answer.status_code, answer.json()["created"], list(answer.json()["failed"])) == (
        200,
        ["first", "third"],
        ["second"],
    )
    assert "names itself 'other'" in answer.json()["failed"]["second"]


async def test_apps_are_exported_and_imported_as_a_zip(api: httpx.AsyncClient, author: Headers) -> None:
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=author)
    zipped = await api.get("/api/apps/export?name=wide")
    assert (zipped.status_code, zipped.headers["content-type"]) == (200, "application/zip")
    outcomes = []
    for change in ({}, {"version": 1, "text": WIDER}, None):
        if change:
            await api.put("/api/apps/wide", json=change, headers=author)
        elif change is None:
            await api.delete("/api/apps/wide", headers=author)
        outcomes.append((await api.post("/api/apps/import", content=zipped.content, headers=author)).json())
    assert [[name for name, apps in one.items() if apps] for one in outcomes] == [
        ["unchanged"],
        ["replaced"],
        ["created"],
    ]
    assert (await api.get("/api/apps/wide")).json()["text"] == WIDE
    assert (await api.post("/api/apps/import", content=b"PK", headers=author)).status_code == 422
    assert (await api.post("/api/apps/import", content=zipped.content)).status_code == 401
