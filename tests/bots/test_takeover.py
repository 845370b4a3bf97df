"""Any process of the same exchange takes over at any line: every point at which one can die, none left out. And any
process at all takes over deciding."""

import pytest

from bots.decide.reserver import NO_DECIDER
from market.instruments.markets import Market
from market.trade.leases import LEASE_SECONDS, decision_right
from tests.bots.histories.audit import judged
from tests.bots.histories.world import BITFLYER_MARKET, Blow, Strike, World
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
    """Return what was wrong after a death, or a long sleep, at this point, and another process of that exchange."""
    world = plain_way(second, {point: blow})
    for exchange in world.names:
        if not any(not one.is_paused for one in world.alive(exchange)):
            world.start(exchange)
    world.run(LEASE_SECONDS + 0.5)
    return judged(world, steady_seconds=1.5)


BLOWS: tuple[Blow, ...] = ("crash", "crash_after", "pause", "pause_after")


@pytest.mark.parametrize(
    ("second", "blow"),
    [
        *(pytest.param(EUR_MARKET, blow, id=f"client_id-{blow}") for blow in BLOWS),
        # of an order that is found by its content alone there are more looks, and each takes longer
        pytest.param(BITFLYER_MARKET, "crash", id="content-crash"),
        *(pytest.param(BITFLYER_MARKET, blow, id=f"content-{blow}", marks=pytest.mark.slow) for blow in BLOWS[1:]),
    ],
)
def test_at_every_point(second: Market, blow: Blow) -> None:
    undisturbed = plain_way(second, {})
    points = undisturbed.passed
    assert [one.state for one in undisturbed.arbitrages()] == ["closed"]
    undisturbed.close()
    assert {point: found for point in range(points) if (found := taken_over(second, point, blow))} == {}


def decided_by(world: World) -> list[str]:
    """Who decided on each arbitrage, oldest first."""
    return [one.history[0].actor for one in world.arbitrages()]


def where_alphas_bot_decides(*standbys: str) -> World:
    """Return a world in which alpha's bot decides and has traded once."""
    world = World()
    for exchange in (*world.names, *standbys):
        world.start(exchange)
    world.run(0.1)
    world.offer()
    world.run(PLAIN_SECONDS)
    assert decided_by(world) == ["alpha-1"]
    return world


def test_deciding_passes_on_to_any_bot_when_the_decider_dies() -> None:
    world = where_alphas_bot_decides("alpha")
    world.alive("alpha")[0].die()
    world.run(LEASE_SECONDS + 1)
    world.offer()
    world.run(PLAIN_SECONDS)
    assert len(decided_by(world)) == 2
    assert decided_by(world)[1] in ("beta-2", "alpha-3")
    assert [one.state for one in world.arbitrages()] == ["closed"] * 2
    assert judged(world, steady_seconds=1.5) == []


def test_what_came_while_nobody_decided_is_known_as_that() -> None:
    world = where_alphas_bot_decides()
    world.alive("alpha")[0].die()
    missed = world.offer()
    world.run(LEASE_SECONDS + 2)
    assert {(one.opportunity_id, one.reason) for one in world.store.rejections.values()} == {
        (missed.opportunity_id, NO_DECIDER)
    }
    assert judged(world, steady_seconds=1.5) == []


def test_a_decider_that_slept_decides_no_more() -> None:
    """Its reservation was on its way when it fell asleep; another process has decided since then."""
    world = where_alphas_bot_decides("alpha")
    first = world.alive("alpha")[0]
    world.strikes.append(Strike("alpha", "store.reserve", False, "hang"))
    late = world.offer()
    world.run(0.1)
    assert [step.what for step in first.hanging] == ["store.reserve"]
    first.is_paused = True
    world.run(LEASE_SECONDS + 1)
    world.offer()
    world.run(PLAIN_SECONDS)
    first.hanging.clear()
    first.wake()
    world.run(PLAIN_SECONDS)
    assert late.opportunity_id not in {one.arbitrage_id for one in world.arbitrages()}
    assert "alpha-1" not in decided_by(world)[1:]
    assert judged(world, steady_seconds=1.5) == []


def test_losing_the_right_to_decide_ends_no_bot() -> None:
    """The same, of one that still acts for its exchange: only the decision was taken over."""
    world = where_alphas_bot_decides()
    world.strikes.append(Strike("alpha", "store.reserve", False, "hang"))
    world.offer()
    world.run(0.1)
    # whoever it is, it has taken the lease, as after an outage that the decider alone had
    taken = world.ask(world.store.leases.acquire(decision_right(0), "alpha-1"))
    assert taken is not None
    first = world.alive("alpha")[0]
    first.hanging.clear()
    world.run(LEASE_SECONDS + 1)
    assert not first.is_over
    world.offer()
    world.run(PLAIN_SECONDS)
    assert [one.state for one in world.arbitrages()] == ["closed"] * 2
    assert judged(world, steady_seconds=1.5) == []
