"""A schedule of blows is a function of its seed, strikes everything that may be struck, and nothing else."""

import pytest

from launch.chaos.chaos_run import SETTINGS
from launch.chaos.chaos_schedule import (
    FAULT_EVERY,
    HALVES,
    LOST_EVERY,
    ROOMS,
    SMALL_SKEW_EVERY,
    STORE_STEP_EVERY,
    Blow,
    InjectedFault,
    InjectedSetting,
    Kill,
    Pause,
    room_of,
    schedule_of,
)
from launch.config.configuration import Configuration
from launch.sessions.paper import paper_settings
from market.decide.settings import Settings
from market.trade.leases import LEASE_SECONDS
from simulators.simulator_server import listed_symbols

EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
BOTS = tuple(f"bot-{name}{number}" for name in EXCHANGES for number in ("", "-2"))
SEEDS = range(1, 11)
SECONDS = 180.0


def schedule(seed: int, seconds: float = SECONDS) -> tuple[Blow, ...]:
    return schedule_of(seed, seconds, EXCHANGES, BOTS)


def test_a_seed_gives_the_same_blows_each_time_and_another_seed_others() -> None:
    assert schedule(7) == schedule(7)
    assert schedule(7) != schedule(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_three_minutes_have_everything(seed: int) -> None:
    blows = schedule(seed)
    assert [blow.at for blow in blows] == sorted(blow.at for blow in blows)
    assert all(0 <= blow.at < SECONDS for blow in blows)
    assert {room_of(blow.part) for blow in blows if isinstance(blow, Kill)} == set(ROOMS)
    assert {room_of(blow.part) for blow in blows if isinstance(blow, Pause)} == set(ROOMS)
    assert {blow.fault.kind for blow in blows if isinstance(blow, InjectedFault)} == set(FAULT_EVERY)
    changed = {change for blow in blows if isinstance(blow, InjectedSetting) for change in blow.changes}
    assert {("trading_state", "halted"), ("trading_state", "reducing")} <= changed


@pytest.mark.parametrize("seed", SEEDS)
def test_each_exchange_loses_acknowledgements_and_its_clock_is_a_little_off_both_ways(seed: int) -> None:
    faults = [blow.fault for blow in schedule(seed) if isinstance(blow, InjectedFault)]
    for name in EXCHANGES:
        own = [fault for fault in faults if fault.exchange == name]
        assert sum(fault.kind == "lost_acknowledgement" for fault in own) >= SECONDS // LOST_EVERY
        skews = [fault.skew_seconds for fault in own if fault.skew_seconds is not None]
        small = [skew for skew in skews if abs(skew) < 1]
        assert len(small) >= SECONDS // SMALL_SKEW_EVERY
        assert min(skews) < 0 < max(skews)


def test_a_step_of_the_store_is_one_of_all_exchanges_the_other_way() -> None:
    steps: dict[tuple[float, float | None], set[str]] = {}
    for blow in schedule(1, 3_600):
        if isinstance(blow, InjectedFault) and blow.fault.kind == "clock_skew":
            steps.setdefault((blow.at, blow.fault.skew_seconds), set()).add(blow.fault.exchange)
    assert sum(whom == set(EXCHANGES) for whom in steps.values()) == 3_600 // STORE_STEP_EVERY


def test_ten_seeds_kill_both_halves_of_sparks_driver() -> None:
    halves = {blow.half for seed in SEEDS for blow in schedule(seed) if isinstance(blow, Kill) and blow.part == "cep"}
    assert halves == set(HALVES)


def test_only_known_parts_are_struck_and_never_the_exchanges() -> None:
    parts = {blow.part for blow in schedule(1, 3_600) if isinstance(blow, Kill | Pause)}
    assert parts == {*BOTS, *(f"feed-{name}" for name in EXCHANGES), "cep", "publisher", "ui", "kafka", "mongodb"}


def test_pauses_outlast_a_lease() -> None:
    assert all(blow.seconds > LEASE_SECONDS for blow in schedule(1, 3_600) if isinstance(blow, Pause))


def test_the_exchanges_take_every_fault() -> None:
    symbols = listed_symbols(EXCHANGES)
    for blow in schedule(1, 3_600):
        if isinstance(blow, InjectedFault):
            blow.fault.check(symbols)


def test_the_settings_take_every_change() -> None:
    first = paper_settings(Configuration(settings=SETTINGS))
    for blow in schedule(1, 3_600):
        if isinstance(blow, InjectedSetting):
            changed = Settings.model_validate(first.model_dump() | dict(blow.changes))
            assert changed != first, blow.told


def test_a_short_run_has_the_beginning_of_a_long_one() -> None:
    assert schedule(3, 60) == tuple(blow for blow in schedule(3, 180) if blow.at < 60)
