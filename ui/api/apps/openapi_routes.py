"""The document of this service for programs, with the endpoints that published apps declare."""

from typing import Any

from fastapi import APIRouter, Request

from store.errors import StoreError
from ui.api.apps.app_requests import Desk
from ui.api.apps.row_routes import endpoints_of
from ui.apps.app_endpoints import openapi_paths
from ui.apps.app_texts import TextsBusyError, TextTimeError

router = APIRouter(include_in_schema=False)


@router.get("/openapi.json")
async def openapi(request: Request, desk: Desk) -> dict[str, Any]:
    """Return the document; without the endpoints of apps while the store does not answer."""
    document: dict[str, Any] = request.app.openapi()
    paths = dict(document["paths"])
    try:
        for app in await desk.dashboard.reader.apps.apps():
            paths |= openapi_paths(app.name, await endpoints_of(request).of(desk, app))
    except (StoreError, TextsBusyError, TextTimeError):
        return document
    return {**document, "paths": paths}
