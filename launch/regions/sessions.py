"""Makes the session of each region from the one that the user ordered: its own data folder, Kafka, page and markets."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from exchanges.credentials import credentials_path
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.regions.layout import RegionLayout
from launch.regions.network.links import OBSERVER, links_of
from launch.setup.data_dir import REGIONS
from launch.setup.nested_home import make_nested_home
from market.instruments.markets import Market
from session.session import Placement, Session
from simulators.web.fault_admin import token_path
from store.server.replica_set import ReplicaSet, regional_set
from streams.broker.embedded_broker import LOOPBACK, free_ports

FEWEST = 3
"""Least number of regions: of two, neither is a majority once the other is lost."""
MOST = 7
"""Most members of a replica set that vote (mongodb.com, "Replica Set Members")."""


@dataclass(frozen=True, slots=True)
class RegionSession:
    """One region of a session. `member`: host:port of its MongoDB in `replica_set`."""

    session: Session
    member: str
    replica_set: ReplicaSet

    @property
    def name(self) -> str:
        return str(self.session.place.region)

    @property
    def only_votes(self) -> bool:
        """Return whether it has no exchange, and so nothing but its MongoDB."""
        return not self.session.exchanges_here


def region_home(home: Path, region: str) -> Path:
    """Return the data folder of a region, within that of the user."""
    return home / REGIONS / region


def check_regions(regions: Sequence[str], config: Configuration) -> None:
    """Raise CannotStartError for impossible regions, or services that regions would have to share."""
    check_region_names(regions)
    for name in ("kafka", "mongodb"):
        if getattr(config, name) is not None:
            raise CannotStartError(f"`{name}` is set, but each region starts its own: remove it, or --regions.")


def check_region_names(regions: Sequence[str]) -> None:
    """Raise CannotStartError for impossible regions."""
    if len(regions) < FEWEST:
        raise CannotStartError(
            f"--regions names {len(regions)}; name {FEWEST} or more, since of two neither goes on without the other."
        )
    if len(regions) > MOST:
        raise CannotStartError(f"--regions names {len(regions)}; name {MOST} at most, since no more members can vote.")
    try:
        links_of(regions)
    except ValueError as error:
        raise CannotStartError(f"--regions: {error}.") from None


def markets_in(
    markets: Sequence[Market], regions: Sequence[str], named: Sequence[str], echo: Callable[[str], None]
) -> tuple[Market, ...]:
    """Return the markets of exchanges in these regions; one in another is left out, with a line. Raises
    CannotStartError if the user named it, or no two exchanges are left, or no region that may lead has one."""
    places = {market.exchange: market.region for market in markets}
    for exchange, place in places.items():
        if place in regions:
            continue
        if exchange in named:
            raise CannotStartError(
                f"{exchange} is in region {place}, which --regions does not name: add {place}, or remove {exchange} "
                "from `exchanges`."
            )
        echo(f"without {exchange}: it is in region {place}")
    left = tuple(market for market in markets if market.region in regions)
    if len({market.exchange for market in left if not market.is_fx}) < 2:
        raise CannotStartError(f"fewer than two exchanges are in {', '.join(regions)}; an arbitrage needs two.")
    # the last one is never the primary's, see regional_set
    if lacking := [region for region in regions[:-1] if region not in places.values()]:
        raise CannotStartError(
            f"region {lacking[0]} has no exchange, so nobody there could decide; name it last, and it only votes."
        )
    return left


def region_sessions(
    base: Session, regions: Sequence[str], layout: RegionLayout | None, page_host: str | None = None
) -> tuple[RegionSession, ...]:
    """Return a session for each region, in their order; `layout`: of links with delays, None: all are on loopback.
    `page_host`: where pages are reached from outside of the networks of `layout`, if not at their own addresses. Web
    ports follow one another from the one of `base`."""
    kafka_ports, mongodb_ports = free_ports(len(regions)), free_ports(len(regions))
    hosts = [LOOPBACK if layout is None else layout.place(region).address for region in regions]
    members = {region: f"{host}:{port}" for region, host, port in zip(regions, hosts, mongodb_ports, strict=True)}
    replica_set = regional_set(members)
    return tuple(
        RegionSession(
            replace(
                base,
                home=region_home(base.home, region),
                place=Placement(region, tuple(regions), None if layout is None else base.home),
                services=replace(base.services, kafka=f"{host}:{kafka_ports[number]}", mongodb=replica_set.uri),
                simulated=replace(base.simulated, url=_exchanges_url(base, layout)),
                page=replace(
                    base.page,
                    host=base.page.host if layout is None else host,
                    port=base.page.port + number,
                    outer_host=page_host,
                ),
                upkeep=replace(base.upkeep, notices=base.upkeep.notices if number == 0 else ()),
            ),
            members[region],
            replica_set,
        )
        for number, (region, host) in enumerate(zip(regions, hosts, strict=True))
    )


def make_region_home(home: Path, session: Session) -> None:
    """Create the region's data folder. The simulated accounts are the same in each; the exchanges make their files."""
    make_nested_home(home, session.home, (credentials_path(home), token_path(home)))


def region_lines(sessions: Sequence[RegionSession]) -> Iterator[str]:
    """Return a line for each region: its exchanges and where its page is."""
    for one in sessions:
        if one.only_votes:
            yield f"{one.name}: votes"
        else:
            names = ", ".join(one.session.exchanges_here)
            yield f"{one.name}: {one.session.page.url}   ({names})"


def _exchanges_url(base: Session, layout: RegionLayout | None) -> str | None:
    """Return the exchanges' URL; they stand outside the regions, as near to each as its own would be."""
    if base.simulated.url is None or layout is None:
        return base.simulated.url
    return f"http://{layout.place(OBSERVER).address}:{urlsplit(base.simulated.url).port}"
