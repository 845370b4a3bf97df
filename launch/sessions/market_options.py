"""The simulated market that a session is started with."""

from collections.abc import Iterable
from pathlib import Path

from datasets.errors import ImportRejectedError
from launch.errors import CannotStartError
from launch.sessions.recorded_tape import tape_markets
from launch.sessions.tick_set_names import named_set
from market.instruments.markets import Market
from session.simulated_market import MarketName, SimulatedMarket


def simulated_market(home: Path, name: MarketName, tape: str | None, markets: Iterable[Market]) -> SimulatedMarket:
    """`tape` is a tick set's or a recorded session's name. Raises CannotStartError, one sentence, where it has none of
    an asset of the `markets`."""
    if tape is None:
        return SimulatedMarket(name)
    if name == "storm":
        raise CannotStartError("--tape: a storm draws its own prices; choose --market calm or busy.")
    try:
        tick_set = named_set(home, (tape,))
        tape_markets(tick_set, {market.base for market in markets if not market.is_fx})
    except (CannotStartError, ImportRejectedError) as error:
        raise CannotStartError(f"--tape: {error}") from error
    return SimulatedMarket(name, tick_set.manifest.name, tick_set.folder.resolve())
