"""The whole demo as a user starts it: latency of each step of its trades, and CPU and memory of each part.

`python -m benchmarks.live_path [--market busy] [--seconds 120] [--config FILE]`. Starts `arbitrage paper` with a data
folder of its own. On the same broker and at the same time a loop writes as many rows as there are quotes and reads them
back: the floor of everything that goes through Kafka.

Then trading is switched to reduce-only until nothing is open, and halted, as an operator does it. A bot without a store
(`benchmarks.storeless_bot`) trades for as long on the same opportunities, market and accounts; the session's bots run
on meanwhile and trade nothing. It comes second, so detection is warmer for it. Its fills are not in the session's
ledger, which for that reason does not reconcile at the end. "tick to opportunity, all" covers both times.

Percentiles over trades are printed from 300 trades on.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.percentiles import percentiles
from benchmarks.processes import cpu_seconds
from benchmarks.storeless_bot import TERMS, TRADES, Terms
from benchmarks.trade_hops import hop_lines
from benchmarks.trade_outcomes import FEWEST, side_by_side
from launch.sessions.shutdown import FINISH_SECONDS, until
from launch.setup.data_dir import home_folder, read_session
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from market.decide.kill_switch import HALTED, TradingState
from market.decide.settings import Settings
from market.trade.arbitrages import Arbitrage
from runtime.clock import SystemClock, steady_now, wall_now
from session.session import Session
from session.simulated_market import MARKETS
from store.mongo.store import MongoTradeStore, open_store
from store.records.processes import ProcessKind
from streams.broker.embedded_broker import free_ports
from streams.topic_admin import client_settings
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter

FLOOR_TOPIC = "benchmark_floor"
FLOOR_BYTES = 600
"""The size of a quote with its levels."""
ROWS_A_SECOND = 100
READY_SECONDS = 180.0
END_SECONDS = 60.0
DETECTION_READY = "cep ready"
PERCENTILES = ("p50", "p95", "p99")
TRADERS: tuple[ProcessKind, ...] = ("bot", "mongodb")


@dataclass(slots=True)
class Parts:
    """The processes of a session, and what they had used when the measurement began."""

    home: Path
    supervisor: psutil.Process
    at: int = field(default_factory=steady_now)
    before: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.before = {name: cpu_seconds(process) for name, process in self.running()}

    def running(self) -> Iterator[tuple[str, psutil.Process]]:
        """Yield each part's name with its process and those that it started."""
        yield "supervisor", self.supervisor
        noted: dict[str, list[int]] = json.loads((self.home / "processes.json").read_text())
        for name, (pid, *_) in noted.items():
            with suppress(psutil.NoSuchProcess):
                first = psutil.Process(pid)
                for number, process in enumerate([first, *first.children(recursive=True)]):
                    yield name if number == 0 else f"{name}, child {number}", process

    def used(self) -> dict[str, tuple[float, float]]:
        """Return part → (cores since the beginning, megabytes now, with its share of shared pages)."""
        seconds = (steady_now() - self.at) / 1_000_000
        found = {}
        for name, process in self.running():
            with suppress(psutil.NoSuchProcess):
                cores = (cpu_seconds(process) - self.before.get(name, 0.0)) / seconds
                found[name] = cores, process.memory_full_info().pss / 1e6
        return found


@contextmanager
def paper(
    home: Path, market: str, seconds: float | None = None, more: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """Run `arbitrage paper`, with `more` words, for that long after all is ready, or until it is interrupted; its
    summary goes to summary.json."""
    (home / "jars").symlink_to((home_folder() / "jars").resolve())
    [port] = free_ports(1)
    words = ["paper", "--market", market, "--port", str(port), *more]
    words += [] if seconds is None else ["--seconds", str(seconds)]
    command = (sys.executable, "-m", "launch.commands.main", *words, "--json", str(home / "summary.json"))
    with (home / "said.txt").open("w") as said:
        environment = os.environ | {"ARBITRAGE_HOME": str(home)}
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, text=True, env=environment)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(END_SECONDS)


async def until_ready(
    home: Path, process: subprocess.Popen[str], line: str = DETECTION_READY, most_seconds: float = READY_SECONDS
) -> float:
    """Wait until detection is ready, or the session says `line`; return the seconds. Raises SystemExit if the session
    ends or takes too long."""
    began = steady_now()
    while line not in (home / "said.txt").read_text():
        waited = (steady_now() - began) / 1_000_000
        if process.poll() is not None or waited > most_seconds:
            raise SystemExit(f"the session did not become ready:\n{(home / 'said.txt').read_text()}")
        await SystemClock().sleep(0.1)
    return (steady_now() - began) / 1_000_000


@asynccontextmanager
async def floor_latencies(session: Session) -> AsyncIterator[list[float]]:
    """Yield the milliseconds from the writing of each row to its reading, measured while the block lasts."""
    await asyncio.to_thread(_create_topic, session.services.kafka)
    latencies: list[float] = []
    writer = TopicWriter(session.services.kafka)
    async with TopicReader(session.services.kafka, (FLOOR_TOPIC,), "latest") as reader:
        tasks = [asyncio.create_task(_write(writer)), asyncio.create_task(_read(reader, latencies))]
        try:
            yield latencies
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await writer.close()


def _create_topic(address: str) -> None:
    # keep the client until it is done: its requests end with it
    client = AdminClient(client_settings(address))
    for future in client.create_topics([NewTopic(FLOOR_TOPIC, 1, 1)]).values():
        future.result()


async def _write(writer: TopicWriter) -> None:
    while True:
        writer.write(FLOOR_TOPIC, str(wall_now()).encode().ljust(FLOOR_BYTES))
        await SystemClock().sleep(1 / ROWS_A_SECOND)


async def _read(reader: TopicReader, latencies: list[float]) -> None:
    async for record in reader.records():
        latencies.append((wall_now() - int(record.value)) / 1_000)


async def stop_trading(store: MongoTradeStore) -> Terms:
    """Wait until nothing is open and the session's bots send nothing more; return what they traded by until then."""
    settings = await _switched(store, "reduce_only")

    async def nothing_open() -> bool:
        return not await store.open_arbitrages()

    await until(nothing_open, FINISH_SECONDS)
    # single legs are unwound by now: halted at once, they would have been left
    await _switched(store, HALTED)
    now, leases = await store.server_now(), await store.leases.all()
    return Terms(settings, {lease.exchange: (lease.used, max(0, now - lease.used_at)) for lease in leases})


async def _switched(store: MongoTradeStore, state: TradingState) -> Settings:
    switched = await store.settings.amend(lambda now: now.model_copy(update={"trading_state": state}), "benchmark")
    if switched is None:
        raise SystemExit("the session has no settings.")
    return switched


async def traded_without_store(home: Path, terms: Terms, seconds: float) -> list[Arbitrage]:
    command = (sys.executable, "-m", "benchmarks.storeless_bot", str(home), str(seconds))
    # a process session of its own, as each part of the demo has
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True)
    try:
        async with asyncio.timeout(seconds + END_SECONDS):
            traded, _ = await process.communicate(TERMS.dump_json(terms))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise SystemExit("the bot without a store failed.")
    return TRADES.validate_json(traded)


async def measure(market: str, seconds: float, more: Sequence[str] = ()) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with paper(home, market, more=more) as process:
            ready = await until_ready(home, process)
            session = with_logins(read_session(home), SUPERVISOR)
            parts = Parts(home, psutil.Process(process.pid))
            async with floor_latencies(session) as floor:
                await SystemClock().sleep(seconds)
            used, load = parts.used(), os.getloadavg()
            async with await open_store(session) as store:
                terms = await stop_trading(store)
                ours = await store.session_arbitrages()
                theirs = await traded_without_store(home, terms, seconds)
            load_beside = os.getloadavg()
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(process.wait, END_SECONDS)
        print(f"{market}, {seconds:.0f} s; detection ready after {ready:.1f} s")
        _print_latencies(json.loads((home / "summary.json").read_text()), len(ours), floor)
        print("\n".join((*hop_lines(ours), *side_by_side(ours, theirs))))
        _print_parts(used, len(ours), seconds)
        for name, one in (("session", load), ("without store", load_beside)):
            print(f"load average {' '.join(f'{share:.2f}' for share in one)} on {os.cpu_count()} cores, {name}")


def _print_latencies(summary: dict[str, Any], trades: int, floor: Sequence[float]) -> None:
    """Print the session's own summary, which has only percentiles."""
    print(f"{'ms':34}" + "".join(f"{name:>9}" for name in PERCENTILES))
    print(f"{'a row through Kafka and back':34}" + "".join(f"{figure:9.1f}" for figure in percentiles(floor)))
    stages, steps = summary["latency_ms"], summary["step_ms"]
    print(_latency_line("tick to opportunity, all", stages["opportunity"] or {}))
    if trades < FEWEST:
        print(f"of {trades} trades, too few: tick to reserved, tick to shown, both filled to shown")
        return
    rows = {"tick to reserved": stages["reserved"], "tick to shown": stages["shown"]}
    ends = {f"both filled to {end}": steps[f"filled_to_{end}"] for end in ("shown", "ended")}
    for title, row in (rows | ends).items():
        print(_latency_line(title, row or {}))


def _latency_line(title: str, row: dict[str, float]) -> str:
    return f"{title:34}" + "".join(f"{row.get(name, float('nan')):9.1f}" for name in PERCENTILES)


def _print_parts(used: dict[str, tuple[float, float]], trades: int, seconds: float) -> None:
    print(f"{'part':34}{'cores':>9}{'MB':>9}")
    for name, (cores, megabytes) in sorted(used.items(), key=lambda one: -one[1][0]):
        print(f"{name:34}{cores:9.3f}{megabytes:9.0f}")
    cores, megabytes = (sum(column) for column in zip(*used.values(), strict=True))
    print(f"{'all':34}{cores:9.3f}{megabytes:9.0f}")
    traders = sum(cores for name, (cores, _) in used.items() if name.startswith(TRADERS))
    if trades:
        print(
            f"CPU of bots and mongod for each arbitrage, pauses included: {1_000 * traders * seconds / trades:.0f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--market", choices=MARKETS, default="busy")
    parser.add_argument("--seconds", type=float, default=120.0, help="of each, after all is ready")
    parser.add_argument("--config", type=Path, help="of the session: assets, exchanges")
    arguments = parser.parse_args()
    more = () if arguments.config is None else ("--config", str(arguments.config.resolve()))
    asyncio.run(measure(arguments.market, arguments.seconds, more))


if __name__ == "__main__":
    main()
