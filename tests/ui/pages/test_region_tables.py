"""The regions in words and tables."""

from datetime import UTC
from typing import Any, cast

import pytest

from ui.examples.region_examples import NOW, REGIONS
from ui.panels.region_tables import has_faults, is_cut_off, links_table, network_of, regions_table, standing_words
from ui.rows.region import MemberRow, RegionLinkRow, RegionRow, RegionsRow

SECOND = 1_000_000


def regions(**changes: Any) -> RegionsRow:
    return cast(RegionsRow, {**REGIONS, **changes})


def region(number: int, **changes: Any) -> RegionsRow:
    """Return the example with one region changed."""
    rows = [
        cast(RegionRow, {**one, **(changes if place == number else {})}) for place, one in enumerate(REGIONS["regions"])
    ]
    return regions(regions=rows)


def member(role: str, behind: float | None) -> MemberRow:
    return MemberRow(address="c:1", role=role, since=NOW, last_write=NOW, behind=behind)


def links(*cut: str, loss: float = 0.0) -> list[RegionLinkRow]:
    ways = [("us", "eu"), ("eu", "us"), ("us", "jp"), ("jp", "us")]
    return [
        RegionLinkRow(source=source, target=target, delay_ms=40, loss_percent=loss, is_cut=f"{source}>{target}" in cut)
        for source, target in ways
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "Region us · leader us, seen for 11 min · newest prices of others here: jp 17.2 s old"),
        ({"leader": None, "leader_since": None, "mirror_lags": {}}, "Region us · the leader is not known yet"),
        (
            {"mirror_lags": {"jp": 0.4, "eu": -0.1}},
            "Region us · leader us, seen for 11 min · newest prices of others here: eu 0 ms, jp 400 ms old",
        ),
        (
            {"primary_lost_since": NOW - 14 * SECOND, "store_age": 15.0, "mirror_lags": {}, "leader": "eu"},
            "Region us · no primary of MongoDB is reached since 2025-11-21 16:08:05 UTC (it was last in eu): nothing "
            "new is opened from here · the store's newest write here is 15.0 s old",
        ),
    ],
)
def test_one_line_says_where_the_page_is_and_how_old_what_it_shows_is(changes: dict[str, Any], words: str) -> None:
    assert standing_words(regions(**changes), UTC) == words


def test_the_table_names_the_own_region_the_leader_and_who_is_cut_off_in_words() -> None:
    html = regions_table(REGIONS, UTC)
    assert "us (this page)" in html
    assert html.count("★ leader") == 1
    assert html.count(">cut off<") == 2, "of two regions, each has lost the only link"
    for words in ("Kraken, Coinbase", "unreachable", "17.2 s old", "1 order", "is the primary", ">57<", ">21<"):
        assert words in html


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (regions(primary_lost_since=NOW), "did, when last reached"),
        (region(1, exchanges=[]), ">none<"),
        (region(1, member=member("other", None)), "starting, or catching up"),
        (region(1, member=member("unheard", None)), "not heard of yet"),
        (region(1, member=member("secondary", 1.0)), "≤ 1 s"),
        (region(1, member=member("secondary", 7.0)), ">7 s<"),
        (region(1, in_flight=2), "2 orders"),
        (region(1, clock_ahead_ms=2_000.0), ">2 s ahead<"),
        (region(0, clock_ahead_ms=-500.0), ">0.5 s behind<"),
    ],
)
def test_what_differs_is_said_in_words(row: RegionsRow, words: str) -> None:
    assert words not in regions_table(REGIONS, UTC)
    assert words in regions_table(row, UTC)


def test_a_region_that_nothing_is_known_of_has_dashes() -> None:
    unknown = region(1, member=None, mirror_lag=None, in_flight=None, clock_ahead_ms=None)
    assert regions_table({**unknown, "links": []}, UTC).count("–") == 9


@pytest.mark.parametrize(
    ("cut", "region_name", "words", "is_off"),
    [
        ((), "us", "whole", False),
        (("us>eu",), "us", "cut: us → eu", False),
        (("us>eu",), "jp", "whole", False),
        (("us>eu", "eu>us"), "eu", "cut off", True),
        (("us>eu", "eu>us"), "us", "cut: us → eu, eu → us", False),
    ],
)
def test_a_region_is_cut_off_where_all_its_links_are_cut(
    cut: tuple[str, ...], region_name: str, words: str, is_off: bool
) -> None:
    assert (network_of(region_name, links(*cut)).text, is_cut_off(region_name, links(*cut))) == (words, is_off)


def test_links_that_lose_packets_can_be_healed_too() -> None:
    assert not has_faults("us", links())
    assert has_faults("us", links(loss=2))
    assert has_faults("us", links("us>eu"))
    assert not has_faults("jp", links("us>eu"))
    assert (network_of("us", []).text, is_cut_off("us", [])) == ("–", False)


def test_each_direction_has_its_line_and_without_a_carrier_the_table_says_why() -> None:
    html = links_table(regions(links=links("us>eu", loss=2.5)))
    assert html.count("40 ms") == 4
    assert (html.count(">cut<"), html.count(">open<"), html.count("2.5 %")) == (1, 3, 4)
    assert "They are as they are &amp; so." in links_table(
        regions(links=[], links_unknown="They are as they are & so.")
    )
