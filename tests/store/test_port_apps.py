"""The contract of stored stream apps, on both adapters."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from store.errors import AppExistsError, AppRunsError, VersionConflictError
from store.ports.trading import TradeStore
from store.records.apps import AppReport, AppState, AppWanted, StoredApp, description_of, is_app_name

TEXT, NEXT_TEXT = "from quotes select exchange insert into One;", "from quotes select symbol insert into One;"
DEADLINE_SECONDS = 20


async def next_of(items: AsyncIterator[list[StoredApp]]) -> list[StoredApp]:
    async with asyncio.timeout(DEADLINE_SECONDS):
        return await anext(items)


async def ordered(store: TradeStore, wanted: AppWanted, version: int | None = None) -> StoredApp:
    app = await store.apps.order("wide", wanted, "ada", version)
    assert app is not None
    return app


async def test_an_app_is_a_draft_until_it_is_published(store: TradeStore) -> None:
    app = await store.apps.create("wide", TEXT, "ada", "first")
    assert (app.name, app.version, app.author, app.order.wanted, app.order.version) == ("wide", 1, "ada", "draft", None)
    assert app.state_in("s") == ("draft", "")
    assert await store.apps.app("wide") == app
    assert await store.apps.apps() == [app]
    assert await store.apps.app("other") is None
    version = await store.apps.version("wide", 1)
    assert version is not None
    assert (version.text, version.author, version.note, version.at) == (TEXT, "ada", "first", app.created_at)


async def test_what_the_newest_text_says_of_itself_is_with_the_app(store: TradeStore) -> None:
    described = f'@App:description( "Best prices." ) {TEXT}'
    assert (await store.apps.create("wide", described, "ada")).description == "Best prices."
    await ordered(store, "published")
    assert [one.description for one in await store.apps.apps()] == ["Best prices."]
    changed = await store.apps.replace("wide", TEXT, 1, "ada")
    assert changed is not None
    assert changed.description == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("@App:name('a') @app:description('Best prices.')", "Best prices."),
        ("@App:description('open", ""),
        (f"@App:description('{'x' * 600}')", "x" * 500),
    ],
)
def test_a_description_is_one_line_and_not_long(text: str, words: str) -> None:
    assert description_of(text) == words


async def test_a_name_belongs_to_one_app(store: TradeStore) -> None:
    tries = [store.apps.create("wide", TEXT, f"user {number}") for number in range(4)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, AppExistsError) for one in results) == 3
    assert len(await store.apps.versions("wide")) == 1


async def test_only_one_of_many_changes_of_a_version_wins(store: TradeStore) -> None:
    await store.apps.create("wide", TEXT, "ada")
    tries = [store.apps.replace("wide", NEXT_TEXT, 1, f"user {number}") for number in range(4)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, VersionConflictError) for one in results) == 3
    app = await store.apps.app("wide")
    assert app in results
    assert app is not None
    assert app.version == 2
    assert [(one.version, one.text) for one in await store.apps.versions("wide")] == [(2, NEXT_TEXT), (1, TEXT)]
    assert [(one.version, one.text) for one in await store.apps.versions("wide", with_texts=False)] == [
        (2, ""),
        (1, ""),
    ]
    assert await store.apps.replace("other", TEXT, 1, "ada") is None
    assert await store.apps.versions("other") == []
    assert await store.apps.version("wide", 3) is None


async def test_an_order_names_a_version_that_is_there(store: TradeStore) -> None:
    await store.apps.create("wide", TEXT, "ada")
    await store.apps.replace("wide", NEXT_TEXT, 1, "ada")
    assert await store.apps.order("wide", "published", "ada", 3) is None
    assert await store.apps.order("other", "published", "ada") is None
    first = await ordered(store, "published")
    assert (first.order.version, first.order.by, first.order.keeps_state) == (2, "ada", True)
    saved = await store.apps.order("wide", "published", "ada", savepoint="20261130T003612Z")
    again = await store.apps.app("wide")
    assert saved is not None
    assert again is not None
    assert (again.order, again.order.savepoint) == (saved.order, "20261130T003612Z")
    back = await store.apps.order("wide", "published", "eve", 1, keeps_state=False)
    assert back is not None
    assert (back.order.version, back.order.by, back.order.keeps_state, back.version) == (1, "eve", False, 2)
    stopped = await ordered(store, "stopped")
    assert (stopped.order.wanted, stopped.order.version) == ("stopped", 1)
    assert first.order.number < back.order.number < stopped.order.number
    assert await store.apps.app("wide") == stopped


async def test_an_app_runs_where_it_was_ordered_to_until_somebody_says_otherwise(store: TradeStore) -> None:
    await store.apps.create("wide", TEXT, "ada")
    everywhere = await ordered(store, "published")
    assert [everywhere.runs_in(region) for region in (None, "us", "eu")] == [True, True, True]
    await store.apps.order("wide", "published", "ada", regions=("eu", "jp"))
    for wanted in ("published", "stopped", "published"):
        again = await ordered(store, wanted)
        assert again.order.regions == ("eu", "jp")
        assert again == await store.apps.app("wide")
        is_wanted = wanted == "published"
        assert [again.runs_in(region) for region in (None, "us", "eu")] == [is_wanted, False, is_wanted]
    assert again.absence("us") == "it is published for eu, jp, and this is us"
    assert (again.absence("eu"), again.absence(None)) == ("", "")
    back = await store.apps.order("wide", "published", "ada", regions=())
    assert back is not None
    assert back.runs_in("us")


async def test_an_app_that_is_to_run_is_not_removed(store: TradeStore) -> None:
    await store.apps.create("wide", TEXT, "ada")
    before = await ordered(store, "published")
    with pytest.raises(AppRunsError):
        await store.apps.remove("wide")
    await ordered(store, "stopped")
    assert await store.apps.remove("wide")
    assert not await store.apps.remove("wide")
    assert await store.apps.versions("wide") == []
    await store.apps.create("wide", TEXT, "ada")
    # what was said of the app before is not said of this one
    assert (await ordered(store, "published")).order.number > before.order.number


async def test_a_hosts_report_changes_nothing_that_is_wanted(store: TradeStore) -> None:
    await store.apps.create("wide", TEXT, "ada")
    app = await ordered(store, "published")
    await store.apps.report("wide", AppReport("running", app.order.number, version=1, session_id="s"))
    known = await store.apps.app("wide")
    assert known is not None
    assert known.report is not None
    assert known.report.at > 0
    assert replace(known, report=None) == replace(app, report=None)
    assert known.state_in("s") == ("running", "")
    assert (await store.apps.apps()) == [known]


async def test_a_watcher_sees_each_order_and_no_report(store: TradeStore) -> None:
    await store.apps.create("wide", TEXT, "ada")
    watching = store.apps.watch()
    assert [one.name for one in await next_of(watching)] == ["wide"]
    app = await ordered(store, "published")
    seen = await next_of(watching)
    assert seen[0].order == app.order
    await store.apps.report("wide", AppReport("running", app.order.number, session_id="s"))
    stopped = await ordered(store, "stopped")
    while (seen := await next_of(watching))[0].order != stopped.order:
        pass
    assert seen[0].order.wanted == "stopped"
    await watching.aclose()


@pytest.mark.parametrize(
    ("wanted", "reported", "is_answer", "session_id", "state"),
    [
        ("published", None, True, "s", "starting"),
        ("published", "running", True, "s", "running"),
        ("published", "running", True, "earlier", "starting"),
        ("published", "failed", False, "s", "starting"),
        ("stopped", "running", False, "s", "stopping"),
        ("stopped", "failed", False, "s", "stopped"),
        ("stopped", "running", False, "earlier", "stopped"),
        ("stopped", "stopped", True, "s", "stopped"),
        ("draft", None, True, "s", "draft"),
    ],
)
def test_the_state_is_what_the_host_said_of_the_newest_order(
    wanted: AppWanted, reported: AppState | None, is_answer: bool, session_id: str, state: AppState
) -> None:
    app = StoredApp("wide", 1, "ada", 1, 1)
    app = replace(app, order=replace(app.order, wanted=wanted, version=1, number=7))
    if reported is not None:
        app = replace(app, report=AppReport(reported, 7 if is_answer else 6, session_id=session_id))
    assert app.state_in("s")[0] == state


@pytest.mark.parametrize(
    "name", ["", "a/b", "../a", "$where", "a.b", "-a", "1a", "a b", "<b>", "a" * 65, "=1", "ä", "a\n"]
)
def test_a_name_is_safe_in_addresses_files_and_topics(name: str) -> None:
    assert not is_app_name(name)
    assert is_app_name("Wide_spread-2")
