"""Order-book messages from the socket to the quote: our feed beside plain ccxt.pro, on the very same messages.

Microseconds are of the reader's CPU per message; messages/s are by the wall. Each reader is a process of its own.
`python -m benchmarks.feed_path [--messages N] [--rounds N] [--exchange NAME …]`
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import orjson

from benchmarks.messages import EXCHANGES
from benchmarks.readers import PEER, READERS, Cost

PATIENCE_SECONDS = 300.0
PACED_SECONDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pace", type=int, default=300, help="messages a second in the second table")
    parser.add_argument("--exchange", choices=EXCHANGES, action="append")
    arguments = parser.parse_args()
    exchanges = arguments.exchange or EXCHANGES
    print(f"As fast as they are taken: {arguments.messages:,} messages, median of {arguments.rounds} rounds")
    _table(exchanges, arguments.messages, arguments.rounds, pace=0)
    paced = min(arguments.messages, arguments.pace * PACED_SECONDS)
    print(f"One at a time: {paced:,} messages, {arguments.pace} a second, one round")
    _table(exchanges, paced, 1, arguments.pace)


def _table(exchanges: Sequence[str], messages: int, rounds: int, pace: int) -> None:
    print(f"{'':18}{'reader':20}{'µs/message':>12}{'messages/s':>12}{'CPU s':>8}{'books':>9}{'ccxt.pro = 1':>14}")
    with served(messages) as address:
        for exchange in exchanges:
            _show(exchange, _costs(exchange, address, rounds, pace), messages)
    print("load average", *(f"{load:.2f}" for load in os.getloadavg()), f"on {os.cpu_count()} cores")


@contextmanager
def served(messages: int) -> Iterator[str]:
    """Return the address of a server of prepared streams."""
    command = (sys.executable, "-m", "benchmarks.message_server", str(messages))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


def measured(reader: str, exchange: str, address: str, pace: int) -> Cost:
    command = (sys.executable, "-m", "benchmarks.readers", reader, exchange, f"{address}/{exchange}", str(pace))
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_SECONDS).stdout
    return Cost(**orjson.loads(answer))


def _costs(exchange: str, address: str, rounds: int, pace: int) -> dict[str, list[Cost]]:
    """Run the rounds in turn, so that a busy moment of the machine affects all."""
    costs: dict[str, list[Cost]] = {reader: [] for reader in READERS}
    for _ in range(rounds):
        for reader in READERS:
            costs[reader].append(measured(reader, exchange, address, pace))
    return costs


def _show(exchange: str, costs: dict[str, list[Cost]], messages: int) -> None:
    cpu = {reader: statistics.median(cost.cpu for cost in rounds) for reader, rounds in costs.items()}
    for reader, rounds in costs.items():
        wall = statistics.median(cost.wall for cost in rounds)
        books = int(statistics.median(cost.quotes for cost in rounds))
        figures = f"{cpu[reader] / messages * 1e6:12.1f}{messages / wall:12,.0f}{cpu[reader]:8.2f}{books:9,}"
        print(f"{exchange:18}{reader:20}{figures}{cpu[reader] / cpu[PEER]:14.2f}", flush=True)


if __name__ == "__main__":
    main()
