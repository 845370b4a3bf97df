"""GET /api/keys: the API keys, for operators. Only `arbitrage keys` adds and revokes keys."""

from fastapi import APIRouter, Request
from typing_extensions import TypedDict

from ui.auth.api_keys import known_keys
from ui.http.route_auth import ReadingOperator, access_of
from ui.rows.attribute import row_from

router = APIRouter(tags=["access"])


class KeyRow(TypedDict):
    """`created_at` in microseconds UTC. Neither a key nor its hash is ever shown."""

    name: str
    role: str
    created_at: int


@router.get("/keys")
async def keys(request: Request, _: ReadingOperator) -> list[KeyRow]:
    """Return the keys: the owner's first, then by creation."""
    known = known_keys(access_of(request).home)
    return [row_from(KeyRow, key) for key in known]
