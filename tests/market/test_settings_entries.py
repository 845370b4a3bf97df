"""One entry of the settings: applied it is the only difference, and a difference of one entry is found again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.settings import Settings
from market.decide.settings_entries import EntryChange, entry_change
from tests.market.samples import settings_of

BPS = st.integers(0, 500).map(float)
BASES, PAIRS = st.sampled_from(("BTC", "ETH", "SOL")), st.sampled_from(("alpha>beta", "beta>alpha", "alpha/gamma"))
CHANGES = st.one_of(
    st.builds(EntryChange, st.just("disabled_assets"), BASES, st.sampled_from((True, None))),
    st.builds(EntryChange, st.just("asset_thresholds"), BASES, st.none() | BPS),
    st.builds(EntryChange, st.just("pair_thresholds"), PAIRS, st.none() | BPS),
)
SETTINGS = st.builds(
    lambda paused, assets, pairs: settings_of(
        disabled_assets=tuple(paused), asset_thresholds=assets, pair_thresholds=pairs
    ),
    st.lists(BASES, unique=True),
    st.dictionaries(BASES, BPS),
    st.dictionaries(PAIRS, BPS),
)


@given(settings=SETTINGS, change=CHANGES)
def test_what_is_applied_stands_and_is_all_that_differs(settings: Settings, change: EntryChange) -> None:
    after = change.applied(settings)
    assert change.value_in(after) == change.value
    if change.value_in(settings) == change.value:
        assert entry_change(settings, after) is None
    else:
        assert entry_change(settings, after.model_copy(update={"version": 9})) == change


@given(settings=SETTINGS, change=CHANGES, other=CHANGES)
def test_two_entries_or_another_field_are_no_entry(settings: Settings, change: EntryChange, other: EntryChange) -> None:
    after = other.applied(change.applied(settings))
    if (change.setting, change.key) != (other.setting, other.key):
        differ = [one for one in (change, other) if one.value_in(settings) != one.value]
        assert entry_change(settings, after) == (differ[0] if len(differ) == 1 else None)
    assert entry_change(settings, change.applied(settings).model_copy(update={"max_slippage_bps": 9.0})) is None


def test_a_threshold_below_what_is_shown_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be below emit_net_bps"):
        EntryChange("asset_thresholds", "BTC", 0.5).applied(settings_of(emit_net_bps=1.0))
