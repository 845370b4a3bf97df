"""The cost of detection as the number of markets grows: ticks per second, cores, memory, latency.

`python -m benchmarks.market_counts [--assets 1,4,20,50] [--each 20] [--seconds 30] [--partitions 1]`. For each number
of assets, on five exchanges each, it starts a log and a detection, as in a session, and nothing else; every market has
`--each` quotes a second. Latency and the floor beside it are those of `benchmarks.detection`.
"""

import argparse
import asyncio
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.detection import WARM_UP_SECONDS, Measured, broker, detection, read, write
from benchmarks.generated_ticks import GeneratedTicks, markets
from benchmarks.percentiles import percentiles_text
from benchmarks.processes import used_by
from exchanges.simulated_markets import simulated_bases
from launch.setup.data_dir import home_folder
from session.session import Services, Session
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topics import OPPORTUNITIES, TICKS

MEGABYTE = 1024**2
TITLES = (
    f"{'markets':>8}{'quotes/s':>10}{'opportunities/s':>17}{'to the opportunity p50/p95/p99':>34}{'plain reader':>24}"
)


@dataclass(frozen=True, slots=True)
class Load:
    """The rate of quotes, and how long they are measured."""

    each: float
    seconds: float
    partitions: int
    seed: int


def measured_assets(count: int, load: Load, jars: Path) -> None:
    """Measure and print one line, with a home, a broker and a detection for it alone, and the jars of another data
    folder."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "jars").symlink_to(jars)
        with broker(home) as (address, kafka):
            assets = simulated_bases()[:count]
            session = Session(
                "benchmark",
                "paper",
                home,
                Services(address, "", "benchmark", partitions=load.partitions),
                markets(assets),
                "USD",
            )
            asyncio.run(_measure(session, assets, kafka, load))


async def _measure(session: Session, assets: tuple[str, ...], kafka: psutil.Process, load: Load) -> None:
    await ensure_topics(session.services.kafka, session.services.partitions)
    ticks, rate, measured = GeneratedTicks(load.seed, assets), round(load.each * len(session.traded)), Measured()
    async with detection(session) as cep:
        await write(session, ticks, rate, WARM_UP_SECONDS)
        parts = {"Spark": [cep, *cep.children(recursive=True)], "Kafka": [kafka]}
        before = used_by(parts)
        async with TopicReader(session.services.kafka, (TICKS, OPPORTUNITIES), "latest") as reader:
            reading = asyncio.create_task(read(reader, measured))
            written = await write(session, ticks, rate, load.seconds)
            reading.cancel()
        cores = {name: (used - before[name]) / load.seconds for name, used in used_by(parts).items()}
        memory = sum(process.memory_info().rss for process in parts["Spark"]) / MEGABYTE
    taken = ", ".join(f"{name} {used:.2f}" for name, used in cores.items())
    ours, floor = (percentiles_text(one, 1) for one in (measured.opportunities, measured.rows))
    opportunities = len(measured.opportunities) / load.seconds
    print(
        f"{len(session.traded):8}{written / load.seconds:10,.0f}{opportunities:17,.1f}{ours:>34}{floor:>24}"
        f"  cores: {taken}; Spark {memory:,.0f} MB; load average {os.getloadavg()[0]:.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assets", default="1,4,20,50", help="numbers of assets, one after the other")
    parser.add_argument("--each", type=float, default=20.0, help="quotes a second of each market")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each number")
    parser.add_argument("--partitions", type=int, default=1, help="of the log")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    load = Load(arguments.each, arguments.seconds, arguments.partitions, arguments.seed)
    # a detection sets the data folder of its process, so ask for it once
    jars = (home_folder() / "jars").resolve()
    print(TITLES)
    for count in (int(number) for number in arguments.assets.split(",")):
        measured_assets(count, load, jars)


if __name__ == "__main__":
    main()
