"""GET: stored opportunities with their outcome, those of the stream, and their statistics."""

from enum import Enum
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from market.instruments.cycles import FEWEST_LEGS, MOST_LEGS
from market.prices.episodes import EpisodeOutcome
from store.queries.episode_pages import EpisodeFilter
from store.queries.opportunity_outcomes import OutcomeName
from store.queries.opportunity_pages import OpportunityFilter
from streams.errors import StreamError
from ui.api.market_routes import Base, Exchange
from ui.examples.opportunity_examples import CYCLES, EPISODE_PAGE, KEPT, KEPT_PAGE, NEWEST, PREVIEW, STATISTICS
from ui.examples.trade_examples import shown
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.row_pages import Cursor, Limit, PageRow
from ui.rows.episode import EpisodeRow
from ui.rows.market import OpportunityRow, opportunity_row
from ui.rows.opportunity import (
    CycleOpportunityRow,
    Span,
    StatisticsRow,
    StoredOpportunityRow,
    cycle_opportunity_row,
)
from ui.services.dashboard import dashboard_of
from ui.services.opportunity import (
    episode_page,
    opportunity_by_id,
    opportunity_page,
    opportunity_statistics,
    span_start,
)
from ui.services.session_markets import is_of_market
from ui.services.threshold_preview import PreviewRow, threshold_preview

router = APIRouter()

TAGS: list[str | Enum] = ["opportunities"]
LATEST_MICROSECOND = 2**53
"""Larger integers lose digits in JavaScript."""
CycleExchange = Annotated[str | None, Query(alias="exchange", max_length=40, description="Of any of its legs.")]
NetBps = Annotated[float | None, Query(ge=-1_000, le=10_000, allow_inf_nan=False)]


class WantedAny(BaseModel):
    """The filters that opportunities and their episodes share, combined with AND."""

    base: str | None = Field(None, max_length=20, description="Base asset, for example BTC.")
    exchange: str | None = Field(None, max_length=40, description="Exchange, on either side of a pair.")
    buy_exchange: str | None = Field(None, max_length=40)
    sell_exchange: str | None = Field(None, max_length=40)
    min_net_bps: float | None = Field(None, ge=-1_000, le=10_000, allow_inf_nan=False)
    reason: str | None = Field(None, max_length=40, description="As in docs/risk.md.")
    since: int | None = Field(None, alias="from", ge=0, le=LATEST_MICROSECOND, description="Microseconds UTC.")
    to: int | None = Field(None, ge=0, le=LATEST_MICROSECOND, description="Microseconds UTC, exclusive.")


class Wanted(WantedAny):
    """The filters of `/opportunities`."""

    outcome: OutcomeName | None = None

    @property
    def opportunities(self) -> OpportunityFilter:
        sides = (self.base, self.exchange, self.buy_exchange, self.sell_exchange)
        return OpportunityFilter(*sides, self.min_net_bps, self.outcome, self.reason, self.since, self.to)


class WantedEpisodes(WantedAny):
    """The filters of `/episodes`."""

    outcome: EpisodeOutcome | None = None
    span: Span = Field("session", description="Those that `/opportunities/statistics` counts for the same span.")

    @property
    def episodes(self) -> EpisodeFilter:
        sides = (self.base, self.exchange, self.buy_exchange, self.sell_exchange)
        seen = (self.since, self.to, span_start(self.span))
        return EpisodeFilter(*sides, self.min_net_bps, self.outcome, self.reason, *seen)


@router.get("/episodes", tags=TAGS, responses=shown(example=EPISODE_PAGE))
async def episodes(
    request: Request, wanted: Annotated[WantedEpisodes, Query()], cursor: Cursor = None, limit: Limit = 50
) -> PageRow[EpisodeRow]:
    """Return the episodes of opportunities of this session, newest first, for seven days: each run of sightings of one
    pair of markets once, with how often it was seen and what became of it. `from` ≤ its first sighting < `to`; `reason`
    and `min_net_bps` are those of its best opportunity. To list its single opportunities, ask `/api/opportunities` with
    its `buy_exchange` and `sell_exchange`, `from` its `start`, and `to` after its `end`."""
    page = await episode_page(dashboard_of(request.app), wanted.episodes, cursor, limit)
    return PageRow(items=list(page.items), next_cursor=page.next_cursor)


@router.get("/opportunities", tags=TAGS, responses=shown(example=KEPT_PAGE))
async def opportunities(
    request: Request, wanted: Annotated[Wanted, Query()], cursor: Cursor = None, limit: Limit = 50
) -> PageRow[StoredOpportunityRow]:
    """Return this session's opportunities of seven days, newest first: all that were taken, and of the rejected ones
    the first of each pair, reason and second. The others are only counted (`/api/opportunities/statistics`), as are all
    below the threshold. `from` ≤ event time < `to`.

    A page may hold fewer than `limit`, even none, while `next_cursor` says that there is more to look through: the cost
    of one request is bounded, however rare the matches are.
    """
    page = await opportunity_page(dashboard_of(request.app), wanted.opportunities, cursor, limit)
    return PageRow(items=list(page.items), next_cursor=page.next_cursor)


@router.get("/opportunities/newest", tags=TAGS, responses=shown(example=NEWEST))
async def newest(
    request: Request,
    base: Base = None,
    exchange: Exchange = None,
    min_net_bps: NetBps = None,
    limit: Limit = 50,
) -> list[OpportunityRow]:
    """Return the last 500 distinct opportunities that this process received from the stream, newest first, including
    those below the threshold."""
    found = (
        one
        for one in dashboard_of(request.app).hub.live_state.opportunities()
        if is_of_market(base, exchange, one.base, one.buy.exchange, one.sell.exchange)
        and (min_net_bps is None or one.net_bps >= min_net_bps)
    )
    settings = dashboard_of(request.app).hub.settings
    return [opportunity_row(one, settings) for one, _ in zip(found, range(limit), strict=False)]


@router.get("/opportunities/cycles", tags=TAGS, responses=shown(example=CYCLES) | {503: PROBLEM_RESPONSE})
async def cycles(
    request: Request,
    exchange: CycleExchange = None,
    min_net_bps: NetBps = None,
    legs: Annotated[int | None, Query(ge=FEWEST_LEGS, le=MOST_LEGS)] = None,
    limit: Limit = 50,
) -> list[CycleOpportunityRow]:
    """Return distinct cycles among the last 500 that detection has found, newest first, including those below the
    threshold; none in a session without `[cycles]`. At most a second old."""
    try:
        newest_first = await dashboard_of(request.app).cycles.newest()
    except StreamError as error:
        raise ProblemError(503, f"Cycles cannot be read: {error}") from error
    found = (
        one
        for one in newest_first
        if (exchange is None or any(leg.quote.exchange == exchange for leg in one.legs))
        and (min_net_bps is None or one.net_bps >= min_net_bps)
        and legs in (None, len(one.legs))
    )
    return [cycle_opportunity_row(one) for one, _ in zip(found, range(limit), strict=False)]


@router.get("/opportunities/statistics", tags=TAGS, responses=shown(example=STATISTICS))
async def statistics(
    request: Request, span: Span = "10m", base: Base = None, exchange: Exchange = None
) -> StatisticsRow:
    """Return counts of seen, taken and rejected opportunities, rejection reasons, spreads and durations."""
    return await opportunity_statistics(dashboard_of(request.app), span, base, exchange)


@router.get("/opportunities/{opportunity_id}", tags=TAGS, responses=shown(example=KEPT) | {404: PROBLEM_RESPONSE})
async def opportunity(request: Request, opportunity_id: Annotated[str, Path(max_length=200)]) -> StoredOpportunityRow:
    """Return one opportunity with its outcome: a stored one, or one of the last 500 of the stream."""
    found = await opportunity_by_id(dashboard_of(request.app), opportunity_id)
    if found is None:
        raise ProblemError(404, f"There is no opportunity {opportunity_id}, or it was not stored.")
    return found


@router.get("/settings/preview", tags=["settings"], responses=shown(example=PREVIEW))
async def preview(
    request: Request,
    min_net_bps: Annotated[
        float, Query(ge=-1_000, le=10_000, allow_inf_nan=False, description="The threshold, bps net.")
    ],
    hours: Annotated[float, Query(gt=0, le=24, allow_inf_nan=False)] = 1.0,
) -> PreviewRow:
    """Return what another threshold would have changed in the last hours, from stored opportunities. `limits`: what the
    preview leaves out."""
    return await threshold_preview(dashboard_of(request.app), min_net_bps, hours)
