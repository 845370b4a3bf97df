"""Where a region's page stands: from what it hears of the store's members, and from the rows that reach it."""

from collections.abc import Sequence

import pytest

from store.server.member_states import MemberRole, MemberState
from ui.live.region_standing import RegionMember, RegionStanding

SECOND = 1_000_000
REGIONS = ("us", "eu", "jp")
ADDRESSES = {"us": "a:1", "eu": "b:1", "jp": "c:1"}


def members(*roles: MemberRole, written: Sequence[int] = (10, 10, 10)) -> list[MemberState]:
    """Return the members of us, eu and jp; those that do not answer have no tag and no write. `written` in seconds."""
    return [
        MemberState(address, role)
        if role in ("unreachable", "unheard")
        else MemberState(address, role, region, write * SECOND)
        for (region, address), role, write in zip(ADDRESSES.items(), roles, written, strict=True)
    ]


def standing_after(*seen: list[MemberState], region: str = "us") -> RegionStanding:
    """One observation a second, the first at second 0."""
    standing = RegionStanding(region, REGIONS)
    for second, observed in enumerate(seen):
        standing.observe(observed, second * SECOND)
    return standing


def test_the_leader_is_the_region_of_the_newest_primary_since_it_was_seen_first() -> None:
    us_leads, nobody = members("primary", "secondary", "secondary"), members("secondary", "secondary", "secondary")
    eu_leads = members("secondary", "primary", "secondary")
    seen = [nobody, us_leads, us_leads, nobody, nobody, eu_leads, eu_leads]
    found = []
    standing = RegionStanding("jp", REGIONS)
    for second, observed in enumerate(seen, 1):
        standing.observe(observed, second)
        found.append((standing.leader, standing.leader_since, standing.primary_lost_since))
    assert found == [
        (None, None, 1),
        ("us", 2, None),
        ("us", 2, None),
        ("us", 2, 4),
        ("us", 2, 4),
        ("eu", 6, None),
        ("eu", 6, None),
    ]


def test_a_member_that_does_not_answer_is_known_by_its_address_with_its_last_write() -> None:
    away = members("primary", "secondary", "unreachable")
    standing = standing_after(members("primary", "secondary", "secondary"), away, away)
    assert standing.members["jp"] == RegionMember("c:1", "unreachable", SECOND, 10 * SECOND)
    assert standing.members["us"].since == 0


def test_a_member_that_was_never_heard_of_is_missing() -> None:
    assert standing_after(members("primary", "secondary", "unheard")).members.keys() == {"us", "eu"}


@pytest.mark.parametrize(
    ("roles", "written", "behind"),
    [
        (("primary", "secondary", "secondary"), (20, 17, 20), [0.0, 3.0, 0.0]),
        # asked a moment later than the primary
        (("primary", "secondary", "secondary"), (20, 21, 20), [0.0, 0.0, 0.0]),
        (("primary", "secondary", "unreachable"), (20, 20, 0), [0.0, 0.0, None]),
        (("primary", "other", "secondary"), (20, 5, 20), [0.0, None, 0.0]),
        (("secondary", "secondary", "secondary"), (20, 17, 20), [None, None, None]),
    ],
)
def test_a_member_is_behind_by_the_time_between_newest_writes(
    roles: tuple[MemberRole, ...], written: tuple[int, ...], behind: list[float | None]
) -> None:
    standing = standing_after(members("primary", "secondary", "secondary"), members(*roles, written=written))
    assert [standing.behind(region) for region in ADDRESSES] == behind


def test_the_store_has_an_age_only_while_the_primary_is_not_reached() -> None:
    standing = standing_after(members("primary", "secondary", "secondary"), region="jp")
    assert standing.store_age(30 * SECOND) is None
    standing.observe(members("unreachable", "unreachable", "secondary", written=(0, 0, 12)), 20 * SECOND)
    assert standing.store_age(30 * SECOND) == 18.0


def test_a_store_that_was_never_heard_of_has_no_age() -> None:
    assert RegionStanding("us", REGIONS).store_age(SECOND) is None


def test_the_newest_row_of_each_other_region_gives_the_lag() -> None:
    standing = RegionStanding("us", REGIONS)
    rows: list[tuple[object, int | None]] = [
        ("us", 10),
        ("eu", 5),
        ("jp", 4),
        ("eu", 9),
        ("eu", 7),
        (None, 8),
        ([], 8),
        ("jp", None),
        ("of before", 9),
    ]
    for region, second in rows:
        standing.apply_row({"region": region, "received_time": second and second * SECOND})
    assert standing.mirror_lags(10 * SECOND) == {"eu": 1.0, "jp": 6.0}
    assert standing.mirror_lags(8 * SECOND)["eu"] == -1.0, "by a clock that is ahead"
