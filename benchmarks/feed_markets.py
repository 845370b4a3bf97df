"""Cores that a feed of many markets of one exchange takes, in a process of its own, at the simulated exchanges.

`python -m benchmarks.feed_markets [--markets N …] [--exchange NAME …] [--seconds N]`. A quote is a book whose ten best
levels changed. REST requests are comparisons and confirmations of books, failed ones among them.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import orjson

from benchmarks.market_feeds import MarketsCost
from benchmarks.processes import running
from simulators.catalogue import EXCHANGES
from streams.broker.embedded_broker import free_ports

PATIENCE_SECONDS = 120.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markets", type=int, nargs="+", default=[1, 5, 25])
    parser.add_argument("--exchange", choices=EXCHANGES, action="append")
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as home:
        server = (sys.executable, "-m", "simulators.server", "--home", home, "--port", str(port))
        with running(*server, "--no-limits"):
            _print_table(arguments, home, port)
    print("load average", *(f"{load:.2f}" for load in os.getloadavg()), f"on {os.cpu_count()} cores")


def _print_table(arguments: argparse.Namespace, home: str, port: int) -> None:
    print(f"{'':18}{'markets':>8}{'quotes/s':>10}{'CPU':>8}{'ms/1,000':>10}{'REST/s':>8}{'sockets':>9}{'dropped':>9}")
    for exchange in arguments.exchange or EXCHANGES:
        for markets in arguments.markets:
            cost = _measured(exchange, markets, home, port, arguments.seconds)
            used = f"{cost.quotes / cost.seconds:10.0f}{cost.cpu / cost.seconds:8.1%}"
            per_quotes = cost.cpu / max(1, cost.quotes) * 1e6
            rest = f"{cost.requests / cost.seconds:8.1f}{cost.sockets:9}{cost.dropped:9}"
            print(f"{exchange:18}{markets:8}{used}{per_quotes:10.0f}{rest}", flush=True)


def _measured(exchange: str, markets: int, home: str, port: int, seconds: float) -> MarketsCost:
    command = (sys.executable, "-m", "benchmarks.market_feeds", exchange, str(markets), home, str(port), str(seconds))
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_SECONDS + seconds).stdout
    return MarketsCost(**orjson.loads(answer))


if __name__ == "__main__":
    main()
