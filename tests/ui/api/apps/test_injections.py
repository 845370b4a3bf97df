"""What people send to break out of names, texts, queries and files is refused with one sentence, and changes nothing;
and what is stored is data to whoever reads it, never a page or a formula."""

import io
import json
import zipfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from session.access_terms import AccessTerms, RateTerms
from session.session import Session
from tests.ui.api.apps.app_samples import WIDE, key_of
from tests.ui.api.apps.door import door_of
from tests.ui.session_database import session_database
from ui.auth.callers import Role

LONG = "x" * 10_000_000
STREAMS = "".join(f"define stream S{number} (a int);" for number in range(100_000))
REFUSED = range(400, 500)
LONGEST_SENTENCE = 600
UNLIMITED = RateTerms(100_000, 100_000)


@dataclass(frozen=True, slots=True)
class Attempt:
    """`body`: JSON, or bytes as they are. `said`: a part of the sentence."""

    method: str
    path: str
    body: Any = None
    role: Role | None = "author"
    statuses: frozenset[int] = frozenset(REFUSED)
    said: str = ""

    def __str__(self) -> str:
        words = self.body if isinstance(self.body, bytes) else json.dumps(self.body)
        return f"{self.role} {self.method} {self.path} {words[:60]!r}"


def zipped(entries: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def dry(**source: Any) -> Mapping[str, Any]:
    return {"text": WIDE, "source": source}


def only(*statuses: int) -> frozenset[int]:
    return frozenset(statuses)


NAMES = (
    *("..%2f..%2fsettings", "%2e%2e", "$where", "%24where", "wide%00", "wide%0d%0aX-Key:%201", "%3Cscript%3E", "=1+1"),
    *("wide%20", "wide.run", "WIDE%2f", "%ff", "x" * 300, "__proto__", "-rf", "wide;drop", "{name}", "%7B%24ne%7D"),
)
OPERATORS: tuple[Any, ...] = ({"$gt": ""}, {"$where": "sleep(1000)"}, ["wide"], None, True, 7, "\ud800", "a\x00b")
NUMBERS: tuple[Any, ...] = ({"$gt": 0}, -1, 0, 10**30, 1.5, "1; drop", [1])
PATHS: tuple[Any, ...] = ("../../../etc/passwd", "/etc/passwd", "..", "a\x00b", "\ud800", {"$ne": ""}, "x" * 201, "")
QUERIES = (
    "",
    "x" * 10_001,
    {"$where": "1"},
    None,
)
ATTEMPTS = (
    # names that are paths, operators of the store, pages or formulas
    *(Attempt("GET", f"/{name}", role=None, statuses=only(404, 422)) for name in NAMES),
    *(Attempt("DELETE", f"/{name}", statuses=only(404, 422)) for name in NAMES),
    *(
        Attempt("POST", f"/{name}/{work}", {}, statuses=only(404, 422))
        for name in NAMES
        for work in ("publish", "stop", "start")
    ),
    *(Attempt("GET", f"/{name}/streams/S", role=None, statuses=only(404, 422)) for name in NAMES),
    *(Attempt("GET", f"/export?name={name}", role=None, statuses=only(404, 422)) for name in NAMES if name[0] != "{"),
    *(Attempt("POST", "", {"name": one, "text": WIDE}, statuses=only(422)) for one in OPERATORS),
    *(Attempt("POST", "", {"name": "other", "text": one}, statuses=only(422)) for one in OPERATORS[:-2]),
    *(Attempt("POST", "", {"name": "other", "text": WIDE, "note": one}, statuses=only(422)) for one in OPERATORS[:7]),
    *(Attempt("POST", "/wide/clone", {"name": one}, statuses=only(422)) for one in OPERATORS),
    *(Attempt("POST", "/wide/publish", {"version": one}, statuses=only(422)) for one in NUMBERS),
    *(Attempt("POST", "/wide/rollback", {"version": one}, statuses=only(422)) for one in NUMBERS),
    *(Attempt("POST", "/wide/publish", {"state": one}, statuses=only(422)) for one in OPERATORS[:7]),
    *(Attempt("GET", f"/wide/streams/S?last={one}", role=None, statuses=only(422)) for one in ("-1", "0", "9e9", "x")),
    # bodies that are none
    *(
        Attempt("POST", "/wide/publish", body, statuses=only(422))
        for body in (b"[" * 100_000, b'{"version": NaN}', b'{"version": 1e999}', b"\xff\xfe", b"null", b"[]", b'"x"')
    ),
    # recordings that are paths
    *(Attempt("POST", "/dry-run", dry(session=one), statuses=only(422)) for one in PATHS),
    *(Attempt("POST", "/dry-run", dry(set=one), statuses=only(422)) for one in PATHS),
    *(Attempt("POST", "/dry-run", dry(minutes=one), statuses=only(422)) for one in (-1, 0, 1e9, "x", {"$gt": 0})),
    *(Attempt("POST", "/dry-run", {**dry(minutes=1), "name": one}, statuses=only(422)) for one in OPERATORS[:3]),
    *(Attempt("GET", f"/dry-run/{one}", role=None, statuses=only(404)) for one in ("..%2f..", "%2e%2e%2fx", "a" * 32)),
    *(Attempt("DELETE", f"/dry-run/{one}", statuses=only(404)) for one in ("..%2f..%2fapps", "%00", "a" * 32)),
    # archives
    *(
        Attempt("POST", "/import", zipped(entries), statuses=only(422))
        for entries in (
            {"../x.app": WIDE},
            {"/etc/cron.d/x.app": WIDE},
            {"..\\x.app": WIDE},
            {"$where.app": WIDE},
            {"=1+1.app": WIDE},
            {"x.py": WIDE},
            {"x.app": "a" * 2_000_000},
            {f"x{number}.app": WIDE for number in range(101)},
            {f"x{number}.app": "a" * 262_000 for number in range(60)},
            {},
        )
    ),
    # too much
    *(
        Attempt("POST", path, {"name": "long", **body}, statuses=only(413))
        for path, body in (
            ("", {"text": LONG}),
            ("/check", {"text": LONG}),
            ("/explain", {"text": LONG}),
            ("/dry-run", {"text": LONG}),
            ("", {"text": WIDE, "note": LONG}),
            ("", {"text": STREAMS}),
        )
    ),
    *(Attempt("POST", "/wide/query", {"query": one}, role=None, statuses=only(422)) for one in QUERIES),
    Attempt("POST", "/wide/streams/S", {"values": {"a": {"$gt": 1}}}, "operator", only(422)),
    Attempt("POST", "/wide/streams/S", {"values": {"a": [1]}}, "operator", only(422)),
    # who may not
    *(
        Attempt(method, path, body, "viewer", only(403))
        for method, path, body in (
            ("POST", "", {"name": "mine", "text": WIDE}),
            ("PUT", "/wide", {"text": WIDE, "version": 1}),
            ("DELETE", "/wide", None),
            ("POST", "/wide/publish", {}),
            ("POST", "/wide/start", {}),
            ("POST", "/wide/stop", {}),
            ("POST", "/wide/rollback", {"version": 1}),
            ("POST", "/wide/clone", {"name": "mine"}),
            ("POST", "/import", zipped({"mine.app": WIDE})),
            ("POST", "/dry-run", dry(minutes=1)),
            ("POST", "/wide/streams/S", {"values": {}}),
        )
    ),
    *(
        Attempt(method, f"/../{path}", body, "author", only(403))
        for method, path, body in (
            ("PATCH", "settings", {"min_net_bps": 0}),
            ("PUT", "trading-state", {"state": "trading"}),
            ("POST", "backtests", {}),
            ("DELETE", "assets/BTC", {}),
            ("POST", "apps/wide/streams/S", {"values": {}}),
        )
    ),
)
"""Against an app `wide` that is stored. A path begins below /api/apps."""


@pytest.fixture
async def session(tmp_path: Path, mongodb_uri: str) -> AsyncIterator[Session]:
    """Return one that says 429 to nobody: what lies behind is looked for."""
    access = AccessTerms(requests=UNLIMITED, changes=UNLIMITED, guesses=UNLIMITED)
    async with session_database(tmp_path, mongodb_uri) as made:
        yield replace(made, page=replace(made.page, access=access))


async def answer_to(attempt: Attempt, api: httpx.AsyncClient, headers: Mapping[str, str]) -> httpx.Response:
    path = f"/api/apps{attempt.path}".replace("/apps/../", "/")
    if isinstance(attempt.body, bytes):
        return await api.request(attempt.method, path, content=attempt.body, headers=headers)
    # as programs write it, half characters too
    content = None if attempt.body is None else json.dumps(attempt.body)
    sent = {**headers, "Content-Type": "application/json"}
    return await api.request(attempt.method, path, content=content, headers=sent)


def problem_with(attempt: Attempt, answer: httpx.Response) -> str | None:
    """Return what is wrong with the refusal; None if it is one sentence under the expected status."""
    if answer.status_code not in attempt.statuses:
        return f"{attempt}: {answer.status_code} {answer.text[:200]}"
    if answer.headers["content-type"] != "application/problem+json":
        return f"{attempt}: {answer.headers['content-type']}"
    said = answer.json()["detail"]
    if not 0 < len(said) < LONGEST_SENTENCE or "\n" in said or "Traceback" in said or "object at 0x" in said:
        return f"{attempt}: {said[:300]!r}"
    return None if attempt.said in said else f"{attempt}: {said!r} lacks {attempt.said!r}"


async def test_each_attempt_is_refused_with_one_sentence_and_changes_nothing(
    api: httpx.AsyncClient, session: Session, key: str
) -> None:
    keys: dict[Role | None, Mapping[str, str]] = {None: {}, "operator": {"X-API-Key": key}}
    keys |= {role: key_of(session, f"{role}-key", role) for role in ("viewer", "author")}
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers=keys["author"])
    before = (await api.get("/api/apps/wide")).json()
    found = [problem_with(one, await answer_to(one, api, keys[one.role])) for one in ATTEMPTS]
    assert [one for one in found if one is not None] == []
    assert [one["name"] for one in (await api.get("/api/apps")).json()["apps"]] == ["wide"]
    assert (await api.get("/api/apps/wide")).json() == before


LOOP = "{ while (true) {} }"
FILL = "{ var all = []; while (true) { all.push(new Array(1000).fill('x'.repeat(1000))); } }"
ROW = '["kraken","BTC/USD","BTC","USD",2.0,1.0,3.0,1.0,1,1,1]'
CASE = '{"id":"one","events":[[1000,"quotes",' + ROW + ']],"outputs":["O"],"expected":{"out":[]}}'
GREEDY = {
    "a loop": f"define function f[javascript] return int {LOOP}; from quotes select f() as n insert into O;",
    "memory": f"define function f[javascript] return int {FILL}; from quotes select f() as n insert into O;",
    "a long text": "from quotes select str:repeat(exchange, 2000000000) as n insert into O;",
    "a pattern without end": (
        "from quotes select regex:find('(a+)+$', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab') as n insert into O;"
    ),
    "itself": "from quotes select exchange insert into A; from A select exchange insert into A; from A select exchange "
    "insert into O;",
}


@pytest.mark.parametrize("text", GREEDY.values(), ids=GREEDY)
async def test_what_loops_or_allocates_ends_its_own_case_and_nothing_else(api: httpx.AsyncClient, text: str) -> None:
    answer = await api.post("/api/apps/check", json={"text": text, "cases": CASE})
    assert answer.status_code == 200
    said = [one["message"] for one in answer.json()["mistakes"]]
    said += [one["reason"] for one in answer.json().get("cases", ()) if not one["passed"]]
    assert len(said) == 1
    assert (0 < len(said[0]) < LONGEST_SENTENCE, "\n" in said[0]) == (True, False)
    assert (await api.post("/api/apps/check", json={"text": WIDE})).json()["mistakes"] == []


@pytest.mark.parametrize(
    "text",
    [
        "define function f[python] return int { __import__('os').system('id') }; "
        "from quotes select f() as n insert into O;",
        "define function f[python] return int { os.system }; from quotes select f() as n insert into O;",
        "@source(type = 'file', dir.uri = '/etc') define stream F (a string); from F select a insert into O;",
        "@sink(type = 'http-call', sink.id = 's', publisher.url = 'http://169.254.169.254/', method = 'GET') "
        "define stream A (bid double); from quotes select bid insert into A;",
        "@source(type = 'kafka', bootstrap.servers = 'localhost:9092', topic.list = 'ticks', group.id = 'g', "
        "@map(type = 'json')) define stream K (a string); from K select a insert into O;",
        "@sink(type = 'kafka', bootstrap.servers = 'localhost:9092', topic = 'ticks', @map(type = 'json')) "
        "define stream K (bid double); from quotes select bid insert into K;",
        "@store(type = 'rdbms', jdbc.url = 'jdbc:x') define table T (a string); from quotes select exchange as a "
        "insert into T;",
    ],
)
async def test_a_text_reaches_nothing_that_the_operator_did_not_allow(
    api: httpx.AsyncClient, session: Session, text: str
) -> None:
    author = key_of(session, "writer", "author")
    checked = (await api.post("/api/apps/check", json={"text": text})).json()["mistakes"]
    answer = await api.post("/api/apps", json={"name": "reaching", "text": text}, headers=author)
    if checked:
        assert (answer.status_code, len(answer.json()["mistakes"])) == (422, len(checked))
        return
    # addresses, topics and folders are the session's to know: its host refuses them before it runs anything
    assert answer.status_code == 201
    assert any(one in text for one in ("http-call", "kafka", "type = 'file'"))


async def test_what_is_stored_is_data_to_who_reads_it(api: httpx.AsyncClient, session: Session) -> None:
    author = key_of(session, "writer", "author")
    notes = ("=HYPERLINK(A1)", "<script>alert(1)</script>", "${7*7}", "{{7*7}}", "'; db.dropDatabase(); '")
    text = f"-- <img src=x onerror=alert(1)>\n{WIDE}"
    await api.post("/api/apps", json={"name": "wide", "text": text, "note": notes[0]}, headers=author)
    for number, note in enumerate(notes[1:], 1):
        body = {"text": f"{text} -- {note}", "version": number, "note": note}
        assert (await api.put("/api/apps/wide", json=body, headers=author)).status_code == 200
    rows = [{"id": "=1+1", "time": 1, "values": {"<b>": "<script>", "$where": "=cmd()"}}]
    async with door_of(session, lambda asked: {} if asked["do"] == "status" else rows):
        found = await api.get("/api/apps/wide/streams/Wide")
    assert found.json()["rows"][0]["values"] == rows[0]["values"]
    versions = await api.get("/api/apps/wide/versions")
    assert [one["note"] for one in reversed(versions.json()["versions"])] == [*notes]
    for answer in (found, versions, await api.get("/api/apps/wide"), await api.get("/api/apps/wide/diff?from=1&to=5")):
        kind, sniffing = (answer.headers[name] for name in ("content-type", "x-content-type-options"))
        assert (kind, sniffing) == ("application/json", "nosniff")
