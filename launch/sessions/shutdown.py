"""The steps after Ctrl-C or the end of `--seconds` in a session: stop reservations, drain open arbitrages, fetch
closing balances, check the ledger."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

from launch.errors import LaunchError
from launch.sessions.counters import SessionCounters, seconds_since
from launch.sessions.summary import Activity, latencies_of, summary_of
from launch.sessions.summary_lines import summary_lines
from launch.setup.data_dir import write_atomically
from launch.supervisor.slow_steps import reported_if_slow
from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now
from session.session import Session
from store.errors import LoginRefusedError, StoreError
from store.mongo.store import MongoTradeStore

log = logging.getLogger(__name__)

FINISH_SECONDS = 15.0
SILENT_SECONDS = 5.0
BALANCE_SECONDS = 60.0
"""Limits that are used up are free again within a minute, the longest window of an exchange that ccxt alone knows."""
OUTAGE_SECONDS = 60.0
POLL_SECONDS = 0.1
CLOCKS_APART = 86_400 * MICROSECONDS
"""How far the store's clock may be from the one that a session's start was read from."""

Result = TypeVar("Result")


async def finish_trading(
    store: MongoTradeStore,
    session: Session,
    idle: Collection[str] = (),
    echo: Callable[[str], None] = log.info,
    stopped: asyncio.Event | None = None,
) -> None:
    """Stop new reservations, let open arbitrages finish or unwind, wait for each bot's closing balances; bounded in
    time.

    `idle`: exchanges whose bots a user stopped. Their closing balances were fetched then, if they traded at all.
    `stopped`: set if the user stops us again meanwhile; that ends the long wait for balances.
    """
    traded = {market.exchange for market in session.traded}
    if await store.reservations_open():
        # stale ones, of bots that were stopped and restarted
        await store.balances.discard_closing(sorted(traded - set(idle)))
    await store.stop_reservations()

    async def nothing_open() -> bool:
        return not await store.open_trades()

    async def without_balances() -> list[str]:
        before, after = await store.balances.of_session()
        return sorted((traded - set(idle) | before.keys()) - after.keys())

    async def balances_taken() -> bool:
        return not await without_balances()

    line = f"waiting up to {FINISH_SECONDS:.0f} s for open arbitrages to end or unwind"
    await reported_if_slow(until(nothing_open, FINISH_SECONDS), lambda: line, echo)
    if not await until(balances_taken, SILENT_SECONDS):
        # none, if the last ones came between the two looks
        if names := ", ".join(await without_balances()):
            why = "to check the ledger" if stopped is None else "to check the ledger; Ctrl-C ends the wait"
            echo(f"waiting up to {BALANCE_SECONDS:.0f} s for the closing balances of {names}, {why}")
        await until(balances_taken, BALANCE_SECONDS, stopped)


async def retry_while_down(
    work: Callable[[], Awaitable[Result]],
    outage: type[Exception] = StoreError,
    seconds: float = OUTAGE_SECONDS,
    echo: Callable[[str], None] = log.info,
) -> Result:
    """Retry `work` for that long while MongoDB or Kafka is unavailable, and say so once. Raises LaunchError if it stays
    so, and at once for a login that is refused.

    The time begins with the first failure: before it the work may have waited for longer than that.
    """
    deadline, delays = None, backoff()
    while True:
        try:
            return await work()
        except LoginRefusedError as error:
            raise LaunchError(str(error)) from error
        except outage as error:
            if deadline is None:
                deadline = steady_now() + int(seconds * MICROSECONDS)
                echo(f"{str(error).rstrip('.')}; trying again for up to {seconds:.0f} s")
            if steady_now() > deadline:
                raise LaunchError(f"{str(error).rstrip('.')}, for {seconds:.0f} s.") from error
        await SystemClock().sleep(next(delays))


async def activity_of(
    store: MongoTradeStore, session: Session, meter: SessionCounters, restarts: Mapping[str, int], started: int
) -> Activity:
    """Return the session's activity, from the store and the counters."""
    arbitrages, cycles = await store.session_arbitrages(), await store.session_cycles()
    before, after = await store.balances.of_session()
    return Activity(
        quotes=meter.quotes,
        opportunities=meter.opportunities,
        cycle_opportunities=meter.cycle_opportunities,
        arbitrages=arbitrages,
        cycles=cycles,
        rejections=await store.rejection_counts(),
        rejected_profit=await store.rejected_profit(),
        episodes=await store.episode_counts(),
        fills=await store.fills(),
        markets=session.markets,
        before=before,
        after=after,
        currency=session.settlement_currency,
        latencies=latencies_of(arbitrages, meter.opportunity_latencies, meter.shown_latencies),
        seconds_to_first_opportunity=seconds_since(started, meter.first_opportunity_at),
        restarts=restarts,
        seed=session.seed,
        removed=await store.removed_trades(),
        session_id=session.session_id,
        transfers=await store.transfers.known(max(0, session.started_at - CLOCKS_APART)),
    )


def report(activity: Activity, json_file: Path | None, echo: Callable[[str], None]) -> int:
    """Print the summary and write the JSON document. Returns exit code 0 only if the ledger reconciles."""
    summary = summary_of(activity)
    if json_file is not None:
        write_atomically(json_file, json.dumps(summary, indent=2).encode())
    for line in summary_lines(summary):
        echo(line)
    return 0 if summary["balanced"] else 1


async def until(done: Callable[[], Awaitable[bool]], seconds: float, stopped: asyncio.Event | None = None) -> bool:
    """Poll until `done` is true, the time is up or the user stops us. Returns whether it is true."""
    deadline = steady_now() + int(seconds * MICROSECONDS)
    while not await done():
        if steady_now() > deadline or (stopped is not None and stopped.is_set()):
            return False
        await SystemClock().sleep(POLL_SECONDS)
    return True
