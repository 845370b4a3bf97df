"""`arbitrage paper --regions`: a session with a Kafka, a member of MongoDB, detection, bots and a page for each region.

Each region has a data folder of its own, `regions/NAME` in the user's, which commands may be given as ARBITRAGE_HOME.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from launch.apps.configured import publishing
from launch.config.configuration import Configuration
from launch.config.notice_destinations import configured_destinations
from launch.config.session_options import PaperOptions
from launch.config.watched_cycles import regional_cycle_notes
from launch.errors import CannotStartError
from launch.regions.layout import RegionLayout
from launch.regions.mirror_process import mirror_process
from launch.regions.network.namespaces import region_networks
from launch.regions.network.user_network import Address, Listeners, forwarded
from launch.regions.region_processes import in_region, outside_parts, region_parts
from launch.regions.sessions import (
    RegionSession,
    check_regions,
    make_region_home,
    markets_in,
    region_lines,
    region_sessions,
)
from launch.regions.supervisors import RegionSupervisors
from launch.sessions.chosen_markets import check_compared
from launch.sessions.paper import Echo, check_simulated, paper_session, paper_settings, trade, without_cycles
from launch.setup.data_dir import RUN_FILE, check_writable, write_atomically
from launch.setup.data_layout import set_aside_other_layout
from launch.setup.jars import mirror_classpath
from launch.setup.login_files import OwnLogins, own_logins, session_logins
from launch.supervisor.ports import LAST_PORT, claim_web_port
from launch.supervisor.process_groups import ProcessSpec
from launch.supervisor.supervisor import Supervisor
from runtime.clock import wall_now
from runtime.clock_shift import CLOCK_FILE, keep_shift
from session.session import Session
from streams.broker.embedded_broker import LOOPBACK


@dataclass(frozen=True, slots=True)
class RegionalSession:
    """The sessions of all regions, in the order of the command, and what runs their processes once it is started."""

    sessions: tuple[RegionSession, ...]
    supervisors: RegionSupervisors

    @property
    def first(self) -> Session:
        """Return the session whose page, log and counters stand for the whole session's."""
        return self.sessions[0].session

    @property
    def pages(self) -> list[Address]:
        """Return where each region's page listens."""
        return [(one.session.page.host, one.session.page.port) for one in self.sessions]


async def run_regional(
    home: Path, options: PaperOptions, config: Configuration, echo: Echo, listeners: Listeners = ()
) -> int:
    """Trade on simulated exchanges in several regions. `listeners`: of the pages, if regions are in networks of this
    command's own. Raises CannotStartError if that is impossible."""
    check_simulated(config)
    started = wall_now()
    if options.json is not None:
        check_writable(options.json)
    if options.report is not None:
        check_writable(options.report, "--report")
    with regional_session(home, options, config, echo, LOOPBACK if listeners else None) as made:
        for line in region_lines(made.sessions):
            echo(line)
        if listeners and made.first.upkeep.notices:
            echo("notices are not sent: without root nothing outside of the session's own network is reached")
        logged = [one.session for one in made.sessions if not one.only_votes]
        async with forwarded(listeners, made.pages), publishing(made.first, config, echo):
            return await trade(made.first, made.supervisors, started, options, echo, logged)


@contextmanager
def regional_session(
    home: Path, options: PaperOptions, config: Configuration, echo: Echo, page_host: str | None = None
) -> Iterator[RegionalSession]:
    """Prepare everything that a session of regions needs except its processes; gone at the end. `page_host`: where
    pages are reached, if not in their regions. Raises CannotStartError."""
    check_regions(options.regions, config)
    # only the mirrors need them, which come last
    mirror_classpath(home)
    for note in regional_cycle_notes(config):
        echo(note)
    base = paper_session(home, options, without_cycles(config))
    markets = markets_in(base.markets, options.regions, config.exchanges, echo)
    check_compared(markets, config.known_assets, base.settlement_currency)
    base = replace(
        base, markets=markets, upkeep=replace(base.upkeep, notices=configured_destinations(config.notices, os.environ))
    )
    with ExitStack() as stack:
        layout = None
        if options.has_delays:
            layout = stack.enter_context(region_networks(home, options.regions, base.seed))
        sessions = region_sessions(base, options.regions, layout, page_host)
        for one in sessions:
            _prepare(home, one.session, echo, is_claimed=layout is None)
        store = own_logins(sessions[0].session.home)
        sessions = tuple(
            replace(one, session=stack.enter_context(session_logins(one.session, config, os.environ, store)))
            for one in sessions
        )
        supervisors = _supervisors(home, sessions, layout, config, store, echo)
        # commands without ARBITRAGE_HOME mean the first region
        for folder, one in ((home, sessions[0]), *((one.session.home, one) for one in sessions)):
            write_atomically(folder / RUN_FILE, one.session.to_json())
            stack.callback((folder / RUN_FILE).unlink, missing_ok=True)
            stack.callback((folder / CLOCK_FILE).unlink, missing_ok=True)
        yield RegionalSession(sessions, supervisors)


def _prepare(home: Path, session: Session, echo: Echo, *, is_claimed: bool) -> None:
    """Prepare the region's data folder, and its page's port, if it is one of this machine's own network. Raises
    CannotStartError."""
    if session.page.port > LAST_PORT:
        raise CannotStartError(
            f"--port leaves none for the page of {session.place.region}; choose one below {LAST_PORT}."
        )
    if is_claimed:
        claim_web_port(session.page.host, session.page.port)
    try:
        make_region_home(home, session)
        # right at first, also after a session that was killed
        keep_shift(session.home / CLOCK_FILE, 0)
    except OSError as error:
        raise CannotStartError(f"{session.home}: cannot be used as a data folder ({error.strerror}).") from error
    # left by a session that was killed: what waits for a region's parts waits before its supervisor starts
    shutil.rmtree(session.home / "ready", ignore_errors=True)
    moved = set_aside_other_layout(session.home)
    if moved is not None:
        echo(moved)


def _supervisors(
    home: Path,
    sessions: tuple[RegionSession, ...],
    layout: RegionLayout | None,
    config: Configuration,
    store: OwnLogins,
    echo: Echo,
) -> RegionSupervisors:
    settings = paper_settings(config)
    regions = {}
    for one in sessions:
        say = partial(_say, echo, one.name)
        parts = region_parts(one, config, settings, store, say)
        placed = [in_region(part, layout, one.name) for part in parts]
        regions[one.name] = Supervisor(one.session.home, placed, say, one.session)
    outside = Supervisor(home, outside_parts(home, sessions, layout), echo)

    def mirrors() -> dict[str, ProcessSpec]:
        mirrored = [one for one in sessions if not one.only_votes]
        return {one.name: in_region(mirror_process(one, sessions), layout, one.name) for one in mirrored}

    return RegionSupervisors(outside, regions, mirrors)


def _say(echo: Echo, region: str, line: str) -> None:
    echo(f"{region}: {line}")
