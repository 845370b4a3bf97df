"""A session of three regions as a user starts it: latency of the orders in each, and its CPU and memory.

`python -m benchmarks.regions [--market busy] [--seconds 300] [--loopback]`. Starts `arbitrage paper --regions us,eu,jp
--wan` with a data folder of its own. The store gives, for each region, the milliseconds from the grant of a leg to its
posting, and from the opportunity to the grant.

The floor beside it follows from the round trips: a grant is committed once the nearest other member has told the
primary that it has it, one round trip; the primary's message of that reaches another region a one-way trip later.
"""

import argparse
import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from benchmarks.live_path import END_SECONDS, Parts, paper, until_ready
from benchmarks.percentiles import percentiles_text
from launch.regions.network.links import OTHER_ROUND_TRIP_MS, ROUND_TRIPS_MS
from launch.regions.sessions import region_home
from launch.setup.data_dir import read_session
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from market.trade.arbitrages import Arbitrage
from runtime.clock import SystemClock
from session.simulated_market import MARKETS
from store.mongo.store import open_store

REGIONS = ("us", "eu", "jp")
TRADING = "trading on paper"
START_SECONDS = 600.0
"""Three Sparks start on two cores."""


async def measure(market: str, seconds: float, *, has_delays: bool) -> None:
    words = ("--regions", ",".join(REGIONS), *(("--wan",) if has_delays else ()))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with paper(home, market, more=words) as process:
            ready = await until_ready(home, process, TRADING, START_SECONDS)
            session = with_logins(read_session(home), SUPERVISOR)
            parts = {
                name: Parts(region_home(home, name), supervisor)
                for name, supervisor in dict.fromkeys(REGIONS, psutil.Process(process.pid)).items()
            }
            outside = Parts(home, psutil.Process(process.pid))
            await SystemClock().sleep(seconds)
            load = os.getloadavg()
            used = {name: one.used() for name, one in parts.items()} | {"outside": outside.used()}
            async with await open_store(session) as store:
                arbitrages = await store.session_arbitrages()
                leader = None if store.place is None else store.place.primary.region
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(process.wait, 2 * END_SECONDS)
        summary = json.loads((home / "summary.json").read_text())
    print(f"{market}, {seconds:.0f} s; trading after {ready:.1f} s; leader {leader}")
    ended = ", ".join(f"{count} {state}" for state, count in summary["arbitrages"].items()) or "none"
    print(f"arbitrages: {ended}; ledger {'reconciled' if summary['balanced'] else 'NOT RECONCILED'}")
    places = {market.exchange: market.region for market in session.markets}
    _print_legs(arbitrages, places, leader, has_delays=has_delays)
    _print_parts(used)
    print(f"load average {' '.join(f'{share:.2f}' for share in load)} on {os.cpu_count()} cores")


def floor_ms(leader: str, region: str) -> float:
    """Return the milliseconds from the sending of the commit until a bot in `region` can hear of it."""
    majority = min(_trip(leader, other) for other in REGIONS if other != leader)
    return majority if region == leader else majority + _trip(leader, region) / 2


def _trip(one: str, other: str) -> float:
    return ROUND_TRIPS_MS.get(frozenset({one, other}), OTHER_ROUND_TRIP_MS)


def _print_legs(
    arbitrages: Sequence[Arbitrage], places: Mapping[str, str], leader: str | None, *, has_delays: bool
) -> None:
    print(f"{'ms, p50 / p95 / p99':16}{'legs':>6}{'grant to post':>26}{'opportunity to post':>28}{'floor':>9}")
    for region in REGIONS:
        legs = [
            (leg.times["sent"] - leg.times["granted"], leg.times["sent"] - one.times.get("detected", leg.times["sent"]))
            for one in arbitrages
            for leg in one.legs
            if places[leg.exchange] == region and "sent" in leg.times
        ]
        granted, detected = ([pair[number] / 1_000 for pair in legs] for number in (0, 1))
        floor = f"{floor_ms(leader, region):9.0f}" if leader is not None and has_delays else f"{'–':>9}"
        figures = (percentiles_text(granted, 0), percentiles_text(detected, 0))
        print(f"{region:16}{len(legs):6}{figures[0]:>26}{figures[1]:>28}{floor}")


def _print_parts(used: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
    """Print what each part used; the supervisor, which all regions share, comes once."""
    print(f"{'part':34}{'cores':>9}{'MB':>9}")
    cores, megabytes = 0.0, 0.0
    for region, parts in used.items():
        for name, (share, size) in sorted(parts.items(), key=lambda one: -one[1][0]):
            if name == "supervisor" and region != "outside":
                continue
            print(f"{region + ' ' + name:34}{share:9.3f}{size:9.0f}")
            cores, megabytes = cores + share, megabytes + size
    print(f"{'all':34}{cores:9.3f}{megabytes:9.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--market", choices=MARKETS, default="busy")
    parser.add_argument("--seconds", type=float, default=300.0, help="after all is ready")
    parser.add_argument("--loopback", action="store_true", help="without delays")
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.market, arguments.seconds, has_delays=not arguments.loopback))


if __name__ == "__main__":
    main()
