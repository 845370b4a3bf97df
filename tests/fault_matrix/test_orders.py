"""Every fault on every exchange, as the order path of a bot meets it."""

import asyncio
from pathlib import Path

import pytest

from tests.fault_matrix.orders import OrderSeen, order_under
from tests.fault_matrix.trials import EXCHANGES, ORDER_TRIALS, OrderShows, OrderTrial
from tests.fault_matrix.world import moving_world

TRIALS = [
    pytest.param(trial, id=trial.name, marks=() if trial.is_quick else pytest.mark.soak) for trial in ORDER_TRIALS
]


@pytest.mark.parametrize("trial", TRIALS)
async def test_an_order_under(trial: OrderTrial, tmp_path: Path) -> None:
    """Sent once whatever is said of it; it exists once or not at all, as looking it up tells; balances add up."""
    async with moving_world(tmp_path) as world:
        seen = dict(
            zip(EXCHANGES, await asyncio.gather(*(order_under(world, name, trial) for name in EXCHANGES)), strict=True)
        )
    assert seen == {name: _expected(trial.expected(name)) for name in EXCHANGES}


def _expected(shows: OrderShows) -> OrderSeen:
    exists = shows.found != "none"
    return OrderSeen(shows, journalled=int(exists), requests=1, again="filled", is_balanced=True)
