"""Transfers between exchanges: what was decided and what became of it, and an operator's word on a proposal."""

from fastapi import APIRouter, Request

from market.accounting.transfer_lifecycle import MoneyTransfer, TransferStepError
from market.money import text_of
from ui.auth.callers import Caller
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.rows.attribute import row_from
from ui.rows.inventory import MoneyTransferRow
from ui.services.change_audit import auditing
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["inventory"])


@router.get("/transfers")
async def transfers(request: Request, cursor: Cursor = None, limit: Limit = 50) -> PageRow[MoneyTransferRow]:
    """Return the transfers of all sessions, newest first."""
    return page_row(await dashboard_of(request.app).reader.all_transfers(cursor, limit), money_transfer_row)


@router.post("/transfers/{transfer_id}/confirm", responses=dict.fromkeys((401, 403, 404, 409, 503), PROBLEM_RESPONSE))
async def confirm(request: Request, transfer_id: str, caller: Operator) -> MoneyTransferRow:
    """Let a proposed transfer go: the bot of its source makes the withdrawal. On real exchanges nothing is sent without
    it. Idempotent. 409: it is no proposal any more."""
    try:
        return money_transfer_row(await _confirmed(request, transfer_id, caller))
    except TransferStepError as error:
        raise ProblemError(409, f"Not confirmed: {error}.") from None


async def _confirmed(request: Request, transfer_id: str, caller: Caller) -> MoneyTransfer:
    dashboard = dashboard_of(request.app)
    async with auditing(dashboard, caller, "transfer.confirm", transfer_id) as note:
        found = await dashboard.reader.transfer_book.confirm(transfer_id, caller.name)
        if found is None:
            raise ProblemError(404, f"There is no transfer {transfer_id!r}.")
        ends = {"source": found.source, "destination": found.destination}
        note.before = ends | {"currency": found.currency, "amount": text_of(found.amount)}
        note.after = {"confirmed_by": found.confirmed_by}
    return found


def money_transfer_row(transfer: MoneyTransfer) -> MoneyTransferRow:
    return row_from(MoneyTransferRow, transfer)
