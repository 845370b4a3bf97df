"""Two runs side by side: backtests, or a backtest and the running session."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Asker
from ui.runs.compared_runs import NoRunError
from ui.runs.comparison import Comparisons
from ui.runs.comparison_rows import ComparisonRow
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["backtests"])

RunId = Annotated[str, Query(min_length=1, max_length=200, description="A backtest's id, or `session`.")]


@router.get("/backtests/compare", responses={404: PROBLEM_RESPONSE})
async def compare(request: Request, _: Asker, first: RunId, second: RunId) -> ComparisonRow:
    """Return what two runs made within the time that both have ticks of, settings that differ, and trades that only
    one of them has. Two trades of one route are one if they were detected within a second."""
    comparisons: Comparisons = request.app.state.comparisons
    try:
        return await comparisons.row(dashboard_of(request.app), first, second)
    except NoRunError as error:
        raise ProblemError(404, str(error)) from None
