"""The clock of a simulated exchange, with an adjustable offset."""

from dataclasses import dataclass

from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.faults.fault_kinds import ExchangeFaults

_SKEW_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class SkewedClock:
    """The clock of the exchange's answers and of its signature checks; durations are not affected."""

    clock: Clock
    faults: ExchangeFaults

    def now(self) -> int:
        active = None if self.faults.is_quiet else self.faults.newest("clock_skew")
        if active is None:
            return self.clock.now()
        skew = _SKEW_SECONDS if active.fault.skew_seconds is None else active.fault.skew_seconds
        return self.clock.now() + round(skew * MICROSECONDS)

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
