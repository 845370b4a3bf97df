"""`arbitrage chaos --regions`: a session of regions under injected faults by a seed, then the audit of all of them."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from launch.chaos.regions.phases import RunningRegions, chaos_in_regions
from launch.chaos.run import ChaosOptions, chaos_configuration, empty_home, report, until_started
from launch.config.session_options import PaperOptions
from launch.regions.network.control_socket import command_carrier
from launch.regions.network.user_network import Listeners, forwarded
from launch.sessions.paper import Echo, paper_settings
from launch.sessions.regional_paper import regional_session
from launch.setup.data_dir import check_writable
from launch.supervisor.ctrl_c import stop_event, unless_stopped
from streams.broker.embedded_broker import LOOPBACK, free_ports


async def run_regional_chaos(
    home: Path, options: ChaosOptions, regions: tuple[str, ...], listeners: Listeners | None, echo: Echo
) -> int:
    """Run chaos in regions, as `run_chaos`. `listeners`: of the pages, as in `run_regional`; None: no delays, and then
    no links are cut."""
    if options.json is not None:
        check_writable(options.json)
    empty_home(home)
    config = chaos_configuration(options.config)
    opened, has_delays = listeners or (), listeners is not None
    (free,) = free_ports(1)
    port = opened[0].getsockname()[1] if opened else options.port or free
    asked = PaperOptions(port=port, seed=options.seed, market=options.market, regions=regions, has_delays=has_delays)
    stopped = stop_event()
    with regional_session(home, asked, config, echo, LOOPBACK if opened else None) as made:
        running = RunningRegions(
            # journals and the token of the exchanges' faults are where these run
            session=replace(made.first, home=home),
            supervisor=made.supervisors.outside,
            regions=made.supervisors.regions,
            brokers={one.name: one.session.services.kafka for one in made.sessions if not one.only_votes},
            command=partial(command_carrier, home) if has_delays else None,
        )
        async with forwarded(opened, made.pages):
            await made.supervisors.start()
            try:
                await unless_stopped(until_started(made.supervisors), stopped)
                echo(f"all ready, fault injection begins: {made.first.page.url}")
                run = await unless_stopped(chaos_in_regions(running, options, paper_settings(config), echo), stopped)
            finally:
                await made.supervisors.stop()
    return report(run, options, echo)
