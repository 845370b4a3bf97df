"""The bots: what each does, and stopping and starting them; and all processes of the session."""

from collections.abc import Awaitable
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel

from store.records.processes import Wanted
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator, Viewer
from ui.services.bot import BotRow, bot_now, bots_now
from ui.services.dashboard import dashboard_of
from ui.services.process import (
    NoSuchProcessError,
    ProcessOrderRejectedError,
    ProcessRow,
    order_process,
    process_row,
    processes_now,
)

router = APIRouter(tags=["bots"])

Answer = TypeVar("Answer")

BOT: dict[str, object] = {
    "name": "bot-kraken",
    "exchange": "kraken",
    "region": "us",
    "state": "ready",
    "activity": "trading",
    "wanted": "running",
    "wanted_by": None,
    "wanted_at": None,
    "pid": 4711,
    "since": 1_763_741_234_567_890,
    "restarts": 0,
    "last_end": None,
    "last_seen": 1_763_741_299_000_000,
    "lease": {
        "holder": "kraken@desk:4711:0f3c9a",
        "token": 3,
        "until": 1_763_741_302_000_000,
        "is_held": True,
    },
    "decides_on": [0],
    "open_arbitrages": 1,
    "open_legs": 1,
    "is_unwatched": False,
    "is_enabled": True,
    "breaker": {
        "is_paused": False,
        "paused_until": None,
        "failures": {"outcome_unknown": 1},
        "pauses": 0,
        "unexplained_since": 0,
    },
}
STOPPING: dict[str, object] = BOT | {
    "state": "stopping",
    "activity": "stopping",
    "wanted": "stopped",
    "wanted_by": "owner",
    "wanted_at": 1_763_741_298_000_000,
}


FEED: dict[str, object] = {
    "name": "feed-kraken",
    "kind": "feed",
    "exchange": "kraken",
    "state": "ready",
    "reported_state": "ready",
    "is_stoppable": True,
    "wanted": "running",
    "wanted_by": None,
    "wanted_at": None,
    "pid": 4700,
    "since": 1_763_741_234_567_890,
    "restarts": 1,
    "last_end": "exit code 1",
    "updated": 1_763_741_299_000_000,
}


class BotRows(BaseModel):
    """All bots; there are few."""

    items: list[BotRow]


class ProcessRows(BaseModel):
    """All processes of the session, its supervisor among them."""

    items: list[ProcessRow]


def _shown(example: object, *rejections: int) -> dict[int | str, dict[str, Any]]:
    answer: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {"example": example}}}}
    return answer | dict.fromkeys(rejections, PROBLEM_RESPONSE)


@router.get("/bots", responses=_shown({"items": [BOT]}, 503))
async def bots(request: Request, _: Viewer) -> BotRows:
    """Return every bot of the session, by name: one trades for its exchange, the others are on standby."""
    return BotRows(items=await bots_now(dashboard_of(request.app)))


@router.get("/bots/{name}", responses=_shown(BOT, 404, 503))
async def bot(request: Request, name: str, _: Viewer) -> BotRow:
    """Return one bot, by the name of its process, `bot-EXCHANGE` or `bot-EXCHANGE-2`, or by an exchange that has only
    one."""
    return await _answered(bot_now(dashboard_of(request.app), name))


@router.post("/bots/{name}/stop", responses=_shown(STOPPING, 401, 403, 404, 409, 503))
async def stop_bot(request: Request, name: str, caller: Operator) -> BotRow:
    """Stop a bot; `state` follows in a moment. The bot drains: it opens nothing new and follows its orders in flight
    until they are final. It stays stopped until it is started, even if the session restarts. Idempotent. 409: the
    supervisor sends no heartbeat, or the session is ending."""
    return await _ordered(request, name, "stopped", caller)


@router.post("/bots/{name}/start", responses=_shown(BOT, 401, 403, 404, 409, 503))
async def start_bot(request: Request, name: str, caller: Operator) -> BotRow:
    """Start a bot; `state` follows in a moment. Idempotent."""
    return await _ordered(request, name, "running", caller)


@router.get("/processes", responses=_shown({"items": [FEED]}, 503))
async def processes(request: Request, _: Viewer) -> ProcessRows:
    """Return every process of the session as its supervisor reported it; `unknown` without a heartbeat for 5 s."""
    return ProcessRows(items=await processes_now(dashboard_of(request.app)))


@router.post("/processes/{name}/stop", responses=_shown(FEED, 401, 403, 404, 409, 503))
async def stop_process(request: Request, name: str, caller: Operator) -> ProcessRow:
    """Stop a bot or a price feed; a feed's quotes are withdrawn at once. 409 for any other process."""
    return process_row(await _answered(order_process(dashboard_of(request.app), name, "stopped", caller)))


@router.post("/processes/{name}/start", responses=_shown(FEED, 401, 403, 404, 409, 503))
async def start_process(request: Request, name: str, caller: Operator) -> ProcessRow:
    """Start a bot or a price feed; 409 for any other process."""
    return process_row(await _answered(order_process(dashboard_of(request.app), name, "running", caller)))


async def _ordered(request: Request, name: str, wanted: Wanted, caller: Operator) -> BotRow:
    dashboard = dashboard_of(request.app)
    # a process of another kind is no bot, whatever its name
    name = (await _answered(bot_now(dashboard, name)))["name"]
    ordered = await _answered(order_process(dashboard, name, wanted, caller))
    row = await _answered(bot_now(dashboard, name))
    # the store's member that answered the read may not have the order yet
    order = ordered.order
    row["wanted"], row["wanted_by"], row["wanted_at"] = order.wanted, order.by, order.at or None
    return row


async def _answered(work: Awaitable[Answer]) -> Answer:
    """Raise ProblemError: 404, 409."""
    try:
        return await work
    except NoSuchProcessError as error:
        there_are = f"there are {', '.join(error.known)}" if error.known else "none was reported yet"
        raise ProblemError(404, f"This session has no process {error.name!r} here; {there_are}.") from None
    except ProcessOrderRejectedError as error:
        raise ProblemError(409, error.why) from None
