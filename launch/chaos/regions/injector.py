"""Injects faults into regions: kills all processes of one, cuts and slows the links between them, and heals these."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

from launch.chaos.audit.partitions import Spell
from launch.chaos.regions.faults import ClockFault, LinkFault, RegionKill
from launch.chaos.schedule import role_of
from launch.errors import CannotStartError, LaunchError
from launch.supervisor.process_groups import signal_group
from launch.supervisor.supervisor import Supervisor
from runtime.backoff import backoff
from runtime.clock import SystemClock, wall_now

HEAL_ATTEMPTS = 8
"""About 40 s: the carrier may be restarting."""

Command = Callable[[str], object]
"""Carries out the words of `arbitrage region` about links and clocks, and blocks until they are in force. Raises
LaunchError if nobody is there to do it, CannotStartError for a mistake in them."""


class RegionInjector:
    """`supervisors`: region → the supervisor of its processes. Without `command` faults of links are not injected."""

    def __init__(self, supervisors: Mapping[str, Supervisor], command: Command | None = None) -> None:
        self._supervisors = supervisors
        self._command = command
        self._disturbed: dict[LinkFault | ClockFault, int | None] = {}
        """Faults in force → the number of its cut."""
        self.cuts: list[Spell] = []
        """Regions that were cut off for certain: from after the cut until before its healing."""

    def group_of(self, region: str, process: str) -> int | None:
        """Return the process group, as `Supervisor.group_of` of that region."""
        return self._supervisors[region].group_of(process)

    def kill(self, injection: RegionKill) -> bool:
        """Kill the processes. Returns whether any was running."""
        supervisor = self._supervisors[injection.region]
        names = [name for name in supervisor.names if role_of(name) == "bot" or not injection.bots_alone]
        groups = [group for name in names if (group := supervisor.group_of(name)) is not None]
        for group in groups:
            signal_group(group, signal.SIGKILL)
        return bool(groups)

    async def disturb(self, fault: LinkFault | ClockFault) -> bool:
        """Inject the fault, and return once it is in force; False if nobody is there to do it. Raises CannotStartError
        for links that do not exist."""
        if self._command is None:
            return False
        # also if the answer is lost: it may have been done
        self._disturbed[fault] = None
        try:
            await asyncio.to_thread(self._command, fault.command)
        except CannotStartError:
            del self._disturbed[fault]
            raise
        except LaunchError:
            await self.heal(fault)
            return False
        if fault.cut_off is not None:
            self._disturbed[fault] = len(self.cuts)
            self.cuts.append(Spell(fault.cut_off, wall_now()))
        return True

    async def heal(self, fault: LinkFault | ClockFault) -> None:
        """Heal the fault, if it is in force. Raises LaunchError if nobody is there to do it for long."""
        if fault not in self._disturbed:
            return
        number = self._disturbed[fault]
        if number is not None and self.cuts[number].until is None:
            self.cuts[number] = replace(self.cuts[number], until=wall_now())
        await self._persistently(fault.healing)
        del self._disturbed[fault]

    async def clear(self) -> None:
        """Heal all faults still in force. Raises as `heal`."""
        for fault in tuple(self._disturbed):
            await self.heal(fault)

    async def _persistently(self, line: str) -> None:
        if self._command is None:
            return
        for delay in islice(backoff(), HEAL_ATTEMPTS - 1):
            try:
                await asyncio.to_thread(self._command, line)
            except CannotStartError:
                raise
            except LaunchError:
                await SystemClock().sleep(delay)
            else:
                return
        await asyncio.to_thread(self._command, line)
