"""Endpoints that published apps declare: which there are, and which one answers a path."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store.records.apps import StoredApp
from ui.apps.app_texts import AppMistakesError
from ui.apps.stored_apps import AppAnswerError, AppDesk

MOST_KNOWN = 500
JSON_TYPES = {"string": "string", "bool": "boolean", "int": "integer", "long": "integer", "double": "number"}
Row = dict[str, Any]
Values = dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class AppEndpoints:
    """`known`: by name, version and time of a text, what it declares; the newest ones."""

    known: OrderedDict[tuple[str, int, int], list[Row]]

    async def of(self, desk: AppDesk, app: StoredApp) -> list[Row]:
        """Return the endpoints of the version that was published last; none if there is none."""
        version = app.order.version
        if version is None:
            return []
        key = app.name, version, app.created_at
        if key not in self.known:
            try:
                explained = await desk.texts.explain(await desk.text(app.name, version), app.name, f"app {app.name}")
            except AppMistakesError:
                # an older version of the program took the text
                explained = {"endpoints": []}
            self.known[key] = list(explained["endpoints"])
            if len(self.known) > MOST_KNOWN:
                self.known.popitem(last=False)
        return self.known[key]


def query_of(app: str, endpoints: Sequence[Row], words: Sequence[str]) -> tuple[str, Values]:
    """Return the query of the endpoint at that path, and its values by name: type and text. Raises AppAnswerError
    404."""
    for endpoint in endpoints:
        parts = endpoint["path"].strip("/").split("/")
        if len(parts) == len(words) and all(_fits(part, word) for part, word in zip(parts, words, strict=True)):
            types = {one["name"]: one["type"] for one in endpoint["parameters"]}
            given = {part[1:-1]: word for part, word in zip(parts, words, strict=True) if part.startswith("{")}
            return endpoint["query"], {name: (types[name], word) for name, word in given.items()}
    paths = ", ".join(one["path"] for one in endpoints)
    there_are = f"there are {paths}" if paths else "its text declares none (@App:endpoint), or it was never published"
    raise AppAnswerError(404, f"The app {app} has no such endpoint; {there_are}.")


def openapi_paths(app: str, endpoints: Sequence[Row]) -> Row:
    """Return what OpenAPI says of the endpoints."""
    return {f"/api/apps/{app}/endpoints{one['path']}": {"get": _operation(app, one)} for one in endpoints}


def _operation(app: str, endpoint: Row) -> Row:
    parameters = [
        {"name": one["name"], "in": "path", "required": True, "schema": {"type": JSON_TYPES[one["type"]]}}
        for one in endpoint["parameters"]
    ]
    answer = {"schema": {"$ref": "#/components/schemas/AppAnswerRow"}}
    return {
        "tags": [f"app {app}"],
        "summary": endpoint["query"],
        "parameters": parameters,
        "responses": {"200": {"description": "Rows of the query.", "content": {"application/json": answer}}},
    }


def _fits(part: str, word: str) -> bool:
    return part.startswith("{") or part == word
