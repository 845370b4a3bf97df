"""Export and import of stored apps as a zip of texts."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from typing_extensions import TypedDict

from store.errors import StoreError
from store.records.apps import StoredApp
from ui.api.apps.app_requests import LONGEST_PATH, Desk
from ui.apps.app_archive import packed, unpacked
from ui.apps.stored_apps import AppAnswerError, AppDesk, NewText
from ui.auth.callers import Caller
from ui.http.problems import PROBLEM_RESPONSE
from ui.http.route_auth import Asker, Author

router = APIRouter(prefix="/apps", tags=["apps"])

Outcome = Literal["created", "replaced", "unchanged"]
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
    """Names of apps that are new, that have a new version, and whose newest text was the same already; and each that
    was not stored, with the reason."""

    created: list[str]
    replaced: list[str]
    unchanged: list[str]
    failed: dict[str, str]


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
    nothing is published. What cannot be stored is named with its reason, and the others are stored."""
    texts = await asyncio.to_thread(unpacked, await request.body())
    stored = {app.name: app for app in await desk.dashboard.reader.apps.apps()}
    done: ImportedRow = {"created": [], "replaced": [], "unchanged": [], "failed": {}}
    for name, text in texts.items():
        try:
            done[await _stored(desk, name, text, stored.get(name), caller)].append(name)
        except AppAnswerError as error:
            done["failed"][name] = str(error)
        except StoreError:
            done["failed"][name] = "The store does not answer; try again."
    return done


async def _stored(desk: AppDesk, name: str, text: str, known: StoredApp | None, caller: Caller) -> Outcome:
    """Raise AppAnswerError, StoreError."""
    new = NewText(text, NOTE, is_draft=True)
    if known is None:
        await desk.create(name, new, caller, "app.import")
        return "created"
    if await desk.text(name, known.version) == text:
        return "unchanged"
    await desk.replace(name, new, known.version, caller)
    return "replaced"
