"""What the checks of a cycle compared, in figures."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.decide.cycle_checks import CYCLE_REASONS, CycleContext, cycle_notional_keys, cycle_rejection
from market.decide.cycle_figures import cycle_figure
from market.trade.cycle_reservations import cycle_context
from tests.market.cycle_samples import triangle

FULL = Decimal(20_000_000)
NOTIONAL = {"total_limit": "total", "asset_limit": "base|ETH", "exchange_limit": "exchange|alpha"}


def context_of(**changes: object) -> CycleContext:
    case = triangle(**changes)  # type: ignore[arg-type] # settings by name
    return cycle_context(case.rows, case.request)


@pytest.mark.parametrize(
    ("reason", "changes", "figure"),
    [
        ("halted", {"trading_state": "halted"}, ("halted", "running", "")),
        ("reduce_only", {"trading_state": "reduce_only"}, ("reduce_only", "running", "")),
        ("below_threshold", {"min_net_bps": 51.5}, ("50", "51.5", "bps")),
        ("quarantined", {"quarantine_ceiling_bps": 40.0}, ("50", "40", "bps")),
        ("exchange_disabled", {"enabled_exchanges": ()}, (None, None, "")),
    ],
)
def test_a_check_of_the_settings_has_its_value_and_limit(
    reason: str, changes: dict[str, object], figure: tuple[str | None, str | None, str]
) -> None:
    context = context_of(**changes)
    assert cycle_rejection(context) == reason
    assert cycle_figure(reason, context) == figure


@pytest.mark.parametrize(
    ("reason", "changes", "figure"),
    [
        ("daily_loss", {"day_net": -FULL}, ("20000000", "1000", "money")),
        ("too_many_open", {"open_arbitrages": 99}, ("99", "10", "")),
    ],
)
def test_a_check_of_the_books_has_its_value_and_limit(
    reason: str, changes: dict[str, object], figure: tuple[str | None, str | None, str]
) -> None:
    known = context_of(max_daily_loss=Decimal(1_000), max_open_arbitrages=10)
    context = replace(known, risk=replace(known.risk, **changes))  # type: ignore[arg-type] # as replace has it
    assert cycle_rejection(context) == reason
    assert cycle_figure(reason, context) == figure


@pytest.mark.parametrize(("reason", "key"), NOTIONAL.items())
def test_a_notional_limit_shows_the_sum_nearest_to_it(reason: str, key: str) -> None:
    known = context_of()
    counted = {**dict.fromkeys(cycle_notional_keys(known.cycle), Decimal(1)), key: FULL}
    context = replace(known, risk=replace(known.risk, notional=counted))
    assert cycle_rejection(context) == reason
    assert cycle_figure(reason, context) == ("20000000", "10000000", "money")


def test_the_cool_down_the_exposure_and_the_places_have_theirs() -> None:
    known = context_of(cool_down_ms=500, max_exposure=Decimal(100))
    now = known.risk.now
    cooling = replace(known, risk=replace(known.risk, pair_reserved_at=now - 200_000))
    assert cycle_rejection(cooling) == "cooling_down"
    assert cycle_figure("cooling_down", cooling) == ("200", "500", "ms")
    drifted = replace(known, worth={**known.worth, "ETH": Decimal(2_000)}, drift={"ETH": Decimal("-0.1")})
    assert cycle_rejection(drifted) == "exposure"
    assert cycle_figure("exposure", drifted) == ("200", "100", "money")
    crowded = replace(known, legs_left={"alpha": 2})
    assert cycle_rejection(crowded) == "rate_budget"
    assert cycle_figure("rate_budget", crowded) == ("2", "3", "")


def test_every_reason_can_be_asked() -> None:
    context = context_of()
    units = {cycle_figure(reason, context)[2] for reason in CYCLE_REASONS}
    assert units == {"", "bps", "ms", "money"}
