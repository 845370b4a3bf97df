"""A service of stream apps for tests of the page: it answers as REST does, checks texts with the real compiler, and
runs nothing. What its apps give is put in by the test."""

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from playwright.sync_api import Page, Route

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.texts.app_explanation import explained
from cep.apps.texts.text_check import checked_text
from store.records.apps import description_of

Answer = tuple[int, Any]
APP = r"(?P<app>[^/]+)"
ROUTES = (
    ("GET", r"", "list"),
    ("POST", r"", "create"),
    ("POST", r"check", "check"),
    ("POST", r"explain", "explain"),
    ("GET", r"dry-run/sources", "sources"),
    ("POST", r"dry-run", "begin_dry_run"),
    ("GET", r"dry-run/(?P<number>\d+)", "dry_run"),
    ("GET", APP, "read"),
    ("GET", rf"{APP}/explain", "explain_stored"),
    ("PUT", APP, "replace"),
    ("DELETE", APP, "remove"),
    ("POST", rf"{APP}/(?P<verb>publish|stop|start)", "order"),
    ("GET", rf"{APP}/savepoints", "savepoints"),
    ("POST", rf"{APP}/savepoint", "keep_savepoint"),
    ("GET", rf"{APP}/versions", "versions"),
    ("GET", rf"{APP}/versions/(?P<number>\d+)", "version"),
    ("GET", rf"{APP}/streams/(?P<stream>\w+)", "newest"),
    ("POST", rf"{APP}/streams/(?P<stream>\w+)", "inject"),
    ("POST", rf"{APP}/query", "query"),
    ("GET", rf"{APP}/errors", "errors"),
    ("PUT", rf"{APP}/errors/(?P<key>\w+)", "edit_error"),
    ("POST", rf"{APP}/errors/(?P<verb>replay|drop)", "change_errors"),
)
"""Method, path below `/api/apps`, and the method of AppAnswers that answers."""
AT = 1_700_000_000_000_000
SAVEPOINT = "20261130T081500Z"


@dataclass
class AnsweredApp:
    texts: list[str]
    state: str = "draft"
    published: int | None = None
    reason: str | None = None
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    injected: list[Any] = field(default_factory=list)
    actions: dict[str, Any] = field(default_factory=dict)
    savepoints: list[str] = field(default_factory=list)
    orders: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of publications."""
    errors: list[dict[str, Any]] = field(default_factory=list)
    """Rows that failed."""


@dataclass
class AppAnswers:
    """`requests`: all that changed something, as `METHOD path`, in their order."""

    apps: dict[str, AnsweredApp] = field(default_factory=dict)
    dry_runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)
    is_away: bool = False
    loses_answers: bool = False
    """To what changes something: it is done, and nobody hears of it."""
    holds_lists: bool = False
    """An answer with the list is made, and comes only when it is released."""
    held: list[tuple[Route, str]] = field(default_factory=list)

    def serve(self, page: Page) -> None:
        page.route(re.compile(r"/api/apps(\?|$|/(?!language))"), self._answer)

    def release(self) -> None:
        """Let the held lists come, as old as they are by now."""
        self.holds_lists = False
        for route, text in self.held:
            route.fulfill(status=200, body=text, content_type="application/json")
        self.held.clear()

    def add_row(self, app: str, stream: str, **values: Any) -> None:
        rows = self.apps[app].rows.setdefault(stream, [])
        number = len(rows)
        rows.append({"id": f"{app}:{stream}:{number}", "time": AT + number * 1_000_000, "values": values})

    def _answer(self, route: Route) -> None:
        if self.is_away:
            route.abort()
            return
        request = route.request
        split = urlsplit(request.url)
        path = unquote(split.path.removeprefix("/api/apps").strip("/"))
        body = json.loads(request.post_data) if request.post_data else {}
        if request.method != "GET" and path not in ("check", "explain"):
            self.requests.append(f"{request.method} {path}")
        status, answer = self._of(request.method, path, body or dict(parse_qs(split.query)))
        if self.loses_answers and request.method == "PUT":
            route.abort()
            return
        text = "" if answer is None else json.dumps(answer)
        if self.holds_lists and (request.method, path) == ("GET", ""):
            self.held.append((route, text))
            return
        route.fulfill(status=status, body=text, content_type="application/json")

    def _of(self, method: str, path: str, body: Any) -> Answer:
        for wanted, pattern, name in ROUTES:
            found = re.fullmatch(pattern, path)
            if wanted != method or found is None:
                continue
            given = found.groupdict()
            if "app" in given and given["app"] not in self.apps:
                return _problem(404, "There is no such app.")
            answer: Answer = getattr(self, f"_{name}")(**given, body=body)
            return answer
        return _problem(404, "There is nothing here.")

    def _list(self, body: Any) -> Answer:
        return 200, {"apps": [self._listed(name) for name in self.apps], "left": self.left}

    def _check(self, body: Any) -> Answer:
        """Cases pass if `pass` is in their name."""
        ids = [json.loads(line)["id"] for line in body.get("cases", "").splitlines()]
        cases = [{"id": one, "passed": "pass" in one, "reason": "Out: row 1 differs"} for one in ids]
        return 200, {"mistakes": mistakes_of(body["text"])} | ({"cases": cases} if ids else {})

    def _explain(self, body: Any) -> Answer:
        source = checked_text(body["text"], "wide", OperatorTerms()).source
        return (200, explained(source)) if source else _problem(422, "The text has mistakes.")

    def _explain_stored(self, app: str, body: Any) -> Answer:
        number = int(body.get("version", [len(self.apps[app].texts)])[0])
        status, found = self._explain({"text": self.apps[app].texts[number - 1]})
        return status, found | ({"version": number} if status == 200 else {})

    def _read(self, app: str, body: Any) -> Answer:
        return 200, self._whole(app)

    def _remove(self, app: str, body: Any) -> Answer:
        del self.apps[app]
        return 204, None

    def _versions(self, app: str, body: Any) -> Answer:
        numbers = range(len(self.apps[app].texts), 0, -1)
        return 200, {"versions": [{"version": n, "author": "owner", "created_at": AT} for n in numbers]}

    def _version(self, app: str, number: str, body: Any) -> Answer:
        return 200, {"version": int(number), "text": self.apps[app].texts[int(number) - 1]}

    def _newest(self, app: str, stream: str, body: Any) -> Answer:
        return 200, {"rows": self.apps[app].rows.get(stream, [])[-int(body["last"][0]) :]}

    def _inject(self, app: str, stream: str, body: Any) -> Answer:
        self.apps[app].injected.append((stream, body["values"]))
        return 200, {}

    def _query(self, app: str, body: Any) -> Answer:
        return 200, {"columns": ["symbol", "price"], "rows": [["BTC", 1.5]], "as_of": {"offset": 7, "time": AT}}

    def _errors(self, app: str, body: Any) -> Answer:
        (wanted,) = body.get("contains", [""])
        found = [one for one in self.apps[app].errors if wanted in json.dumps(one)]
        return 200, {"errors": found, "count": len(found), "next": None}

    def _edit_error(self, app: str, key: str, body: Any) -> Answer:
        (one,) = (one for one in self.apps[app].errors if one["key"] == key)
        one["values"] = body["values"]
        return 200, one

    def _change_errors(self, app: str, verb: str, body: Any) -> Answer:
        of_app, wanted = self.apps[app].errors, body.get("contains", "")
        chosen = [
            one
            for one in of_app
            if one["key"] in body.get("keys", ()) or (body.get("all") and wanted in json.dumps(one))
        ]
        if verb == "replay":
            for one in chosen:
                one["state"] = "replayed"
            return 202, {"replayed": len(chosen), "stopped_at": None, "reason": ""}
        of_app[:] = [one for one in of_app if one not in chosen]
        return 200, {"dropped": len(chosen)}

    def _listed(self, name: str) -> dict[str, Any]:
        app = self.apps[name]
        rate = 3.0 if app.state == "running" else None
        return {
            "name": name,
            "state": app.state,
            "version": len(app.texts),
            "published_version": app.published,
            "rows_per_second": rate,
            "errors": 0,
            "updated_at": AT,
            "description": description_of(app.texts[-1]),
            "author": "owner",
        }

    def _whole(self, name: str) -> dict[str, Any]:
        app = self.apps[name]
        status = {"rows_per_second": 3.0, "streams": {"quotes": 40.0}} if app.state == "running" else {}
        return {
            **self._listed(name),
            "text": app.texts[-1],
            "reason": app.reason,
            "status": status,
            "actions": app.actions,
        }

    def _create(self, body: dict[str, Any]) -> Answer:
        wrong = [] if body.get("draft") else mistakes_of(body["text"])
        if wrong:
            return 422, {**_problem(422, "The text has mistakes.")[1], "mistakes": wrong}
        if body["name"] in self.apps:
            return _problem(409, f"There is an app {body['name']} already.")
        self.apps[body["name"]] = AnsweredApp([body["text"]])
        return 201, self._whole(body["name"])

    def _replace(self, app: str, body: dict[str, Any]) -> Answer:
        texts = self.apps[app].texts
        wrong = [] if body.get("draft") else mistakes_of(body["text"])
        if wrong:
            return 422, {**_problem(422, "The text has mistakes.")[1], "mistakes": wrong}
        if body["version"] != len(texts):
            return _problem(409, f"{app} is at version {len(texts)} by now.")
        texts.append(body["text"])
        return 200, self._whole(app)

    def _order(self, app: str, verb: str, body: dict[str, Any]) -> Answer:
        if body.get("preview"):
            self.requests.pop()
            return 200, {"keeps": ["means"], "empty": ["peaks"]}
        if verb == "publish":
            self.apps[app].published = body["version"]
            self.apps[app].orders.append(body)
        self.apps[app].state = "stopped" if verb == "stop" else "running"
        return 202, self._whole(app)

    def _savepoints(self, app: str, body: Any) -> Answer:
        return 200, {"savepoints": self.apps[app].savepoints}

    def _keep_savepoint(self, app: str, body: Any) -> Answer:
        self.apps[app].savepoints.insert(0, SAVEPOINT)
        return 201, {"savepoint": SAVEPOINT, "bytes": 4096}

    def _sources(self, body: Any) -> Answer:
        return 200, {
            "sessions": [{"name": "yesterday", "start_time": AT, "end_time": AT + 600_000_000}],
            "sets": ["yesterday"],
        }

    def _begin_dry_run(self, body: Any) -> Answer:
        self.dry_runs["1"]["asked"] = body
        return 202, {"id": "1"}

    def _dry_run(self, number: str, body: Any) -> Answer:
        return 200, {"id": number, **self.dry_runs[number]}


def _problem(status: int, detail: str) -> Answer:
    return status, {"status": status, "title": "Problem", "detail": detail}


def mistakes_of(text: str) -> list[dict[str, Any]]:
    checked = checked_text(text, "wide", OperatorTerms())
    found = [{"line": one.at.line, "column": one.at.column, "message": one.problem} for one in checked.mistakes]
    return [row | {"nearest": one.nearest} for row, one in zip(found, checked.mistakes, strict=True)]
