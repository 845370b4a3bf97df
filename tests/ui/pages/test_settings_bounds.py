"""What a setting may be, as the page says it, against what the settings' own model takes."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from market.decide.settings import Settings
from tests.ui.samples import SETTINGS
from ui.services.settings_bounds import Bounds, bounds_of, plain_number
from ui.services.settings_fields import FIRST, TOPICS

NUMBERS = [field.name for group in (FIRST, *TOPICS) for field in group.fields if not field.choices]


def is_taken(name: str, value: object) -> bool:
    try:
        # alone, without what it must be together with others
        Settings.model_validate(SETTINGS.model_dump() | {"emit_net_bps": -1_000.0, name: value})
    except ValidationError as error:
        return not any(fault["loc"][:1] == (name,) for fault in error.errors())
    return True


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_has_both_ends(name: str) -> None:
    bounds = bounds_of(name)
    assert bounds.low is not None
    assert bounds.high is not None
    for end, is_open in ((bounds.low, bounds.is_low_open), (bounds.high, bounds.is_high_open)):
        assert is_taken(name, end) is not is_open
    assert not is_taken(name, bounds.low - 1)
    assert not is_taken(name, bounds.high + 1)


def test_fees_have_a_range_each() -> None:
    assert bounds_of("taker_fees") == Bounds(Decimal(0), Decimal("0.1"))
    assert bounds_of("taker_fees").words("of the notional") == "0 to 0.1 of the notional"


@pytest.mark.parametrize(
    ("value", "words"), [("86400000", "86,400,000"), ("-1000", "−1,000"), ("0.10", "0.1"), ("1E+3", "1,000")]
)
def test_numbers_for_people(value: str, words: str) -> None:
    assert plain_number(Decimal(value)) == words
