"""It answers as the standard one does."""

import dataclasses
import inspect
from decimal import Decimal

import pytest

from market.decide.sizing import SizingSide
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.fast_replace import replace
from market.trade.reservation_state import BalanceRow, PairRow, ReservationState
from market.trade.reservations import Reservation

ROW = BalanceRow("kraken", "BTC", Decimal(1), Decimal(2))


@pytest.mark.parametrize("changes", [{}, {"free": Decimal(3)}, {"exchange": "bitstamp", "held": Decimal(0)}])
def test_a_value_changes_as_with_the_standard_one(changes: dict[str, object]) -> None:
    changed = replace(ROW, **changes)  # type: ignore[arg-type]  # of several kinds
    assert changed == dataclasses.replace(ROW, **changes)  # type: ignore[arg-type]
    assert changed is not ROW


@pytest.mark.parametrize(
    "kind", [Arbitrage, BalanceRow, SizingSide, Leg, Opportunity, PairRow, Reservation, ReservationState]
)
def test_every_field_of_what_is_changed_is_one_that_init_takes(kind: type) -> None:
    """What `replace` goes by."""
    taken = list(inspect.signature(kind).parameters)
    assert [field.name for field in dataclasses.fields(kind)] == taken


def test_a_field_that_is_none_is_rejected() -> None:
    with pytest.raises(TypeError, match="nothing"):
        replace(ROW, nothing=1)  # type: ignore[call-arg]
