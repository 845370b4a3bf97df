"""From the opportunity to both legs reserved, sent and closed: a session's bots beside a floor that keeps nothing.

`python -m benchmarks.two_legs [--count N] [--block N] [--pause SECONDS]`. The bots are processes of their own with
leases, ledger and transactions on a real mongod. The floor is one asyncio process that sizes, posts both orders at once
by the very same ccxt calls, waits for both to end, and writes nothing. Each of them trades on simulated exchanges of
its own, with the same seed; they take blocks of opportunities by turns, one opportunity at a time.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import psutil

from benchmarks.offers import Offers
from benchmarks.percentiles import PERCENTILES, percentiles
from benchmarks.processes import cpu_seconds
from benchmarks.traders import FLOOR, LINE_BYTES, OPPORTUNITY, READY, Step
from benchmarks.trading_services import (
    EXCHANGES,
    SETTINGS,
    START_SECONDS,
    mongod,
    session_of,
    simulated_exchanges,
    write_terms,
)
from market.decide.settings import Settings
from runtime.clock import SystemClock
from session.session import Session
from store.mongo.store import open_store

PATIENCE_SECONDS = 10.0
"""After this time the next one follows, whatever became of the last."""
WARM_UP = 5
MEANINGS = {"reserved": "both legs reserved", "sent": "both orders sent", "closed": "both legs ended, closed"}


@dataclass(slots=True)
class Side:
    """Bots or floor: the processes that get opportunities, and what they reported."""

    name: str
    offers: Offers
    parts: dict[str, list[psutil.Process]]
    """Part of the side → its processes."""
    arguments: list[Process] = field(default_factory=list)
    closed: dict[str, asyncio.Event] = field(default_factory=dict)
    moments: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """Opportunity → step → when, microseconds after its detection."""
    outcomes: Counter[str] = field(default_factory=Counter)
    cpu: Counter[str] = field(default_factory=Counter)
    """Part → milliseconds of CPU while this side was at work."""
    detected: dict[str, int] = field(default_factory=dict)

    async def trade(self) -> None:
        """Offer one opportunity, and wait from its detection until it is closed."""
        opportunity = await self.offers.next()
        identity = opportunity.opportunity_id
        closed = self.closed[identity] = asyncio.Event()
        self.detected[identity] = opportunity.detected_time
        line = OPPORTUNITY.dump_json(opportunity) + b"\n"
        for process in self.arguments:
            assert process.stdin is not None
            process.stdin.write(line)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await closed.wait()

    async def listen(self, process: Process) -> None:
        """Keep every step that a process reports."""
        assert process.stdout is not None
        async for line in process.stdout:
            step = Step(**orjson.loads(line))
            if step.arbitrage_id not in self.detected:
                continue  # of the warm-up
            steps = self.moments.setdefault(step.arbitrage_id, {})
            steps.setdefault(step.name, []).append(step.at - self.detected[step.arbitrage_id])
            if step.name == "closed" and not self.closed[step.arbitrage_id].is_set():
                self.outcomes[step.outcome] += 1
                self.closed[step.arbitrage_id].set()

    def forget(self) -> None:
        """Forget what the warm-up left."""
        self.moments.clear()
        self.detected.clear()
        self.outcomes.clear()
        self.cpu.clear()

    def milliseconds(self, step: str) -> list[float]:
        """Return the milliseconds until the last of both legs was sent, or until the first process knew that both were
        reserved or closed."""
        last = max if step == "sent" else min
        return sorted(last(steps[step]) / 1_000 for steps in self.moments.values() if step in steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="opportunities for each")
    parser.add_argument("--block", type=int, default=20, help="opportunities in a row for one of them")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between two opportunities")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bots, floor = asyncio.run(_measured(Path(folder), arguments.count, arguments.block, arguments.pause))
    asked = f"{arguments.count} opportunities each, {arguments.block} in a row, one at a time"
    print(f"{asked}, {arguments.pause} s between them")
    _show(bots, floor)
    print("load average", *(f"{load:.2f}" for load in os.getloadavg()), f"on {os.cpu_count()} cores")


async def _measured(home: Path, count: int, block: int, pause: float) -> tuple[Side, Side]:
    async with AsyncExitStack() as stack:
        mongodb, database = await stack.enter_async_context(mongod(home / "mongod"))
        sides = []
        for name, traders in (("bots", EXCHANGES), (FLOOR, (FLOOR,))):
            side, session = await _opened(home / name, mongodb, stack)
            await started(side, session, traders, stack)
            side.name = name
            sides.append(side)
        sides[0].parts["mongod"] = [database]
        for side in sides:
            await _block(side, WARM_UP, pause)
            side.forget()
        for begin in range(0, count, block):
            for side in sides:
                await _block(side, min(block, count - begin), pause)
        return sides[0], sides[1]


async def _opened(home: Path, mongodb: str, stack: AsyncExitStack) -> tuple[Side, Session]:
    """Open a side with exchanges and settings of its own."""
    port, exchanges = stack.enter_context(simulated_exchanges(home))
    session = session_of(home, mongodb, port)
    write_terms(session)
    async with asyncio.timeout(START_SECONDS):
        offers = await stack.enter_async_context(Offers(session))
    return Side(home.name, offers, {"simulated exchanges": [exchanges]}), session


async def started(
    side: Side, session: Session, traders: Sequence[str], stack: AsyncExitStack, settings: Settings = SETTINGS
) -> None:
    if FLOOR not in traders:
        async with await open_store(session) as store:
            await store.settings.create(settings)
    for name in traders:
        process = await stack.enter_async_context(_trader(name, session.home))
        side.arguments.append(process)
        side.parts.setdefault("traders", []).append(psutil.Process(process.pid))
        listening = asyncio.create_task(side.listen(process))
        stack.callback(listening.cancel)


@asynccontextmanager
async def _trader(name: str, home: Path) -> AsyncIterator[Process]:
    """Yield a process that is ready to trade."""
    command = (sys.executable, "-m", "benchmarks.traders", name, str(home))
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=LINE_BYTES)
    try:
        assert process.stdout is not None
        if (await process.stdout.readline()).strip() != READY:
            raise SystemExit(f"{name} could not be started.")
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _block(side: Side, count: int, pause: float) -> None:
    before = {part: sum(map(cpu_seconds, processes)) for part, processes in side.parts.items()}
    for _ in range(count):
        await side.trade()
        await SystemClock().sleep(pause)
    for part, processes in side.parts.items():
        side.cpu[part] += round((sum(map(cpu_seconds, processes)) - before[part]) * 1_000)


def _show(bots: Side, floor: Side) -> None:
    heads = "".join(f"{f'p{percentile}':>9}" for percentile in PERCENTILES)
    print(f"{'milliseconds from the opportunity until':42}{heads}")
    for step, meaning in MEANINGS.items():
        rows = {side.name: percentiles(side.milliseconds(step)) for side in (bots, floor)}
        for name, row in rows.items():
            if row:
                print(f"{meaning:28}{name:14}" + "".join(f"{figure:9.1f}" for figure in row))
        if all(rows.values()):
            ratios = (ours / peer for ours, peer in zip(*rows.values(), strict=True))
            print(f"{'':28}{'bots : floor':14}" + "".join(f"{ratio:9.2f}" for ratio in ratios))
    for side in (bots, floor):
        outcomes = dict(side.outcomes) | {"not closed": len(side.detected) - side.outcomes.total()}
        ends = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items() if count)
        costs = ", ".join(f"{part} {cost / len(side.detected):.0f}" for part, cost in side.cpu.items())
        print(f"{side.name:6} {ends}; milliseconds of CPU for each, pauses included: {costs}")


if __name__ == "__main__":
    main()
