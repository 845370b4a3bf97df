"""The regions as HTML and words, from their rows. Pure."""

from collections.abc import Sequence
from datetime import tzinfo

from exchanges.labels import exchange_name
from market.time_units import MICROSECONDS
from ui.page_parts.dom_tables import Cell, Line, numbers, table, words
from ui.page_parts.page_times import moment
from ui.rows.region import MemberRow, RegionLinkRow, RegionRow, RegionsRow, StandingRow
from wording.number_format import count_text, duration

UNKNOWN = Cell("–", "quiet")
ROLES = {
    "primary": Cell("primary", "good"),
    "secondary": Cell("secondary", "good"),
    "other": Cell("starting, or catching up", "differs"),
    "unreachable": Cell("unreachable", "bad"),
    "unheard": Cell("not heard of yet", "quiet"),
}
A_SECOND = 1.0
"""Members report the time of their last write to the second."""


def standing_words(row: StandingRow, zone: tzinfo) -> str:
    """Return one line: this page's region, the leader, and how old the data of other regions are."""
    parts = [f"Region {row['region']}", _leader_words(row, zone)]
    if row["store_age"] is not None:
        parts.append(f"the store's newest write here is {duration(row['store_age'])} old")
    if row["mirror_lags"]:
        ages = (f"{name} {duration(lag)}" for name, lag in sorted(row["mirror_lags"].items()))
        parts.append(f"newest prices of others here: {', '.join(ages)} old")
    return " · ".join(parts)


def _leader_words(row: StandingRow, zone: tzinfo) -> str:
    lost, leader = row["primary_lost_since"], row["leader"]
    if lost is not None:
        last = "" if leader is None else f" (it was last in {leader})"
        return f"no primary of MongoDB is reached since {moment(lost, zone)}{last}: nothing new is opened from here"
    if leader is None or row["leader_since"] is None:
        return "the leader is not known yet"
    return f"leader {leader}, seen for {duration((row['now'] - row['leader_since']) / MICROSECONDS)}"


def regions_table(row: RegionsRow, zone: tzinfo) -> str:
    lines = [_region_line(one, row, zone) for one in row["regions"]]
    heads = (
        *words("Region", "Decides", "Exchanges", "Network", "Store", "Since"),
        *words("Clock"),
        *numbers("Behind the primary", "Newest price here", "Orders in flight", "Trades ended"),
    )
    return table("Regions", heads, lines, "")


def links_table(row: RegionsRow) -> str:
    """Return HTML: each direction of a link has its own row."""
    lines: list[Line] = [
        [
            f"{one['source']} → {one['target']}",
            Cell("cut", "bad") if one["is_cut"] else Cell("open", "good"),
            f"{one['delay_ms']:g} ms",
            Cell(f"{one['loss_percent']:g} %", "differs" if one["loss_percent"] else "quiet"),
        ]
        for one in row["links"]
    ]
    heads = (*words("Link", "State"), *numbers("Delay, one way", "Packets lost"))
    return table("Links between regions", heads, lines, row["links_unknown"] or "")


def network_of(region: str, links: Sequence[RegionLinkRow]) -> Cell:
    """Return which of the region's links are cut, in words."""
    own = [link for link in links if region in (link["source"], link["target"])]
    cut = [f"{link['source']} → {link['target']}" for link in own if link["is_cut"]]
    if not own:
        return UNKNOWN
    if len(cut) == len(own):
        return Cell("cut off", "bad")
    return Cell(f"cut: {', '.join(cut)}", "bad") if cut else Cell("whole", "good")


def clock_of(ahead_ms: float | None) -> Cell:
    """Return how far the region's clock was set off by command."""
    if ahead_ms is None:
        return UNKNOWN
    if ahead_ms == 0:
        return Cell("right", "good")
    return Cell(f"{abs(ahead_ms) / 1_000:g} s {'ahead' if ahead_ms > 0 else 'behind'}", "bad")


def is_cut_off(region: str, links: Sequence[RegionLinkRow]) -> bool:
    own = [link["is_cut"] for link in links if region in (link["source"], link["target"])]
    return bool(own) and all(own)


def is_clock_off(region: str, rows: Sequence[RegionRow]) -> bool:
    return any(row["clock_ahead_ms"] for row in rows if row["name"] == region)


def has_faults(region: str, links: Sequence[RegionLinkRow]) -> bool:
    """Return whether one of its links is cut or loses packets."""
    own = (link for link in links if region in (link["source"], link["target"]))
    return any(link["is_cut"] or link["loss_percent"] for link in own)


def _region_line(one: RegionRow, row: RegionsRow, zone: tzinfo) -> Line:
    member = one["member"]
    return [
        f"{one['name']} (this page)" if one["is_own"] else one["name"],
        _deciding(one, row),
        ", ".join(map(exchange_name, one["exchanges"])) or Cell("none", "quiet"),
        network_of(one["name"], row["links"]),
        UNKNOWN if member is None else ROLES.get(member["role"], Cell(member["role"])),
        UNKNOWN if member is None else moment(member["since"], zone),
        clock_of(one["clock_ahead_ms"]),
        _behind(member),
        UNKNOWN if one["mirror_lag"] is None else f"{duration(one['mirror_lag'])} old",
        UNKNOWN if one["in_flight"] is None else count_text(one["in_flight"], "order"),
        f"{one['trades']:,}",
    ]


def _deciding(one: RegionRow, row: RegionsRow) -> Cell:
    if not one["is_leader"]:
        return Cell("no", "quiet")
    if row["primary_lost_since"] is not None:
        return Cell("did, when last reached", "bad")
    return Cell("★ leader", "good")


def _behind(member: MemberRow | None) -> Cell | str:
    if member is None or member["behind"] is None:
        return UNKNOWN
    if member["role"] == "primary":
        return Cell("is the primary", "quiet")
    behind = member["behind"]
    return f"≤ {A_SECOND:g} s" if behind <= A_SECOND else Cell(f"{behind:g} s", "differs")
