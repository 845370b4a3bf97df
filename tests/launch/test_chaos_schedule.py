"""A schedule is a function of its seed; it hits every kind of process that may be hit, and nothing else."""

import pytest

from launch.chaos.run import SETTINGS
from launch.chaos.schedule import (
    FAULT_EVERY,
    KILL_AT_ORDER_EVERY,
    KILL_TARGETS,
    LIE_EVERY,
    LOST_ACKNOWLEDGEMENT_EVERY,
    PROCESS_ROLES,
    SMALL_SKEW_EVERY,
    STORE_STEP_EVERY,
    InjectedFault,
    InjectedSetting,
    Injection,
    Kill,
    KillAtOrder,
    Pause,
    role_of,
    schedule_of,
)
from launch.config.configuration import Configuration
from launch.sessions.paper import paper_settings
from market.decide.settings import Settings
from market.trade.leases import LEASE_SECONDS
from simulators.faults.lies import lies_of
from simulators.server import listed_symbols

EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
BOTS = tuple(f"bot-{name}{number}" for name in EXCHANGES for number in ("", "-2"))
SEEDS = range(1, 11)
SECONDS = 180.0


def schedule(seed: int, seconds: float = SECONDS) -> tuple[Injection, ...]:
    return schedule_of(seed, seconds, EXCHANGES, BOTS)


def test_a_seed_gives_the_same_faults_each_time_and_another_seed_others() -> None:
    assert schedule(7) == schedule(7)
    assert schedule(7) != schedule(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_three_minutes_have_everything(seed: int) -> None:
    injections = schedule(seed)
    assert [injection.at for injection in injections] == sorted(injection.at for injection in injections)
    assert all(0 <= injection.at < SECONDS for injection in injections)
    assert {role_of(injection.process) for injection in injections if isinstance(injection, Kill)} == set(PROCESS_ROLES)
    assert {role_of(injection.process) for injection in injections if isinstance(injection, Pause)} == set(
        PROCESS_ROLES
    )
    faults = [injection.fault for injection in injections if isinstance(injection, InjectedFault)]
    assert {fault.kind for fault in faults} == {*FAULT_EVERY, "lie"}
    lies = [fault for fault in faults if fault.kind == "lie"]
    assert len(lies) == SECONDS // LIE_EVERY
    assert len({fault.lie for fault in lies}) == len(lies), "each once before any comes again"
    assert all(fault.lie in lies_of(fault.exchange) for fault in lies)
    assert {injection.exchange for injection in injections if isinstance(injection, KillAtOrder)} <= set(EXCHANGES)
    assert sum(isinstance(injection, KillAtOrder) for injection in injections) == SECONDS // KILL_AT_ORDER_EVERY
    changed = {
        change for injection in injections if isinstance(injection, InjectedSetting) for change in injection.changes
    }
    assert {("trading_state", "halted"), ("trading_state", "reduce_only")} <= changed


@pytest.mark.parametrize("seed", SEEDS)
def test_each_exchange_loses_acknowledgements_and_its_clock_is_a_little_off_both_ways(seed: int) -> None:
    faults = [injection.fault for injection in schedule(seed) if isinstance(injection, InjectedFault)]
    for name in EXCHANGES:
        own = [fault for fault in faults if fault.exchange == name]
        assert sum(fault.kind == "lost_acknowledgement" for fault in own) >= SECONDS // LOST_ACKNOWLEDGEMENT_EVERY
        skews = [fault.skew_seconds for fault in own if fault.skew_seconds is not None]
        small = [skew for skew in skews if abs(skew) < 1]
        assert len(small) >= SECONDS // SMALL_SKEW_EVERY
        assert min(skews) < 0 < max(skews)


def test_a_step_of_the_store_is_one_of_all_exchanges_the_other_way() -> None:
    steps: dict[tuple[float, float | None], set[str]] = {}
    for injection in schedule(1, 3_600):
        if isinstance(injection, InjectedFault) and injection.fault.kind == "clock_skew":
            steps.setdefault((injection.at, injection.fault.skew_seconds), set()).add(injection.fault.exchange)
    assert sum(whom == set(EXCHANGES) for whom in steps.values()) == 3_600 // STORE_STEP_EVERY


def test_ten_seeds_kill_both_halves_of_sparks_driver() -> None:
    targets = {
        injection.target
        for seed in SEEDS
        for injection in schedule(seed)
        if isinstance(injection, Kill) and injection.process == "cep"
    }
    assert targets == set(KILL_TARGETS)


def test_only_known_processes_are_hit_and_never_the_exchanges() -> None:
    processes = {injection.process for injection in schedule(1, 3_600) if isinstance(injection, Kill | Pause)}
    assert processes == {*BOTS, *(f"feed-{name}" for name in EXCHANGES), "cep", "publisher", "ui", "kafka", "mongodb"}


def test_pauses_outlast_a_lease() -> None:
    assert all(injection.seconds > LEASE_SECONDS for injection in schedule(1, 3_600) if isinstance(injection, Pause))


def test_the_exchanges_take_every_fault() -> None:
    symbols = listed_symbols(EXCHANGES)
    for injection in schedule(1, 3_600):
        if isinstance(injection, InjectedFault):
            injection.fault.check(symbols)


def test_the_settings_take_every_change() -> None:
    first = paper_settings(Configuration(settings=SETTINGS))
    for injection in schedule(1, 3_600):
        if isinstance(injection, InjectedSetting):
            changed = Settings.model_validate(first.model_dump() | dict(injection.changes))
            assert changed != first, injection.description


def test_a_short_run_has_the_beginning_of_a_long_one() -> None:
    assert schedule(3, 60) == tuple(injection for injection in schedule(3, 180) if injection.at < 60)
