"""A clock that stands still until a test moves it."""

import asyncio
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from runtime.clock import wall_now


@dataclass
class SteppedClock:
    """Begins at the machine's time, so that what is signed by it is in time. `sleep` ends when `advance` gets there."""

    time: int = field(default_factory=wall_now)
    sleepers: list[tuple[int, asyncio.Future[None]]] = field(default_factory=list)

    @classmethod
    def for_slow_clients(cls) -> "SteppedClock":
        """Return some seconds ahead, so that who signs by the machine's time while it stands still is in time for
        longer: Binance takes no request of a second ahead of it, and by default of ccxt those of ten seconds before."""
        return cls(wall_now() + 8 * MICROSECONDS)

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        awake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sleepers.append((self.time + round(seconds * MICROSECONDS), awake))
        await awake

    def advance(self, seconds: float) -> None:
        self.time += round(seconds * MICROSECONDS)
        for due, awake in self.sleepers:
            if due <= self.time and not awake.done():
                awake.set_result(None)
        self.sleepers = [sleeper for sleeper in self.sleepers if not sleeper[1].done()]
