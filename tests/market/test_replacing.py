"""It answers as the standard one does."""

import dataclasses
from decimal import Decimal

import pytest

from market.replacing import replace
from market.rows import BalanceRow

ROW = BalanceRow("kraken", "BTC", Decimal(1), Decimal(2))


@pytest.mark.parametrize("changes", [{}, {"free": Decimal(3)}, {"exchange": "bitstamp", "held": Decimal(0)}])
def test_a_value_changes_as_with_the_standard_one(changes: dict[str, object]) -> None:
    changed = replace(ROW, **changes)  # type: ignore[arg-type]  # of several kinds
    assert changed == dataclasses.replace(ROW, **changes)  # type: ignore[arg-type]
    assert changed is not ROW


def test_a_field_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="nothing"):
        replace(ROW, nothing=1)  # type: ignore[call-arg]
