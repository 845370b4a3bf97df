"""Any process of the same exchange takes over at any line: every point at which one can die, none left out."""

import pytest

from market.instruments.markets import Market
from market.trade.leases import LEASE_SECONDS
from tests.bots.histories.audit import judged
from tests.bots.histories.world import BITFLYER_MARKET, Blow, World
from tests.market.samples import EUR_MARKET

PLAIN_SECONDS = 1.0
"""From the start to well after the end of one arbitrage."""


def plain_way(second: Market, blows: dict[int, Blow]) -> World:
    """Two bots start and trade one opportunity."""
    world = World(second=second, blows=blows)
    for exchange in world.names:
        world.start(exchange)
    world.run(0.1)
    world.offer()
    world.run(PLAIN_SECONDS)
    return world


def taken_over(second: Market, point: int, blow: Blow) -> list[str]:
    """What was wrong after a death, or a long sleep, at this point, and another process of that exchange."""
    world = plain_way(second, {point: blow})
    for exchange in world.names:
        if not any(not one.is_paused for one in world.alive(exchange)):
            world.start(exchange)
    world.run(LEASE_SECONDS + 0.5)
    return judged(world, steady_seconds=1.5)


@pytest.mark.parametrize("blow", ["crash", "crash_after", "pause", "pause_after"])
@pytest.mark.parametrize("second", [EUR_MARKET, BITFLYER_MARKET], ids=["client_id", "content"])
def test_at_every_point(second: Market, blow: Blow) -> None:
    undisturbed = plain_way(second, {})
    points = undisturbed.passed
    assert [one.state for one in undisturbed.arbitrages()] == ["closed"]
    undisturbed.close()
    assert {point: found for point in range(points) if (found := taken_over(second, point, blow))} == {}
