"""An order is begun once by one process, for as long as anybody may come with what was read before."""

from bots.execute.posted_orders import REMEMBER_SECONDS, PostedOrders
from market.time_units import MICROSECONDS
from tests.store.conftest import SteppedClock

LONG = REMEMBER_SECONDS * MICROSECONDS


def test_it_is_begun_once() -> None:
    posted = PostedOrders(SteppedClock().now)
    assert "order-1" not in posted
    assert posted.begin("order-1")
    assert "order-1" in posted
    assert not posted.begin("order-1")
    assert posted.begin("order-2")


def test_it_is_reported_once_its_result_is_stored() -> None:
    clock = SteppedClock()
    posted = PostedOrders(clock.now)
    posted.begin("order-1")
    assert [posted.is_reported(order) for order in ("order-1", "order-2")] == [False, False]
    posted.end("order-1")
    posted.end("order-2")
    assert [posted.is_reported(order) for order in ("order-1", "order-2")] == [True, True]
    clock.time += LONG + 1
    posted.forget_old()
    assert not posted.is_reported("order-1")


def test_one_whose_leg_has_not_ended_is_never_forgotten() -> None:
    """Its post may hang for any time."""
    clock = SteppedClock()
    posted = PostedOrders(clock.now)
    posted.begin("order-1")
    clock.time += 100 * LONG
    posted.forget_old()
    assert not posted.begin("order-1")


def test_one_whose_leg_has_ended_is_remembered_for_a_while() -> None:
    clock = SteppedClock()
    posted = PostedOrders(clock.now)
    posted.begin("order-1")
    posted.end("order-1")
    clock.time += LONG
    posted.forget_old()
    assert "order-1" in posted
    assert not posted.begin("order-1")
    clock.time += 1
    posted.forget_old()
    assert "order-1" not in posted


def test_its_time_begins_again_with_each_end() -> None:
    clock = SteppedClock()
    posted = PostedOrders(clock.now)
    posted.begin("order-1")
    posted.end("order-1")
    clock.time += LONG
    posted.end("order-1")
    clock.time += LONG
    posted.forget_old()
    assert "order-1" in posted
