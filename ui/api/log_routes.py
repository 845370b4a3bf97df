"""GET /api/logs: the newest log lines of each process. Viewers may read them: secrets are redacted."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from typing_extensions import TypedDict

from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import REJECTED, Viewer
from ui.services.dashboard import dashboard_of
from ui.services.log_tail import MAX_LINES, Level, LogQuestion, LogTailRow, NoLogError, log_names, log_tail

router = APIRouter(tags=["health"])

Part = Annotated[str, Path(max_length=60, description="A process of the session, as listed by /api/logs.")]
Lines = Annotated[int, Query(ge=1, le=MAX_LINES, description="Number of newest matching lines.")]
AtLeast = Annotated[Level, Query(description="Minimum level. Lines without a level are always included.")]
Text = Annotated[str, Query(max_length=200, description="Text in the event or its fields, case-insensitive.")]


class LogsRow(TypedDict):
    """Processes of this session that have a log on this machine."""

    parts: list[str]


@router.get("/logs", responses=REJECTED)
async def logs(request: Request, _: Viewer) -> LogsRow:
    """Return the logs on this machine."""
    dashboard = dashboard_of(request.app)
    parts = await dashboard.health.part_names()
    return LogsRow(parts=list(await asyncio.to_thread(log_names, dashboard.session.home, parts)))


@router.get("/logs/{part}", responses={404: PROBLEM_RESPONSE, **REJECTED})
async def log(
    request: Request, _: Viewer, part: Part, lines: Lines = 100, level: AtLeast = "DEBUG", text: Text = ""
) -> LogTailRow:
    """Return the newest lines of one log, oldest first, without secrets. Searches at most the last megabyte."""
    dashboard = dashboard_of(request.app)
    parts = await dashboard.health.part_names()
    question = LogQuestion(lines, level, text)
    try:
        return await asyncio.to_thread(log_tail, dashboard.session.home, part, parts, question)
    except NoLogError as error:
        raise ProblemError(404, str(error)) from None
