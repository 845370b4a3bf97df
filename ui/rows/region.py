"""The rows of `/api/regions`. Times in microseconds UTC by this machine's clock; lags and ages in seconds."""

from collections.abc import Iterable, Mapping

from typing_extensions import TypedDict

from market.accounting.profit_groups import ProfitGroup
from market.trade.arbitrages import Arbitrage
from market.trade.grants import grants_in
from runtime.link_states import LinkState
from session.session import Session
from ui.live.region_standing import RegionStanding
from ui.rows.attribute import row_from

PAIR = " → "


class MemberRow(TypedDict):
    """The member of MongoDB's replica set in one region. `role`: `primary`, `secondary`, `other` (it answers and has no
    data to read), `unreachable` or `unheard`; this page has seen it so since `since`. `last_write`: its newest write,
    as it last reported, to the second. `behind`: seconds by which the primary has a newer one, to the second; null if
    either does not answer."""

    address: str
    role: str
    since: int
    last_write: int | None
    behind: float | None


class RegionRow(TypedDict):
    """`member` is null if none was heard of yet. `mirror_lag`: age of the newest price of this region that arrived
    here; null for the own region, and if none arrived. `in_flight`: orders that its bots may send or have sent, of
    which nothing is booked yet; null if the store does not answer. `trades`: arbitrages of this session with an order
    in the region that have ended with a profit or a loss. `clock_ahead_ms`: how far its clock was set ahead by command,
    below 0 if behind; null if the carrier does not say."""

    name: str
    is_own: bool
    is_leader: bool
    exchanges: list[str]
    member: MemberRow | None
    mirror_lag: float | None
    in_flight: int | None
    trades: int
    clock_ahead_ms: float | None


class RegionLinkRow(TypedDict):
    """One direction. `delay_ms` is one way."""

    source: str
    target: str
    delay_ms: float
    loss_percent: float
    is_cut: bool


class StandingRow(TypedDict):
    """What a region's page knows without asking anybody. `leader`: the region of the newest primary that was reached,
    known to this page since `leader_since`; null before. `primary_lost_since`: null while the primary is reached.
    `store_age`: without a primary, age of the newest write that the member here has."""

    now: int
    region: str
    leader: str | None
    leader_since: int | None
    primary_lost_since: int | None
    store_age: float | None
    mirror_lags: dict[str, float]


class RegionsRow(StandingRow):
    """All regions, as seen from `region`. `links_unknown`: why there are no links; null if there are."""

    regions: list[RegionRow]
    links: list[RegionLinkRow]
    links_unknown: str | None


def standing_row(standing: RegionStanding, now: int, market_now: int) -> StandingRow:
    return row_from(
        StandingRow,
        standing,
        now=now,
        store_age=standing.store_age(now),
        mirror_lags=standing.mirror_lags(market_now),
    )


def region_rows(
    session: Session,
    standing: RegionStanding,
    mirror_lags: Mapping[str, float],
    open_arbitrages: Iterable[Arbitrage] | None,
    groups: Iterable[ProfitGroup],
    clocks_ms: Mapping[str, float] | None = None,
) -> list[RegionRow]:
    """Return the rows in the session's order. `open_arbitrages`: None if the store did not answer; `clocks_ms`: as in
    `CarrierState`, None if the carrier did not answer."""
    places = exchange_regions(session)
    granted = None if open_arbitrages is None else [places.get(one.leg.exchange) for one in grants_in(open_arbitrages)]
    ended = tuple(groups)
    return [
        RegionRow(
            name=name,
            is_own=name == standing.region,
            is_leader=name == standing.leader,
            exchanges=[exchange for exchange, region in places.items() if region == name],
            member=_member_row(standing, name),
            mirror_lag=mirror_lags.get(name),
            in_flight=None if granted is None else granted.count(name),
            trades=trades_in(name, places, ended),
            clock_ahead_ms=None if clocks_ms is None else clocks_ms.get(name, 0.0),
        )
        for name in session.place.regions
    ]


def exchange_regions(session: Session) -> dict[str, str]:
    """Return exchange → region for the exchanges that are traded on."""
    return {market.exchange: market.region for market in session.traded}


def trades_in(region: str, places: Mapping[str, str], groups: Iterable[ProfitGroup]) -> int:
    """Return the number of arbitrages with an order in the region that have ended; one with both orders there counts
    once."""
    count = 0
    for group in groups:
        if places.get(group.exchange) == region:
            is_within = all(places.get(exchange) == region for exchange in group.pair.split(PAIR))
            count += group.arbitrages if is_within else group.involved
    return count


def link_rows(links: Iterable[LinkState], regions: Iterable[str]) -> list[RegionLinkRow]:
    """Return the links between regions; the observer's are left out, since they are always free."""
    known = set(regions)
    return [row_from(RegionLinkRow, link) for link in links if {link.source, link.target} <= known]


def _member_row(standing: RegionStanding, region: str) -> MemberRow | None:
    member = standing.members.get(region)
    return None if member is None else row_from(MemberRow, member, behind=standing.behind(region))
