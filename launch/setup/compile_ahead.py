"""`python -m launch.setup.compile_ahead imports|kernel`: compiles, and keeps on disk, what a session or a backtest
would compile at its first start.

`imports` imports what a session's processes import, so that Python writes byte code of that: a dozen of them would
compile it at the same time. Of all else there is none until it is used; it would take a minute, and 300 MB.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from exchanges.ccxt.on_demand import load_ccxt_on_demand
from exchanges.simulated_markets import taker_fees

PARTS = (
    "launch.commands.entry_points",
    "launch.commands.processes",
    "launch.sessions.paper",
    "simulators.server",
    "pricefeeds.feed.feeder",
    "pricefeeds.settings_publisher",
    "bots.process",
    "cep.apps.hosts.average_app",
    "cep.detection.job",
    "ui.server.web_server",
    *(f"ui.pages.{page}" for page in ("backtests", "bots", "header", "health", "live", "opportunities", "trades")),
)


def compile_imports() -> None:
    # of ccxt only what the session's exchanges need, as in a bot
    load_ccxt_on_demand()
    for part in (*PARTS, *(f"ccxt.async_support.{exchange}" for exchange in taker_fees())):
        import_module(part)


def compile_kernel() -> None:
    import_module("cep.detection.kernel.log").load_kernel()


WORK: Mapping[str, Callable[[], None]] = {"imports": compile_imports, "kernel": compile_kernel}


def main(words: list[str]) -> None:
    for word in words:
        WORK[word]()


if __name__ == "__main__":
    main(sys.argv[1:])
