"""GET /api/apps/language: what an editor of stream apps completes and explains."""

from fastapi import APIRouter

from ui.language.app_language import app_language
from ui.rows.app_language import AppLanguageRow

router = APIRouter(prefix="/apps", tags=["apps"])


@router.get("/language")
async def language() -> AppLanguageRow:
    """Return the streams of the product and those that act on the session, functions, windows, annotations and words,
    each with its documentation, and the shipped apps as templates."""
    return app_language()
