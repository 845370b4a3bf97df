"""Any process of the same exchange takes over at any line: every point at which one can die, none left out."""

import pytest

from tests.bots.histories.audit import violations
from tests.bots.histories.exchange_model import LookUp
from tests.bots.histories.world import Blow, World

EXCHANGES = ("alpha", "beta")
PLAIN_SECONDS = 2.0
"""From the start to well after the end of one arbitrage."""


def plain_way(look_ups: dict[str, LookUp], blows: dict[int, Blow]) -> World:
    """Two bots start and trade one opportunity."""
    world = World(look_ups=dict(look_ups), blows=blows)
    for exchange in EXCHANGES:
        world.start(exchange)
    world.run(0.1)
    world.offer()
    world.run(PLAIN_SECONDS)
    return world


def taken_over(look_ups: dict[str, LookUp], point: int, blow: Blow) -> list[str]:
    """What was wrong after a death, or a long sleep, at this point, and another process of that exchange."""
    world = plain_way(look_ups, {point: blow})
    for exchange in EXCHANGES:
        if not any(not one.is_paused for one in world.alive(exchange)):
            world.start(exchange)
    world.run(10)
    world.heal(30)
    found = violations(world)
    world.close()
    return found


@pytest.mark.parametrize("blow", ["crash", "crash_after", "pause", "pause_after"])
@pytest.mark.parametrize("beta", ["client_id", "content"])
@pytest.mark.parametrize("alpha", ["client_id", "content"])
def test_at_every_point(alpha: LookUp, beta: LookUp, blow: Blow) -> None:
    look_ups = {"alpha": alpha, "beta": beta}
    undisturbed = plain_way(look_ups, {})
    points = undisturbed.passed
    assert [one.state for one in undisturbed.arbitrages()] == ["closed"]
    undisturbed.close()
    assert {point: found for point in range(points) if (found := taken_over(look_ups, point, blow))} == {}
