"""Transfers between exchanges: what was decided and what became of it, and an operator's word on them."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from market.accounting.transfer_lifecycle import MoneyTransfer, TransferStepError, dropped, settled
from market.money import BoundedDecimal, text_of
from market.trade.leases import UNFENCED
from ui.auth.callers import Caller
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.rows.attribute import row_from
from ui.rows.inventory import MoneyTransferRow
from ui.services.change_audit import auditing
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["inventory"])

REFUSALS: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 404, 409, 503), PROBLEM_RESPONSE)


class WantedEnd(BaseModel):
    """`left`: what its source has less by it, its fee included; null: nothing left, or it came back. `arrived`: what
    its destination got; null: nothing yet; 0: it is lost. Both must be said."""

    model_config = ConfigDict(extra="forbid")

    left: BoundedDecimal | None
    arrived: BoundedDecimal | None


@router.get("/transfers")
async def transfers(request: Request, cursor: Cursor = None, limit: Limit = 50) -> PageRow[MoneyTransferRow]:
    """Return the transfers of all sessions, newest first."""
    return page_row(await dashboard_of(request.app).reader.all_transfers(cursor, limit), money_transfer_row)


@router.post("/transfers/{transfer_id}/confirm", responses=REFUSALS)
async def confirm(request: Request, transfer_id: str, caller: Operator) -> MoneyTransferRow:
    """Let a proposed transfer go: the bot of its source makes the withdrawal. On real exchanges nothing is sent without
    it. Idempotent. 409: it is no proposal any more."""
    book = dashboard_of(request.app).reader.transfer_book
    return await _changed(request, caller, "confirm", transfer_id, lambda: book.confirm(transfer_id, caller.name))


@router.post("/transfers/{transfer_id}/decline", responses=REFUSALS)
async def decline(request: Request, transfer_id: str, caller: Operator) -> MoneyTransferRow:
    """Drop a proposed transfer, also a confirmed one, before it is asked of its exchange. 409: it is no proposal any
    more."""
    book = dashboard_of(request.app).reader.transfer_book
    return await _changed(request, caller, "decline", transfer_id, lambda: book.step(transfer_id, _declined, UNFENCED))


@router.post("/transfers/{transfer_id}/settle", responses=REFUSALS)
async def settle(request: Request, transfer_id: str, wanted: WantedEnd, caller: Operator) -> MoneyTransferRow:
    """Say what became of an unknown transfer, as both exchanges show it; it is booked so. 409: it is not unknown, or
    that cannot be."""
    reader = dashboard_of(request.app).reader
    opened, _ = await reader.balance_book.of_session()
    session_id = dashboard_of(request.app).session.session_id

    def step(known: MoneyTransfer, now: int) -> MoneyTransfer:
        # balances that a session has not begun with yet will have it in them
        return settled(known, wanted.left, wanted.arrived, now, lambda name: session_id if name in opened else "")

    return await _changed(
        request, caller, "settle", transfer_id, lambda: reader.transfer_book.step(transfer_id, step, UNFENCED)
    )


def _declined(known: MoneyTransfer, now: int) -> MoneyTransfer:
    return dropped(known, "declined", now)


async def _changed(
    request: Request, caller: Caller, what: str, transfer_id: str, change: Callable[[], Awaitable[MoneyTransfer | None]]
) -> MoneyTransferRow:
    try:
        async with auditing(dashboard_of(request.app), caller, f"transfer.{what}", transfer_id) as note:
            found = await change()
            if found is None:
                raise ProblemError(404, f"There is no transfer {transfer_id!r}.")
            ends = {"source": found.source, "destination": found.destination}
            note.before = ends | {"currency": found.currency, "amount": text_of(found.amount)}
            row = money_transfer_row(found)
            note.after = {name: row[name] for name in ("state", "confirmed_by", "left", "arrived")}
    except TransferStepError as error:
        raise ProblemError(409, f"Not done: {error}.") from None
    return row


def money_transfer_row(transfer: MoneyTransfer) -> MoneyTransferRow:
    return row_from(MoneyTransferRow, transfer)
