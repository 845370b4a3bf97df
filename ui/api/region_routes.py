"""GET /api/regions, and POST /api/regions/links, which cuts, slows and heals links of a paper session."""

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from runtime.carrier_socket import CarrierSilentError, LinkCommandRefusedError
from ui.examples.region_examples import LINKS, REGIONS
from ui.examples.trade_examples import shown
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator, Viewer
from ui.rows.field_problems import FieldProblem
from ui.rows.region import RegionLinkRow, RegionsRow
from ui.services.dashboard import dashboard_of
from ui.services.region import NO_REGIONS, LinksFixedError, change_links, regions_now

router = APIRouter(prefix="/regions", tags=["regions"])

LONGEST_COMMAND = 200
EXAMPLES = ["cut jp", "cut us>eu", "loss eu 2", "delay us jp 300", "skew eu +2s", "heal"]


class LinkCommand(BaseModel):
    """The words of `arbitrage region`."""

    model_config = ConfigDict(extra="forbid")

    command: str = Field(min_length=1, max_length=LONGEST_COMMAND, examples=EXAMPLES)


class LinkRows(BaseModel):
    """Each direction between two regions; there are few."""

    items: list[RegionLinkRow]


@router.get("", responses=shown(seen_from_us=REGIONS) | {404: PROBLEM_RESPONSE})
async def regions(request: Request, _: Viewer) -> RegionsRow:
    """Return the regions of the session as this one sees them: leader, members of the store, ages of prices, links,
    orders in flight. 404: the session has no regions."""
    known = await regions_now(dashboard_of(request.app))
    if known is None:
        raise ProblemError(404, NO_REGIONS)
    return known


@router.post(
    "/links", responses=shown(after_cut_jp={"items": LINKS}) | dict.fromkeys((401, 404, 409), PROBLEM_RESPONSE)
)
async def change(request: Request, wanted: LinkCommand, caller: Operator) -> LinkRows:
    """Cut, slow, heal or drop packets on links, or set a region's clock off; the answer has all links after it. 409:
    they cannot be changed here, or not now; 422: a mistake in the command, with its column; 503: the carrier does not
    answer and may or may not have done it."""
    dashboard = dashboard_of(request.app)
    if dashboard.hub.regions is None:
        raise ProblemError(404, NO_REGIONS)
    try:
        return LinkRows(items=await change_links(dashboard, wanted.command, caller))
    except LinksFixedError as fixed:
        raise ProblemError(409, fixed.why) from None
    except LinkCommandRefusedError as refused:
        wrong = [FieldProblem(field="body.command", why=str(refused).rstrip("."))]
        raise ProblemError(422, f"Not done: {refused}", {"errors": wrong}) from None
    except CarrierSilentError as silent:
        raise ProblemError(503, f"The links may or may not have been changed: {silent}") from None
