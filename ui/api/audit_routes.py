"""GET /api/audit: who changed what, when, from where; for operators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from typing_extensions import TypedDict

from session.audit_entry import AuditEntry, AuditOutcome
from store.operations.mongo_audit import AuditFilter
from ui.api.market_routes import dashboard_of
from ui.http.route_roles import ReadingOperator
from ui.http.row_pages import Cursor, Limit, PageRow

router = APIRouter(tags=["access"])

Word = Annotated[str | None, Query(max_length=200)]
Moment = Annotated[int | None, Query(ge=0, le=2**62, description="Microseconds since 1970, UTC.")]


class AuditRow(TypedDict):
    """`at` in microseconds UTC by the store's clock. `outcome`: `begun` where the process ended before the change."""

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


def asked(
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
    wish: Annotated[AuditFilter, Depends(asked)],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[AuditRow]:
    """Every attempted change, newest first, rejected ones included. `since` is inclusive, `until` exclusive."""
    page = await dashboard_of(request).reader.audit.page(wish, cursor, limit)
    return PageRow(items=[audit_row(entry) for entry in page.items], next_cursor=page.next_cursor)


def audit_row(entry: AuditEntry) -> AuditRow:
    return AuditRow(
        entry_id=entry.entry_id,
        at=entry.at,
        who=entry.who,
        role=entry.role,
        means=entry.means,
        address=entry.address,
        action=entry.action,
        target=entry.target,
        outcome=entry.outcome,
        reason=entry.reason,
        on_behalf=entry.on_behalf,
        before=dict(entry.before),
        after=dict(entry.after),
    )
