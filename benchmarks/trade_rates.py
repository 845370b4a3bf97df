"""How many trades a second two bots and mongod carry: opportunities at fixed rates, without waiting for the last one.

`python -m benchmarks.trade_rates [--rates 5,10,20,30,40] [--seconds 30]`. Bots, exchanges and opportunities are those
of `benchmarks.two_legs`, without the exchanges' rate limits; both directions are offered by turns. At the end nothing
may be open, and the exchanges' balances must be the opening ones plus what the ledger booked.
"""

import argparse
import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.offers import Offers
from benchmarks.percentiles import percentiles_text
from benchmarks.processes import cpu_seconds
from benchmarks.trading_services import (
    EXCHANGES,
    SETTINGS,
    START_SECONDS,
    mongod,
    session_of,
    simulated_exchanges,
    write_terms,
)
from benchmarks.two_legs import Side, started
from exchanges.accounts.exchange_account import open_session_account
from launch.sessions.summary import balance_differences
from runtime.clock import SystemClock, steady_now
from session.session import Session
from store.mongo.store import MongoTradeStore, open_store

FRESH_SECONDS = 0.25
END_SECONDS = 10.0
MANY = SETTINGS.model_copy(update={"max_open_arbitrages": 100})


async def load(side: Side, rate: int, seconds: float) -> None:
    """Offer opportunities at `rate` a second, and wait until everything that they began is over."""
    began, tasks = steady_now(), []
    for number in range(int(rate * seconds)):
        await SystemClock().sleep(max(0.0, number / rate - (steady_now() - began) / 1_000_000))
        tasks.append(asyncio.create_task(side.trade()))
    await asyncio.wait(tasks, timeout=END_SECONDS)


def shown(side: Side, rate: int, seconds: float, cpu: float) -> str:
    closed = side.outcomes["closed"]
    columns = "".join(f"{percentiles_text(side.milliseconds(step), 0):>26}" for step in ("sent", "closed"))
    ends = ", ".join(f"{count} {outcome}" for outcome, count in side.outcomes.items() if outcome != "closed")
    each = 1_000 * cpu / closed if closed else float("nan")
    return f"{rate:10}{closed / seconds:10.1f}{columns}{each:10.0f}  {ends}"


async def measure(home: Path, rates: Sequence[int], seconds: float) -> None:
    async with AsyncExitStack() as stack:
        mongodb, database = await stack.enter_async_context(mongod(home / "mongod"))
        port, _ = stack.enter_context(simulated_exchanges(home / "bots"))
        session = session_of(home / "bots", mongodb, port)
        write_terms(session)
        async with asyncio.timeout(START_SECONDS):
            offers = await stack.enter_async_context(Offers(session, FRESH_SECONDS))
        side = Side("bots", offers, {"mongod": [database]})
        await started(side, session, EXCHANGES, stack, MANY)
        store = await stack.enter_async_context(await open_store(session))
        processes = [process for part in side.parts.values() for process in part]
        sent, closed = "both sent p50/p95/p99", "closed p50/p95/p99"
        print(f"{'offered/s':>10}{'closed/s':>10}{sent:>26}{closed:>26}{'CPU ms':>10}  others")
        for rate in (rates[0], *rates):  # the first one warms up
            before = sum(map(cpu_seconds, processes))
            await load(side, rate, seconds)
            print(shown(side, rate, seconds, sum(map(cpu_seconds, processes)) - before))
            side.forget()
        await _print_books(session, store)
    print("load average", *(f"{one:.2f}" for one in os.getloadavg()), f"on {os.cpu_count()} cores")


async def _print_books(session: Session, store: MongoTradeStore) -> None:
    """Print what is open, why opportunities were refused, and whether the ledger matches the exchanges."""
    after = {}
    for exchange in session.exchanges:
        account = open_session_account(session, exchange, {})
        after[exchange] = await account.balances()
        await account.close()
    before, _ = await store.balances.of_session()
    fills = await store.fills()
    differences = balance_differences(before, after, fills, session.markets)
    states = Counter(arbitrage.state for arbitrage in await store.session_arbitrages())
    print("arbitrages:", ", ".join(f"{count} {state}" for state, count in states.items()))
    print(
        "refused:",
        ", ".join(f"{count} {reason}" for reason, count in (await store.rejection_counts()).items()) or "none",
    )
    print(f"ledger of {len(fills)} fills", "reconciled" if not differences else f"NOT RECONCILED: {differences}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", default="5,10,20,30,40", help="opportunities a second, one rate after the other")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each rate")
    arguments = parser.parse_args()
    rates = [int(rate) for rate in arguments.rates.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), rates, arguments.seconds))


if __name__ == "__main__":
    main()
