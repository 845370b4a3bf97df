"""People and apps change the same entries in any order: no app ever undoes a person, and the versions say so again."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from backtest.simulate.event_queue import run_to_end
from backtest.verify.app_versions import app_difference
from market.decide.settings import Settings
from market.decide.settings_entries import EntryChange, entry_change
from store.app_actions import PERSON_HOLDS, AppAction
from store.memory.parts import MemorySettings
from store.records.audit_entry import AuditEntry
from store.server.documents import SettingsVersion
from tests.market.samples import settings_of
from tests.store.conftest import SteppedClock

BPS = st.sampled_from((6.0, 9.0, 14.0))
ENTRIES = st.one_of(
    st.builds(EntryChange, st.just("disabled_assets"), st.just("ETH"), st.sampled_from((True, None))),
    st.builds(EntryChange, st.just("asset_thresholds"), st.just("ETH"), st.none() | BPS),
    st.builds(EntryChange, st.just("pair_thresholds"), st.just("alpha>beta"), st.none() | BPS),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(("ada", "app guard", "app other")), ENTRIES, st.sampled_from((0, 30, 4_000))),
    max_size=14,
)
Step = tuple[str, EntryChange, int]


def versions_of(steps: list[Step]) -> list[SettingsVersion]:
    """Return all versions that come of it; the third part of a step is how many seconds pass before it."""
    clock = SteppedClock()
    settings, at = MemorySettings(clock), [clock.now()]
    run_to_end(settings.create(settings_of()))
    for number, (who, change, seconds) in enumerate(steps):
        run_to_end(clock.sleep(seconds + 0.001))
        if who == "ada":
            run_to_end(settings.amend(change.applied, who))
        else:
            entry = AuditEntry(f"row {number}", who, "app", "app", "", "app.threshold", change.name)
            run_to_end(settings.act(AppAction(change, clock.now(), 100), entry))
        at += [clock.now()] * (len(settings.versions) - len(at))
    befores: list[Settings | None] = [None, *(one for one, _ in settings.versions)]
    return [
        SettingsVersion(after.version, time, who, before, after)
        for before, (after, who), time in zip(befores, settings.versions, at, strict=False)
    ]


@given(steps=STEPS)
def test_what_a_person_set_stays_and_what_a_person_took_away_stays_away(steps: list[Step]) -> None:
    by_hand: dict[tuple[str, str], tuple[float | None, int]] = {}
    for version in versions_of(steps)[1:]:
        assert version.before is not None
        change = entry_change(version.before, version.after)
        assert change is not None
        key = (change.setting, change.key)
        if version.who == "ada":
            by_hand[key] = (change.value, version.at)
        elif key in by_hand:
            value, at = by_hand.pop(key)
            assert value is None
            assert version.at - at >= PERSON_HOLDS


@given(steps=STEPS)
def test_the_versions_are_derived_again(steps: list[Step]) -> None:
    assert app_difference(versions_of(steps)) is None


@given(steps=STEPS, chosen=st.integers(0, 99), other=st.sampled_from(("setting", "person", "chain")))
def test_a_version_of_an_app_that_does_not_follow_is_found(steps: list[Step], chosen: int, other: str) -> None:
    versions = versions_of(steps)
    mine = [number for number, one in enumerate(versions) if one.who.startswith("app ")]
    if not mine:
        return
    number = mine[chosen % len(mine)]
    one = versions[number]
    if other == "setting":
        versions[number] = replace(one, after=one.after.model_copy(update={"max_slippage_bps": 77.0}))
    elif other == "chain":
        assert one.before is not None
        versions[number] = replace(one, before=one.before.model_copy(update={"max_slippage_bps": 77.0}))
    else:
        # an app changes what a person has just paused
        before = one.after.model_copy(update={"version": 90, "disabled_assets": ("SOL",)})
        after = before.model_copy(update={"version": 91, "disabled_assets": ()})
        paused = SettingsVersion(90, one.at, "ada", one.after, before)
        versions = [*versions[: number + 1], paused, SettingsVersion(91, one.at, "app guard", before, after)]
    found = app_difference(versions)
    assert found is not None
    assert "by app " in str(found)
