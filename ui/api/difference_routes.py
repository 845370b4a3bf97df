"""GET: differences between the ledger and an exchange, and how each was handled."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from typing_extensions import TypedDict

from market.accounting.differences import DifferenceKind
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.rows.attribute_rows import row_from
from ui.services.dashboard import dashboard_of

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
    return page_row(
        await dashboard_of(request.app).reader.differences(tuple(kind or ()), cursor, limit),
        lambda one: row_from(DifferenceRow, one),
    )
