"""Milliseconds from a quote's receipt to the row of a stream app in Kafka.

`python -m benchmarks.app_latency [--seconds 30] [--rates 100 1000]`: `arbitrage app run` on a made-up log at each rate
of quotes, in a Kafka of its own. The app has a mean by market in a window of a second and gives a row for each quote.
Both times are by the machine's clock; the second is Kafka's own time of the row.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.percentiles import percentiles_text
from benchmarks.quiet_apps import READY_ALONE, ROLE, made_up_session
from launch.setup.data_dir import home_folder, read_session
from launch.setup.login_files import with_logins
from runtime.clock import steady_now
from streams.message_format import row_of
from streams.topic_reader import TopicReader
from streams.topics import APPS

TEXT = """@App:name('means')
partition with (exchange of quotes) begin
from quotes#window.time(1 sec) select symbol, received_time, avg(bid) as mean group by symbol insert into Means;
end;
"""
SETTLE_SECONDS = 20.0


async def latencies(seconds: float) -> list[float]:
    """Return the latencies of the rows that come within `seconds`, after the run has settled."""
    session = with_logins(read_session(home_folder()), ROLE)
    found: list[float] = []
    began = steady_now()
    async with TopicReader(session.services.kafka, (APPS,), "latest") as reader:
        async for record in reader.records():
            passed = (steady_now() - began) / 1_000_000 - SETTLE_SECONDS
            if passed > seconds:
                return found
            if passed > 0:
                found.append((record.time - row_of(record.value)["values"]["received_time"]) / 1_000)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="at each rate")
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 1_000], help="quotes a second")
    arguments = parser.parse_args()
    print(f"{'quotes/s':>8}{'rows':>10}   p50 / p95 / p99, ms")
    for rate in arguments.rates:
        with made_up_session(rate), tempfile.TemporaryDirectory() as scratch:
            app = Path(scratch) / "means.app"
            app.write_text(TEXT)
            words = (
                sys.executable,
                "-m",
                "launch.commands.main",
                "app",
                "run",
                str(app),
                "--json",
                f"{scratch}/rows.jsonl",
            )
            with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as command:
                if command.stdout is None or not any(READY_ALONE in line for line in command.stdout):
                    raise SystemExit("the app did not start")
                try:
                    found = asyncio.run(latencies(arguments.seconds))
                finally:
                    command.terminate()
        print(f"{rate:>8,}{len(found):>10,}   {percentiles_text(found, 1)}")
    print(f"load average {' '.join(f'{one:.1f}' for one in os.getloadavg())} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
