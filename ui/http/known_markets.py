"""Rejects assets and exchanges that the session does not have: an empty list would suggest that nothing had
happened."""

from fastapi import Request

from ui.http.problems import ProblemError
from ui.rows.field_problems import FieldProblem
from ui.services.dashboard import dashboard_of
from ui.services.session_markets import unknown_asset, unknown_exchange

NAMED_BY = {
    "base": unknown_asset,
    "exchange": unknown_exchange,
    "buy_exchange": unknown_exchange,
    "sell_exchange": unknown_exchange,
}
"""Query parameters, the same on every route that has them."""
LONGEST = 40
"""Longer ones are not repeated: the route's own bound rejects them."""


async def known_markets(request: Request) -> None:
    """Raise ProblemError 422, with one sentence for each, if the session lacks an asset or exchange of the query."""
    session = dashboard_of(request.app).session
    wrong = [
        FieldProblem(field=f"query.{name}", why=sentence)
        for name, value in request.query_params.multi_items()
        if name in NAMED_BY and len(value) <= LONGEST and (sentence := NAMED_BY[name](session, value))
    ]
    if wrong:
        raise ProblemError(422, " ".join(one["why"] for one in wrong), {"errors": wrong})
