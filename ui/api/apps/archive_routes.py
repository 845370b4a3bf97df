"""Export and import of stored apps as a zip of texts."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from typing_extensions import TypedDict

from ui.api.apps.app_requests import LONGEST_PATH, Desk
from ui.apps.app_archive import packed, unpacked
from ui.apps.stored_apps import NewText
from ui.http.problems import PROBLEM_RESPONSE
from ui.http.route_auth import Asker, Author

router = APIRouter(prefix="/apps", tags=["apps"])

ZIP = "application/zip"
NOTE = "imported"
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A zip with a file NAME.app for each app; at most 100, of 256 KiB each.",
        "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}},
    }
}


class ImportedRow(TypedDict):
    """Names of apps that are new, that have a new version, and whose newest text was the same already."""

    created: list[str]
    replaced: list[str]
    unchanged: list[str]


@router.get("/export", response_class=Response, responses={404: PROBLEM_RESPONSE, 200: {"content": {ZIP: {}}}})
async def export(
    desk: Desk,
    _: Asker,
    name: Annotated[str | None, Query(max_length=LONGEST_PATH, description="Default: all.")] = None,
) -> Response:
    """Return the newest texts as a zip, one app or all."""
    apps = await desk.dashboard.reader.apps.apps() if name is None else [await desk.app(name)]
    texts = {app.name: await desk.text(app.name, app.version) for app in apps}
    file = f"{apps[0].name if name is not None else 'apps'}.zip"
    headers = {"Content-Disposition": f'attachment; filename="{file}"', "X-Content-Type-Options": "nosniff"}
    return Response(await asyncio.to_thread(packed, texts), media_type=ZIP, headers=headers)


@router.post("/import", responses=dict.fromkeys((401, 403, 409, 413, 422), PROBLEM_RESPONSE), openapi_extra=BODY)
async def import_(request: Request, desk: Desk, caller: Author) -> ImportedRow:
    """Store the texts of a zip: as new apps, or as new versions of those that are there. They may have mistakes, and
    nothing is published."""
    texts = await asyncio.to_thread(unpacked, await request.body())
    stored = {app.name: app for app in await desk.dashboard.reader.apps.apps()}
    done: ImportedRow = {"created": [], "replaced": [], "unchanged": []}
    for name, text in texts.items():
        new = NewText(text, NOTE, is_draft=True)
        if name not in stored:
            await desk.create(name, new, caller, "app.import")
            done["created"].append(name)
        elif await desk.text(name, stored[name].version) == text:
            done["unchanged"].append(name)
        else:
            await desk.replace(name, new, stored[name].version, caller)
            done["replaced"].append(name)
    return done
