"""Every fault on every exchange, as the order path of a bot meets it."""

import asyncio
from pathlib import Path

import pytest

from exchanges.catalogue import EXCHANGES
from tests.fault_matrix.orders import OrderSeen, order_under
from tests.fault_matrix.trials import ORDER_TRIALS, OrderShows, OrderTrial
from tests.fault_matrix.world import moving_world

QUICK_THROUGH_CCXT = ("acknowledgement lost, cut off", "partial fill, then nothing", "rejected order")
TRIALS = [
    pytest.param(
        trial,
        is_generic,
        id=f"{trial.name}{', through ccxt' if is_generic else ''}",
        marks=() if trial.is_quick and (not is_generic or trial.name in QUICK_THROUGH_CCXT) else pytest.mark.soak,
    )
    for is_generic in (False, True)
    for trial in ORDER_TRIALS
]


@pytest.mark.parametrize(("trial", "is_generic"), TRIALS)
async def test_an_order_under(trial: OrderTrial, is_generic: bool, tmp_path: Path) -> None:
    """Sent once whatever is said of it; it exists once or not at all, as looking it up tells; balances add up."""
    async with moving_world(tmp_path, is_generic=is_generic) as world:
        seen = dict(
            zip(EXCHANGES, await asyncio.gather(*(order_under(world, name, trial) for name in EXCHANGES)), strict=True)
        )
    assert seen == {name: _expected(trial.expected(name, is_generic=is_generic)) for name in EXCHANGES}


def _expected(shows: OrderShows) -> OrderSeen:
    exists = shows.found != "none"
    return OrderSeen(shows, journalled=int(exists), requests=1, again="filled", is_balanced=True)
