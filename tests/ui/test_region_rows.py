"""The rows about regions, from a standing and from what the store has."""

from dataclasses import replace
from pathlib import Path

import pytest

from market.accounting.profit_groups import ProfitGroup, profit_from
from runtime.link_states import LinkState
from session.session import Placement, Session
from store.server.member_states import MemberState
from tests.market.samples import MARKETS
from tests.ui.samples import arbitrage, session_of
from ui.live.region_standing import RegionStanding
from ui.rows.region import exchange_regions, link_rows, region_rows, standing_row, trades_in

SECOND = 1_000_000
REGIONS = ("us", "eu", "jp")
NONE = profit_from("USD", {})
PLACES = {"alpha": "us", "beta": "eu", "gamma": "eu"}


def regional_session(home: Path) -> Session:
    return replace(session_of(home), place=Placement("eu", REGIONS), markets=MARKETS)


def group(exchange: str, pair: str, involved: int, arbitrages: int) -> ProfitGroup:
    return ProfitGroup(exchange, "BTC", "2025-11-21", involved, arbitrages, NONE, pair)


@pytest.mark.parametrize(
    ("groups", "counts"),
    [
        ([], (0, 0)),
        # each counts in the region of either leg
        ([group("alpha", "alpha → beta", 3, 3), group("beta", "alpha → beta", 3, 0)], (3, 3)),
        # both legs in one region: once
        ([group("beta", "gamma → beta", 4, 0), group("gamma", "gamma → beta", 4, 4)], (0, 4)),
        # a moving average's order, and what an earlier version stored without a pair
        ([group("beta", "beta", 2, 2), group("alpha", "", 1, 1)], (1, 2)),
        ([group("other", "other → alpha", 5, 5)], (0, 0)),
    ],
)
def test_an_arbitrage_counts_once_in_each_region_that_it_had_an_order_in(
    groups: list[ProfitGroup], counts: tuple[int, int]
) -> None:
    assert (trades_in("us", PLACES, groups), trades_in("eu", PLACES, groups)) == counts


def test_a_region_has_its_exchanges_member_lag_and_what_is_in_flight(tmp_path: Path) -> None:
    session, standing = regional_session(tmp_path), RegionStanding("eu", REGIONS)
    standing.observe([MemberState("a:1", "primary", "us", SECOND), MemberState("b:1", "secondary", "eu", SECOND)], 5)
    granted = arbitrage()
    buy, sell = granted.legs
    granted = replace(granted, legs=(replace(buy, state="granted"), replace(sell, state="done")))
    us, eu, jp = region_rows(session, standing, {"us": 0.5}, [granted, arbitrage("another")], ())
    assert us == {
        "name": "us",
        "is_own": False,
        "is_leader": True,
        "exchanges": ["alpha"],
        "member": {"address": "a:1", "role": "primary", "since": 5, "last_write": SECOND, "behind": 0.0},
        "mirror_lag": 0.5,
        "in_flight": 1,
        "trades": 0,
        "clock_ahead_ms": None,
    }
    assert (eu["is_own"], eu["is_leader"], eu["in_flight"], eu["mirror_lag"]) == (True, False, 0, None)
    assert (jp["member"], jp["exchanges"], jp["mirror_lag"]) == (None, ["gamma"], None)


def test_a_clock_is_right_unless_the_carrier_says_otherwise(tmp_path: Path) -> None:
    rows = region_rows(regional_session(tmp_path), RegionStanding("eu", REGIONS), {}, None, (), {"eu": -2_000.0})
    assert [row["clock_ahead_ms"] for row in rows] == [0.0, -2_000.0, 0.0]


def test_what_is_in_flight_is_not_known_without_the_store(tmp_path: Path) -> None:
    rows = region_rows(regional_session(tmp_path), RegionStanding("eu", REGIONS), {}, None, ())
    assert [row["in_flight"] for row in rows] == [None, None, None]


def test_an_exchange_is_where_its_markets_are(tmp_path: Path) -> None:
    assert exchange_regions(regional_session(tmp_path)) == {"alpha": "us", "beta": "eu", "gamma": "jp"}


def test_the_observers_links_are_not_shown() -> None:
    links = [
        LinkState(*way, 40.0, 2.0, True, 1, 2, 3) for way in (("us", "eu"), ("observer", "us"), ("eu", "observer"))
    ]
    assert link_rows(links, ("us", "eu")) == [
        {"source": "us", "target": "eu", "delay_ms": 40.0, "loss_percent": 2.0, "is_cut": True}
    ]


def test_a_standing_says_how_old_prices_of_others_are() -> None:
    standing = RegionStanding("eu", REGIONS)
    standing.apply_row({"region": "us", "received_time": 3 * SECOND})
    assert standing_row(standing, 9, 5 * SECOND) == {
        "now": 9,
        "region": "eu",
        "leader": None,
        "leader_since": None,
        "primary_lost_since": None,
        "store_age": None,
        "mirror_lags": {"us": 2.0},
    }
