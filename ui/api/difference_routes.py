"""Differences between the ledger and an exchange, how each was handled, and what a person says of it."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from market.accounting.differences import CannotSettleError, DifferenceKind, PersonsVerdict, StoredDifference
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.rows.attribute import row_from
from ui.services.bot import NoSuchDifferenceError, settle_difference
from ui.services.dashboard import dashboard_of
from wording.labels import difference_advice

router = APIRouter(tags=["trades"])


class DifferenceRow(TypedDict):
    """`handled`: healed by taking the exchange's value, or only reported. `found_at`: first time, microseconds.

    `is_open`: it keeps its exchange reduce-only. `settled`: by whom and how it was settled, `explained` if later
    comparisons no longer found it; `booked`: what that added to our balance of the currency `subject`. `cause`: orders
    of ours that were in doubt there and may be the cause; `advice`: what to do, empty if there is nothing to do.
    """

    difference_id: str
    kind: str
    exchange: str
    subject: str
    ours: str
    theirs: str
    handled: str
    found_at: int
    is_open: bool
    settled: str | None
    settled_by: str
    settled_at: int
    booked: str
    cause: str
    advice: str


class WantedSettlement(BaseModel):
    """`acknowledged`: known, such as a trade by hand; `deposit`, `withdrawal`: for a balance only."""

    model_config = ConfigDict(extra="forbid")

    settled: PersonsVerdict


@router.get("/differences")
async def differences(
    request: Request,
    kind: Annotated[list[DifferenceKind] | None, Query(description="Any of these; default: all.")] = None,
    is_open: Annotated[bool, Query(description="Only those that keep an exchange reduce-only.")] = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[DifferenceRow]:
    """Return the differences that reconciliation found, of all sessions, newest first; kinds:
    docs/reconciliation.md."""
    reader = dashboard_of(request.app).reader
    return page_row(await reader.differences(tuple(kind or ()), cursor, limit, open_only=is_open), difference_row)


@router.post(
    "/differences/{difference_id}/settle", responses=dict.fromkeys((401, 403, 404, 409, 503), PROBLEM_RESPONSE)
)
async def settle(request: Request, difference_id: str, wanted: WantedSettlement, caller: Operator) -> DifferenceRow:
    """Acknowledge a difference, or adopt it as a deposit or withdrawal: the surplus or shortfall at the exchange is
    booked to our balance, and the exchange trades again once none is open. Idempotent. 409: it cannot be settled so."""
    try:
        return difference_row(await settle_difference(dashboard_of(request.app), difference_id, wanted.settled, caller))
    except NoSuchDifferenceError as error:
        raise ProblemError(404, f"There is no difference {error.difference_id!r}.") from None
    except CannotSettleError as error:
        raise ProblemError(409, f"Not settled: {error}") from None


def difference_row(one: StoredDifference) -> DifferenceRow:
    return row_from(DifferenceRow, one, advice=difference_advice(one.kind, one.cause) if one.settled is None else "")
