"""`arbitrage app publish`, `stop`, `start`, `list`, `versions` and `status` on a real store; the test itself
answers each order in place of the part that runs apps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launch.commands.main import run
from launch.published.orders import FIGURES
from launch.setup.data_dir import RUN_FILE
from launch.setup.login_files import write_logins
from launch.setup.login_rights import SUPERVISOR
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.operations.audit import AuditFilter, MongoAudit
from store.records.apps import MOST_NOTE_CHARACTERS, AppReport, AppState
from store.server.client import connect
from tests.services import LOGIN
from tests.store.traded_session import new_session
from tests.ui.api.apps.door import Asked, door_of

WIDE = "@App:name('wide') from spreads[max_bps > 20.0] select base, max_bps insert into Wide;"
WIDER = WIDE.replace("20.0", "30.0")
STATUS = dict.fromkeys(FIGURES, 0) | {"version": 2, "reason": "", "streams": {"Wide": 1.5}}
Said = tuple[int, str, str]
Told = Callable[..., Awaitable[Said]]


@pytest.fixture
async def session(mongodb_uri: str, tmp_path: Path) -> AsyncIterator[tuple[Session, MongoTradeStore]]:
    async with new_session(mongodb_uri) as (opened, store):
        session = replace(opened, home=tmp_path / "home")
        write_logins(session.home, SUPERVISOR, None, LOGIN)
        (session.home / RUN_FILE).write_bytes(session.to_json())
        yield session, store


@pytest.fixture
def store(session: tuple[Session, MongoTradeStore]) -> MongoTradeStore:
    return session[1]


@pytest.fixture
def command(
    session: tuple[Session, MongoTradeStore],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Told:
    """Run the command in a folder that has the text `wide.app`; return exit code, output and errors."""
    monkeypatch.setenv("ARBITRAGE_HOME", str(session[0].home))
    monkeypatch.chdir(tmp_path)
    Path("wide.app").write_text(WIDE)

    async def told(*words: str) -> Said:
        code = await asyncio.to_thread(run, ["app", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return told


@asynccontextmanager
async def host(session: tuple[Session, MongoTradeStore], failure: str = "") -> AsyncIterator[None]:
    """Answer each order as done, or as failed."""
    opened, store = session

    async def answer() -> None:
        async for apps in store.apps.watch():
            for app in apps:
                done: AppState = "failed" if failure else "stopped" if app.order.wanted == "stopped" else "running"
                report = AppReport(done, app.order.number, failure, app.order.version or 0, opened.session_id)
                await store.apps.report(app.name, report)

    answering = asyncio.ensure_future(answer())
    try:
        yield
    finally:
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)


async def test_an_app_is_published_replaced_rolled_back_stopped_and_started(
    session: tuple[Session, MongoTradeStore], command: Told
) -> None:
    assert (await command("list"))[:2] == (0, "no app is stored; publish one with: arbitrage app publish FILE\n")
    async with host(session):
        for words, said in (
            (("publish", "wide.app", "--note", "first"), "wide: running, version 1\n"),
            # the same text is no other version
            (("publish", "wide.app"), "wide: running, version 1\n"),
            (("stop", "wide"), "wide: stopped, version 1\n"),
            (("start", "wide"), "wide: running, version 1\n"),
        ):
            assert await command(*words) == (0, said, "")
        await asyncio.to_thread(Path("wide.app").write_text, WIDER)
        assert await command("publish", "wide.app", "--note", "second") == (0, "wide: running, version 2\n", "")
        assert await command("publish", "wide", "--version", "1") == (0, "wide: running, version 1\n", "")
    code, listed, _ = await command("list")
    assert (code, listed.startswith("wide  running  version 1 (newest 2)  by ")) == (0, True)
    code, versions, _ = await command("versions", "wide")
    assert [(line.split()[0], *line.split()[4:]) for line in versions.splitlines()] == [
        ("2", "second"),
        ("1", "first", "published"),
    ]


async def test_the_audit_log_has_who_did_it_and_what_was_refused(
    session: tuple[Session, MongoTradeStore], command: Told
) -> None:
    async with host(session):
        await command("publish", "wide.app")
        await command("publish", "wide", "--version", "9")
        await command("stop", "wide")
    services = session[0].services
    with closing(connect(services.mongodb)) as client:
        entries = await MongoAudit(client[services.database]).page(AuditFilter(), None, 10)
    assert [(one.action, one.outcome, one.means) for one in reversed(entries.items)] == [
        ("app.publish", "done", "shell"),
        ("app.publish", "rejected", "shell"),
        ("app.stop", "done", "shell"),
    ]


async def test_an_app_that_cannot_run_is_exit_code_1_with_its_reason(
    session: tuple[Session, MongoTradeStore], command: Told
) -> None:
    async with host(session, failure="it keeps too much"):
        assert await command("publish", "wide.app") == (1, "wide: failed, version 1 (it keeps too much)\n", "")


async def test_what_goes_wrong_although_an_app_runs_is_said(
    session: tuple[Session, MongoTradeStore], command: Told
) -> None:
    loop = "restarted 3 times in the last minute: its process was killed by SIGKILL"
    async with host(session):
        await command("publish", "wide.app")
    troubled = {"wide": STATUS | {"reason": loop}}
    async with door_of(session[0], lambda _: troubled):
        assert (await command("list"))[1].endswith(f": {loop}\n")
        assert (await command("status"))[1].splitlines()[1] == f"  {loop}"
    assert loop not in (await command("list"))[1]


async def test_status_is_what_the_part_says(session: tuple[Session, MongoTradeStore], command: Told) -> None:
    def answer(asked: Asked) -> Any:
        if asked.get("app") == "other":
            raise LookupError("there is no app 'other'.", "unknown")
        return STATUS if "app" in asked else {"wide": STATUS}

    async with door_of(session[0], answer):
        code, all_of_them, _ = await command("status")
        assert (code, (await command("status", "wide"))[1]) == (0, all_of_them)
        assert all_of_them.splitlines()[0] == "wide, version 2"
        assert all_of_them.splitlines()[-1] == "  Wide: 1.5 rows a second"
        assert await command("status", "other") == (1, "", "arbitrage: there is no app 'other'.\n")
    async with door_of(session[0], lambda _: {}):
        assert await command("status") == (0, "no app runs\n", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("publish", "nothing"), "there is no stored app 'nothing'; see: arbitrage app list"),
        (("stop", "nothing"), "there is no stored app 'nothing'"),
        (("start", "nothing"), "there is no stored app 'nothing'"),
        (("versions", "nothing"), "there is no stored app 'nothing'"),
        (("publish", "nothing.app"), "nothing.app"),
        (("publish", "wrong.app"), "wrong.app, line 1, column"),
        (("publish", "odd name.app"), "is no name for a published app"),
        (("publish", "wide.app", "--version", "1"), "--version is for a stored app; name it instead of a file."),
        (("publish", "draft", "--version", "7"), "the app draft has no version 7."),
        (("publish", "draft", "--regions", "us"), "--regions: this session has no region 'us'; its regions: none."),
        (("publish", "draft", "--note", "x" * (MOST_NOTE_CHARACTERS + 1)), f"at most {MOST_NOTE_CHARACTERS} char"),
        (("stop", "draft"), "the app draft was never published; use: arbitrage app publish draft"),
        (("start", "draft"), "the app draft was never published; use: arbitrage app publish draft"),
        (("status",), "the part that runs apps is not there (No such file or directory)."),
        (("status", "wide"), "the part that runs apps is not there (No such file or directory)."),
    ],
)
async def test_a_mistake_is_one_sentence(
    store: MongoTradeStore, command: Told, words: tuple[str, ...], sentence: str
) -> None:
    await store.apps.create("draft", WIDE.replace("wide", "draft"), "ada")
    texts = {"wrong.app": "from nowhere select", "odd name.app": WIDE.replace("'wide'", "'odd name'")}
    for name, text in texts.items():
        await asyncio.to_thread(Path(name).write_text, text)
    code, out, err = await command(*words)
    assert (code in (1, 2), out, err.count("\n")) == (True, "", 1)
    assert sentence in err
    assert [(one.name, one.order.wanted) for one in await store.apps.apps()] == [("draft", "draft")]


async def test_all_mistakes_of_a_text_are_said_of_a_stored_one_too(store: MongoTradeStore, command: Told) -> None:
    wrong = "from quotes[bidd > 1.0] select exchange, askk insert into A;\nfrom quotes select bid insert int Wide;"
    await store.apps.create("draft", wrong, "ada")
    await asyncio.to_thread(Path("wrong.app").write_text, wrong)
    for name, place in (("wrong.app", "wrong.app"), ("draft", "draft, version 1")):
        code, out, err = await command("publish", name)
        assert (code, out) == (2, "")
        assert [line.partition(": ")[0] for line in err.removeprefix("arbitrage: ").splitlines()] == [
            place,
            f"{place}, line 1, column 13",
            f"{place}, line 1, column 42",
            f"{place}, line 2, column 31",
        ]
    assert [(one.name, one.order.wanted) for one in await store.apps.apps()] == [("draft", "draft")]


@pytest.mark.parametrize(
    "words",
    [("publish", "wide.app"), ("stop", "wide"), ("start", "wide"), ("list",), ("versions", "wide"), ("status",)],
    ids=lambda words: words[0],
)
def test_without_a_session_it_is_said_how_to_start_one(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    assert run(["app", *words]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "no session runs; start one with `arbitrage paper`" in said.err
