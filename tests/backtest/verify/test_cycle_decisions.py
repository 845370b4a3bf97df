"""A trade on a cycle is taken again, step by step, from the rows that each was decided on."""

from dataclasses import dataclass, replace
from decimal import Decimal

import pytest

from backtest.verify.cycle_decisions import CycleDecisions
from market.decide.settings import Settings
from market.money import Amount
from market.prices.cycle_opportunities import CycleOpportunity
from store.queries.session_export import ExportedCycle
from tests.bots.test_cycle_reserver import Bench
from tests.store.test_port_cycles import booked


@dataclass(frozen=True)
class Recorded:
    """What a session left of one trade."""

    kept: ExportedCycle
    settings: dict[int, Settings]
    found: CycleOpportunity

    def decisions(self, **changes: object) -> CycleDecisions:
        found = replace(self.found, **changes)  # type: ignore[arg-type] # a table
        return CycleDecisions(self.settings, {found.opportunity_id: found})


@pytest.fixture
async def recorded() -> Recorded:
    """Return a trade whose third leg waited and failed, so that the first two were taken back."""
    bench = Bench(settings=Bench().settings.model_copy(update={"single_leg_policy": "reverse"}))
    await bench.open({"USD": Decimal(100_000), "BTC": Decimal(10)})
    bench.store.are_steps_recorded = True
    found = bench.found()
    await bench.see(found)
    for name, share in (("leg1", "1"), ("leg2", "1"), ("leg3", "0"), ("reverse1", "1"), ("reverse2", "1")):
        trade = await booked(bench.store, name, share, trade_id="one")
    assert trade.state == "unwound"
    settings = bench.store.settings.in_force()
    steps = tuple(bench.store.steps["one"])
    assert len(steps) == 6
    return Recorded(ExportedCycle(trade, steps), {settings.version: settings}, found)


def test_what_was_decided_follows_again(recorded: Recorded) -> None:
    assert recorded.decisions().difference(recorded.kept) is None


def test_a_trade_that_says_something_else_is_found(recorded: Recorded) -> None:
    trade = recorded.kept.trade
    other = replace(trade.orders[0], leg=replace(trade.orders[0].leg, amount=Amount(Decimal("0.29"))))
    kept = replace(recorded.kept, trade=replace(trade, orders=(other, *trade.orders[1:])))
    difference = recorded.decisions().difference(kept)
    assert difference is not None
    assert "amount" in str(difference)


def test_a_step_that_is_missing_is_found(recorded: Recorded) -> None:
    steps = recorded.kept.steps
    difference = recorded.decisions().difference(replace(recorded.kept, steps=(*steps[:2], *steps[3:])))
    assert difference is not None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"opportunity_id": "another"}, "cycle"),
        ({"net_bps": 51.0}, "request.net_bps"),
        ({"legs": ()}, "request.levels"),
        ({"event_time": 1}, "request.event_time"),
    ],
)
def test_a_request_of_what_the_log_does_not_lead_to_is_found(
    recorded: Recorded, changes: dict[str, object], words: str
) -> None:
    difference = recorded.decisions(**changes).difference(recorded.kept)
    assert difference is not None
    assert words in str(difference)


def test_settings_that_the_store_does_not_have_are_found(recorded: Recorded) -> None:
    difference = replace(recorded.decisions(), settings={}).difference(recorded.kept)
    assert difference is not None
    assert "settings_version" in str(difference)
