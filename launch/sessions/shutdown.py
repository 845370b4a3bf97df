"""The end of a session: nothing new, finish what is open, ask the exchanges for their balances, check the books."""

import json
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import TypeVar

from launch.errors import LaunchError
from launch.sessions.session_counters import SessionCounters, seconds_since
from launch.sessions.summary import Activity, latencies_of, summary_of
from launch.sessions.summary_lines import summary_lines
from launch.setup.data_dir import write_atomically
from market.time_units import MICROSECONDS
from session.backoff import backoff
from session.clock import SystemClock, wall_now
from session.session import Session
from store.errors import StoreError
from store.mongo.mongo_store import MongoTradeStore

FINISH_SECONDS = 15.0
BALANCE_SECONDS = 15.0
STORE_SECONDS = 60.0
POLL_SECONDS = 0.1

Result = TypeVar("Result")


async def finish_trading(store: MongoTradeStore, session: Session, idle: Collection[str] = ()) -> None:
    """Stop new reservations, let open arbitrages finish or unwind, let each bot fetch its balances; bounded in time.

    `idle`: exchanges whose bots a user stopped. Theirs were fetched then, if they traded at all.
    """
    traded = {market.exchange for market in session.traded}
    if await store.reservations_open():
        # of bots that were stopped and trade again; later it would be what they say in the end
        await store.discard_closing(sorted(traded - set(idle)))
    await store.stop_reservations()

    async def nothing_open() -> bool:
        return not await store.open_arbitrages()

    async def balances_taken() -> bool:
        before, after = await store.session_balances()
        return set(after) >= traded - set(idle) | before.keys()

    await until(nothing_open, FINISH_SECONDS)
    await until(balances_taken, BALANCE_SECONDS)


async def with_the_store_back(work: Callable[[], Awaitable[Result]]) -> Result:
    """`work` from its start again while MongoDB is away, for a minute. Raises LaunchError where it stays away."""
    deadline, delays = wall_now() + int(STORE_SECONDS * MICROSECONDS), backoff()
    while True:
        try:
            return await work()
        except StoreError as error:
            if wall_now() > deadline:
                raise LaunchError(f"the session could not be closed: {error}") from error
        await SystemClock().sleep(next(delays))


async def activity_of(
    store: MongoTradeStore, session: Session, meter: SessionCounters, restarts: dict[str, int], started: int
) -> Activity:
    """What the session did, from the store and from outside."""
    arbitrages = await store.session_arbitrages()
    before, after = await store.session_balances()
    return Activity(
        quotes=meter.quotes,
        opportunities=meter.opportunities,
        arbitrages=arbitrages,
        rejections=await store.rejection_counts(),
        rejected_profit=await store.rejected_profit(),
        fills=await store.fills(),
        markets=session.markets,
        before=before,
        after=after,
        currency=session.settlement_currency,
        latencies=latencies_of(arbitrages, meter.opportunity_latencies, meter.shown_latencies),
        seconds_to_first_opportunity=seconds_since(started, meter.first_opportunity_at),
        restarts=restarts,
        seed=session.seed,
    )


def report(activity: Activity, json_file: Path | None, say: Callable[[str], None]) -> int:
    """Say what happened, write the document; the exit code: 0 only where the books balance."""
    summary = summary_of(activity)
    if json_file is not None:
        write_atomically(json_file, json.dumps(summary, indent=2).encode())
    for line in summary_lines(summary):
        say(line)
    return 0 if summary["balanced"] else 1


async def until(done: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    """Ask until it is true, or so many seconds have passed; whether it is."""
    deadline = wall_now() + int(seconds * MICROSECONDS)
    while not await done():
        if wall_now() > deadline:
            return False
        await SystemClock().sleep(POLL_SECONDS)
    return True
