"""How long nobody decides when the leader's region is lost.

`python -m benchmarks.fail_over [--times 10] [--kill] [--market busy]`. Starts `arbitrage paper --regions us,eu,jp
--wan`. Each time it cuts the leader's region off (or, with `--kill`, kills its mongod with -9), measures until a bot of
another region has the right to decide, heals, and waits until the region has caught up. At the end it says whether the
ledger reconciles.
"""

import argparse
import asyncio
import json
import os
import signal
import tempfile
from pathlib import Path

from benchmarks.live_path import END_SECONDS, paper, until_ready
from benchmarks.regions import REGIONS, START_SECONDS, TRADING
from launch.regions.network.control_socket import command_carrier
from launch.regions.sessions import region_home
from launch.setup.data_dir import read_session
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from launch.supervisor.recorded_processes import PROCESSES_FILE
from market.trade.leases import decision_right
from runtime.clock import SystemClock, steady_now
from session.session import Session
from session.simulated_market import MARKETS
from store.errors import StoreUnavailableError
from store.mongo.store import MongoTradeStore, open_store
from store.ports.trading import TradeStore

POLL_SECONDS = 0.05
SETTLE_SECONDS = 20.0
MOST_SECONDS = 120.0


async def measure(market: str, times: int, *, is_killed: bool) -> None:
    words = ("--regions", ",".join(REGIONS), "--wan")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with paper(home, market, more=words) as process:
            await until_ready(home, process, TRADING, START_SECONDS)
            session = with_logins(read_session(home), SUPERVISOR)
            async with await open_store(session) as store:
                gaps = [await _gap(home, store, session, is_killed=is_killed) for _ in range(times)]
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(process.wait, 2 * END_SECONDS)
        summary = json.loads((home / "summary.json").read_text())
    gaps.sort()
    print(f"seconds until another region decides: {' '.join(f'{gap:.1f}' for gap in gaps)}")
    print(f"p50 {gaps[len(gaps) // 2]:.1f}, most {gaps[-1]:.1f}")
    print(f"ledger {'reconciled' if summary['balanced'] else 'NOT RECONCILED'}: {summary['arbitrages']}")
    print(f"load average {' '.join(f'{share:.2f}' for share in os.getloadavg())} on {os.cpu_count()} cores")


async def _gap(home: Path, store: MongoTradeStore, session: Session, *, is_killed: bool) -> float:
    """Return the seconds from the loss of the leader's region until another one has the right to decide."""
    places = {market.exchange: market.region for market in session.markets}
    while (decider := await decider_now(store)) is None:
        await SystemClock().sleep(POLL_SECONDS)
    lost, began = places[decider], steady_now()
    if is_killed:
        pid = json.loads((region_home(home, lost) / PROCESSES_FILE).read_text())["mongodb"][0]
        os.kill(pid, signal.SIGKILL)
    else:
        command_carrier(home, f"cut {lost}")
    while True:
        decider = await decider_now(store)
        gap = (steady_now() - began) / 1_000_000
        if decider is not None and places[decider] != lost:
            break
        if gap > MOST_SECONDS:
            raise SystemExit(f"after {gap:.0f} s nobody but {lost} decides.")
        await SystemClock().sleep(POLL_SECONDS)
    print(f"{lost} lost, {places[decider]} decides after {gap:.1f} s", flush=True)
    if not is_killed:
        command_carrier(home, "heal")
    await SystemClock().sleep(SETTLE_SECONDS)
    return gap


async def decider_now(store: TradeStore) -> str | None:
    """Return the exchange whose bot has the right to decide on the first partition; None if nobody has it, or the store
    does not answer."""
    try:
        now = await store.server_now()
        leases = {lease.exchange: lease for lease in await store.leases.all()}
    except StoreUnavailableError:
        return None
    lease = leases.get(decision_right(0))
    return None if lease is None or lease.until <= now else lease.holder.partition("@")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--market", choices=MARKETS, default="busy")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument(
        "--kill", action="store_true", help="kill the leader's mongod instead of cutting its region off"
    )
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.market, arguments.times, is_killed=arguments.kill))


if __name__ == "__main__":
    main()
