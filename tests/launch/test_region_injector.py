"""Faults of regions hit only that region, are taken back, and cuts are recorded for the audit."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from launch.chaos.fault_injector import FaultInjector
from launch.chaos.regions.faults import LinkFault, RegionKill
from launch.chaos.regions.injector import RegionInjector
from launch.chaos.schedule import InjectedFault, Kill, Pause
from launch.chaos.settings_tuner import SettingsTuner
from launch.errors import CannotStartError, LaunchError
from launch.regions.network.link_commands import LinkCommandError, parsed_change
from launch.regions.network.links import RegionLinks, links_of
from launch.regions.sessions import region_home
from launch.supervisor.supervisor import Supervisor
from runtime.clock import wall_now
from simulators.faults.fault_kinds import Fault
from tests.exchanges.served import served
from tests.launch.test_chaos_run import BASE, WAIT_SECONDS, session_of, until
from tests.launch.test_supervisor import eventually_restarted, process_of, sleeper

REGIONS = ("us", "eu", "jp")
NAMES = {"us": ("mongodb", "bot-kraken", "bot-kraken-2"), "eu": ("mongodb", "bot-bitstamp")}


class KeptLinks:
    """Links as the carrier keeps them; `absent`: for so many commands it is not there."""

    def __init__(self, absent: int = 0) -> None:
        self.first = self.links = links_of(REGIONS)
        self.seen: list[RegionLinks] = []
        self.absent = absent

    def __call__(self, line: str) -> None:
        if self.absent:
            self.absent -= 1
            raise LaunchError("the carrier of the regions is not there.")
        try:
            change = parsed_change(line, REGIONS)
        except LinkCommandError as error:
            raise CannotStartError(str(error)) from error
        self.links = self.links.changed(change)
        self.seen.append(self.links)


def cut_off(links: RegionLinks) -> set[tuple[str, str]]:
    return {way for way, rule in links.rules.items() if rule.is_cut}


JP_WAYS = {("us", "jp"), ("jp", "us"), ("eu", "jp"), ("jp", "eu")}


@asynccontextmanager
async def running(home: Path, kept: KeptLinks) -> AsyncIterator[tuple[dict[str, Supervisor], FaultInjector]]:
    """Run sleeping processes in two regions."""
    supervisors = {}
    for region, names in NAMES.items():
        own = region_home(home, region)
        own.mkdir(parents=True)
        supervisors[region] = Supervisor(own, [sleeper(own, name) for name in names], lambda _: None)
    session = session_of(home)
    regions = RegionInjector(supervisors, kept)
    nothing = Supervisor(home, [], lambda _: None)
    try:
        for supervisor in supervisors.values():
            await supervisor.start()
            await supervisor.all_ready(WAIT_SECONDS)
        yield supervisors, FaultInjector(session, nothing, SettingsTuner(session, BASE), lambda _: None, regions)
    finally:
        for supervisor in supervisors.values():
            await supervisor.stop()


def processes(home: Path, region: str) -> dict[str, int]:
    return {name: process_of(region_home(home, region), name) for name in NAMES[region]}


async def test_a_process_of_a_region_is_killed_and_not_its_namesake(tmp_path: Path) -> None:
    async with running(tmp_path, KeptLinks()) as (supervisors, injector):
        us, eu = processes(tmp_path, "us"), processes(tmp_path, "eu")
        await injector.run([Kill(0.0, "mongodb", region="eu")])
        await eventually_restarted(region_home(tmp_path, "eu"), "mongodb", eu["mongodb"])
        assert processes(tmp_path, "us") == us
        assert (supervisors["us"].restarts, supervisors["eu"].restarts) == ({}, {"mongodb": 1})
        assert injector.injected == {"kill mongodb": 1}


@pytest.mark.parametrize(
    ("injection", "hit"),
    [(RegionKill(0.0, "us"), NAMES["us"]), (RegionKill(0.0, "us", bots_alone=True), ("bot-kraken", "bot-kraken-2"))],
)
async def test_all_processes_of_a_region_or_all_its_bots_are_killed_at_once(
    tmp_path: Path, injection: RegionKill, hit: tuple[str, ...]
) -> None:
    async with running(tmp_path, KeptLinks()) as (supervisors, injector):
        us, eu = processes(tmp_path, "us"), processes(tmp_path, "eu")
        await injector.run([injection])
        for name in hit:
            await eventually_restarted(region_home(tmp_path, "us"), name, us[name])
        assert processes(tmp_path, "eu") == eu
        assert (supervisors["us"].restarts, supervisors["eu"].restarts) == (dict.fromkeys(hit, 1), {})


async def test_namesakes_of_two_regions_are_paused_each_for_its_own_time(tmp_path: Path) -> None:
    async with running(tmp_path, KeptLinks()) as (_, injector):
        us, eu = (psutil.Process(processes(tmp_path, region)["mongodb"]) for region in NAMES)
        pausing = asyncio.create_task(
            injector.run([Pause(0.0, "mongodb", 600.0, "us"), Pause(0.0, "mongodb", 0.1, "eu")])
        )
        await until(lambda: injector.injected["pause mongodb"] == 2)
        await until(lambda: us.status() == psutil.STATUS_STOPPED and eu.status() != psutil.STATUS_STOPPED)
        pausing.cancel()
        await asyncio.gather(pausing, return_exceptions=True)
        # clear would ask the exchanges for more, which are not there
        with pytest.raises((LaunchError, FileNotFoundError)):
            await injector.clear()
        await until(lambda: us.status() != psutil.STATUS_STOPPED)


async def test_links_are_cut_for_as_long_as_said_and_the_cut_is_recorded() -> None:
    kept = KeptLinks()
    regions = RegionInjector({}, kept)
    fault, one_way = LinkFault(0.0, "cut", "jp", 1.0), LinkFault(0.0, "cut", "us to eu", 1.0)
    began = wall_now()
    assert await regions.disturb(fault)
    assert cut_off(kept.links) == JP_WAYS
    (cut,) = regions.cuts
    assert (cut.name, cut.until) == ("jp", None)
    await regions.heal(fault)
    await regions.heal(fault)
    assert len(kept.seen) == 2, "it is healed once"
    assert kept.links == kept.first
    (over,) = regions.cuts
    assert over.until is not None
    assert began <= over.since <= over.until <= wall_now()
    assert await regions.disturb(one_way)
    assert cut_off(kept.links) == {("us", "eu")}
    assert regions.cuts == [over], "the other way is open, so nothing is cut off"
    await regions.clear()
    assert kept.links == kept.first


async def test_a_run_heals_what_it_cuts_and_clearing_what_it_was_stopped_in(tmp_path: Path) -> None:
    kept = KeptLinks()
    async with running(tmp_path, kept) as (_, injector):
        await injector.run([LinkFault(0.0, "loss", "us", 0.0, 5.0), LinkFault(0.1, "delay", "us eu", 0.0, 300)])
        assert len({str(links.rules) for links in kept.seen}) == 3
        assert kept.links == kept.first
        cutting = asyncio.create_task(injector.run([LinkFault(0.0, "cut", "jp", 600.0)]))
        await until(lambda: injector.injected["cut of a region"] == 1)
        cutting.cancel()
        await asyncio.gather(cutting, return_exceptions=True)
        assert cut_off(kept.links) == JP_WAYS
        with pytest.raises((LaunchError, FileNotFoundError)):
            await injector.clear()
        assert kept.links == kept.first
        assert injector.injected == {"loss of a link": 1, "delay of a link": 1, "cut of a region": 1}


async def test_a_carrier_that_is_away_for_a_moment_heals_all_the_same() -> None:
    kept = KeptLinks()
    regions = RegionInjector({}, kept)
    fault = LinkFault(0.0, "cut", "jp", 1.0)
    await regions.disturb(fault)
    kept.absent = 1
    await regions.heal(fault)
    assert kept.links == kept.first
    kept.absent = 1
    assert not await regions.disturb(fault)
    assert len(regions.cuts) == 1, "what was not cut is not recorded"
    assert kept.links == kept.first


async def test_without_a_carrier_no_link_is_hit_and_the_run_says_so(tmp_path: Path) -> None:
    regions, said, session = RegionInjector({}), list[str](), session_of(tmp_path)
    nothing = Supervisor(tmp_path, [], lambda _: None)
    injector = FaultInjector(session, nothing, SettingsTuner(session, BASE), said.append, regions)
    await injector.run([LinkFault(0.0, "cut", "jp", 1.0)])
    await regions.clear()
    assert said == ["   0.00 s  cut jp for 1.0 s (no carrier)"]
    assert regions.cuts == []
    assert +injector.injected == Counter()


async def test_a_mistake_in_a_command_is_said() -> None:
    regions = RegionInjector({}, KeptLinks())
    with pytest.raises(CannotStartError, match="there is no region 'mars'"):
        await regions.disturb(LinkFault(0.0, "cut", "mars", 1.0))
    # nothing is left to heal
    await regions.clear()


async def test_a_fault_that_cannot_be_ends_the_run_with_one_error(tmp_path: Path) -> None:
    session, regions = session_of(tmp_path), RegionInjector({}, KeptLinks())
    nothing = Supervisor(tmp_path, [], lambda _: None)
    injector = FaultInjector(session, nothing, SettingsTuner(session, BASE), lambda _: None, regions)
    with pytest.raises(CannotStartError, match="there is no region 'mars'"):
        await injector.run([LinkFault(0.0, "cut", "mars", 1.0)])


async def test_how_long_an_exchange_was_slow_is_recorded_for_the_audit(tmp_path: Path) -> None:
    async with served(tmp_path, only=("kraken",)) as world:
        session = session_of(tmp_path, world.url)
        nothing = Supervisor(tmp_path, [], lambda _: None)
        injector = FaultInjector(session, nothing, SettingsTuner(session, BASE), lambda _: None)
        began = wall_now()
        delay = Fault("kraken", "latency", seconds=2.0, milliseconds=1_500)
        await injector.run([InjectedFault(0.0, delay), InjectedFault(0.0, Fault("kraken", "rejected_order", count=1))])
        (slow,) = injector.slow_exchanges()
        assert slow.name == "kraken"
        assert began <= slow.since
        assert slow.until is not None
        assert slow.since + 3_500_000 <= slow.until <= wall_now() + 3_500_000
