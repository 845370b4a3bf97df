"""GET /api/audit: who changed what, when, from where; for operators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from typing_extensions import TypedDict

from store.operations.audit import AuditFilter
from store.records.audit_entry import AuditOutcome
from ui.http.route_auth import ReadingOperator
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.rows.attribute import row_from
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["access"])

Word = Annotated[str | None, Query(max_length=200)]
Moment = Annotated[int | None, Query(ge=0, le=2**62, description="Microseconds since 1970, UTC.")]


class AuditRow(TypedDict):
    """`at` in microseconds UTC by the store's clock. `outcome`: `started` if the process ended before the change."""

    entry_id: str
    at: int
    who: str
    role: str
    means: str
    address: str
    action: str
    target: str
    outcome: str
    reason: str
    on_behalf: str
    before: dict[str, object]
    after: dict[str, object]


def wanted_entries(
    who: Word = None,
    action: Word = None,
    target: Word = None,
    outcome: AuditOutcome | None = None,
    since: Moment = None,
    until: Moment = None,
) -> AuditFilter:
    return AuditFilter(who, action, target, outcome, since, until)


@router.get("/audit")
async def audit(
    request: Request,
    _: ReadingOperator,
    wanted: Annotated[AuditFilter, Depends(wanted_entries)],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[AuditRow]:
    """Return every attempted change, newest first, rejected ones included. `since` is inclusive, `until` exclusive."""
    return page_row(
        await dashboard_of(request.app).reader.audit.page(wanted, cursor, limit), lambda one: row_from(AuditRow, one)
    )
