"""GET: differences between the ledger and an exchange, and how each was handled."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from typing_extensions import TypedDict

from market.accounting.differences import DifferenceKind, StoredDifference
from ui.api.market_routes import dashboard_of
from ui.http.row_pages import Cursor, Limit, PageRow

router = APIRouter(tags=["trades"])


class DifferenceRow(TypedDict):
    """`handled`: healed by taking the exchange's value, or only reported. `found_at`: first time, microseconds."""

    difference_id: str
    kind: str
    exchange: str
    subject: str
    ours: str
    theirs: str
    handled: str
    found_at: int


@router.get("/differences")
async def differences(
    request: Request,
    kind: Annotated[list[DifferenceKind] | None, Query(description="Any of these; default: all.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[DifferenceRow]:
    """Differences that reconciliation found, of all sessions, newest first; kinds: docs/reconciliation.md."""
    page = await dashboard_of(request).reader.differences(tuple(kind or ()), cursor, limit)
    return PageRow(items=[_row(one) for one in page.items], next_cursor=page.next_cursor)


def _row(one: StoredDifference) -> DifferenceRow:
    return DifferenceRow(
        difference_id=one.difference_id,
        kind=one.kind,
        exchange=one.exchange,
        subject=one.subject,
        ours=one.ours,
        theirs=one.theirs,
        handled=one.handled,
        found_at=one.found_at,
    )
