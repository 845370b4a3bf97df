"""The part of a chaos run with regions that follows its start: inject by the seed, heal, wait for rest, audit."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from launch.chaos.account_operator import AccountOperator
from launch.chaos.audit.regions import audit_regions
from launch.chaos.fault_injector import FaultInjector
from launch.chaos.regions.injector import Command, RegionInjector
from launch.chaos.regions.schedule import region_schedule_of
from launch.chaos.report import ChaosRun
from launch.chaos.run import ChaosOptions, announce, audited_at_rest
from launch.chaos.settings_tuner import SettingsTuner
from launch.sessions.paper import Echo
from launch.supervisor.supervisor import Supervisor
from market.decide.settings import Settings
from session.session import Session


@dataclass(frozen=True, slots=True)
class RunningRegions:
    """A session with regions whose processes are all ready.

    `session` is one region's, but of the data folder where the simulated exchanges run, and `supervisor` runs them;
    `regions`: region → the supervisor of its processes, mirrors included; `brokers`: region with a Kafka → its address;
    `command` as in `RegionInjector`.
    """

    session: Session
    supervisor: Supervisor
    regions: Mapping[str, Supervisor]
    brokers: Mapping[str, str]
    command: Command | None = None


async def chaos_in_regions(running: RunningRegions, options: ChaosOptions, settings: Settings, echo: Echo) -> ChaosRun:
    """Return what was injected and found; `settings` are those that the session starts with. Stops nothing. Raises
    LaunchError if the store, a Kafka or the exchanges cannot be read in the end."""
    session, parts = running.session, {region: own.names for region, own in running.regions.items()}
    has_links = running.command is not None
    schedule = region_schedule_of(options.seed, options.seconds, parts, tuple(session.accounts_at), has_links=has_links)
    announce(schedule, options, echo)
    tuner, regions = SettingsTuner(session, settings), RegionInjector(running.regions, running.command)
    injector = FaultInjector(session, running.supervisor, tuner, echo, regions)
    operator = AccountOperator(session)
    every = (running.supervisor, *running.regions.values())
    audit_now = partial(audit_regions, session, running.brokers, injector, regions.cuts)
    async with operator.at_work():
        await injector.run(schedule)
        audit = await audited_at_rest(session, every, injector, audit_now)
    faults = {**injector.injected, **await injector.observed_faults()}
    restarts = {
        f"{region}/{name}": often for region, own in running.regions.items() for name, often in own.restarts.items()
    }
    return ChaosRun(options.seed, options.seconds, schedule, faults, audit, restarts, tuner.by_rest, operator.settled)
