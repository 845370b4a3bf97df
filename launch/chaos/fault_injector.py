"""Injects the faults of a schedule into the running system, and clears all of them in the end."""

import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace

import aiohttp
import psutil

from bots.lease_keeper import holder_process
from launch.chaos.audit.partitions import Spell
from launch.chaos.audit.records import Stopped
from launch.chaos.regions.faults import ClockFault, LinkFault, RegionKill
from launch.chaos.regions.injector import RegionInjector
from launch.chaos.schedule import (
    InjectedFault,
    InjectedSetting,
    Injection,
    Kill,
    KillAtOrder,
    Pause,
    exchange_of,
    role_of,
)
from launch.chaos.settings_tuner import SettingsTuner
from launch.errors import LaunchError, NoResultError
from launch.supervisor.process_groups import signal_group
from launch.supervisor.supervisor import Supervisor
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now, wall_now
from runtime.tasks import run_all
from session.session import Session
from simulators.server import ACCOUNTS
from simulators.web.fault_admin import token_path
from store.errors import StoreUnavailableError
from store.mongo.store import open_store

_ADMIN_SECONDS = 30.0
_ORDER_SECONDS = 12.0
"""How long a kill waits for an order."""
_LOOK_SECONDS = 0.002

Echo = Callable[[str], None]


class FaultInjector:
    """Injects faults into the processes of one session; `injected` counts those that were carried out, by kind.

    With `regions`, `session` is that of the data folder where the simulated exchanges run, and processes of injections
    that name a region are that region's.
    """

    def __init__(
        self,
        session: Session,
        supervisor: Supervisor,
        tuner: SettingsTuner,
        echo: Echo,
        regions: RegionInjector | None = None,
    ) -> None:
        self.session = session
        self._supervisor = supervisor
        self._tuner = tuner
        self._say = echo
        self._regions = regions or RegionInjector({})
        self._paused: dict[tuple[str | None, str], set[int]] = {}
        """Region and process → its paused process groups."""
        self._slow: list[Spell] = []
        self._stops: dict[str, list[Stopped]] = {}
        """Bot → its pauses."""
        self.injected: Counter[str] = Counter()

    async def run(self, schedule: Sequence[Injection]) -> None:
        """Inject each fault at its second from now on, independently of the others; returns once the last one is over.
        Raises LaunchError if one cannot be injected or taken back."""
        began = wall_now()

        async def inject_in_time(injection: Injection) -> None:
            await SystemClock().sleep(max(0.0, injection.at - (wall_now() - began) / MICROSECONDS))
            await self._inject(injection)

        if schedule:
            # not a TaskGroup: a fault that fails must raise one error, not a group of one
            await run_all(*map(inject_in_time, schedule))

    async def clear(self) -> None:
        """Resume paused processes, heal links, clear the exchanges' faults and restore the settings."""
        for region, process in tuple(self._paused):
            self._continue(region, process)
        await self._regions.clear()
        await self._admin("DELETE", None)
        await self._tuner.restore()

    def stops_of_bots(self) -> list[Stopped]:
        """Return the pauses of bots so far."""
        return [stop for stops in self._stops.values() for stop in stops]

    def slow_exchanges(self) -> list[Spell]:
        """Return when requests to exchanges were delayed so far, until the last of them could have arrived."""
        return list(self._slow)

    async def observed_faults(self) -> dict[str, int]:
        """Return kind of fault → how often it took effect on the exchanges."""
        strikes: Counter[str] = Counter()
        answer = await self._admin("GET", None)
        rows = answer.get("strikes")
        for counts in rows.values() if isinstance(rows, dict) else ():
            strikes.update(counts)
        return dict(strikes)

    async def _inject(self, injection: Injection) -> None:
        if isinstance(injection, InjectedFault):
            self._say(f"{injection.at:7.2f} s  {injection.description}")
            began = wall_now()
            await self._admin("POST", injection)
            self._note_delay(injection, began)
        elif isinstance(injection, InjectedSetting):
            self._say(f"{injection.at:7.2f} s  {injection.description}")
            await self._change_settings(injection)
            self.injected[injection.kind] += 1
        elif isinstance(injection, KillAtOrder):
            is_injected = await self._kill_at_order(injection)
            self._say(f"{injection.at:7.2f} s  {injection.description}{'' if is_injected else ' (none came)'}")
            self.injected[injection.kind] += is_injected
        else:
            is_injected = await self._strike(injection)
            why_not = " (no carrier)" if isinstance(injection, LinkFault | ClockFault) else " (already down)"
            self._say(f"{injection.at:7.2f} s  {injection.description}{'' if is_injected else why_not}")
            self.injected[injection.kind] += is_injected
            if is_injected and isinstance(injection, Pause | LinkFault | ClockFault):
                await self._undo(injection)

    async def _strike(self, injection: Kill | Pause | LinkFault | ClockFault | RegionKill) -> bool:
        """Inject one fault. Returns False if its target, or whatever carries it out, is down."""
        if isinstance(injection, LinkFault | ClockFault):
            return await self._regions.disturb(injection)
        if isinstance(injection, RegionKill):
            return self._regions.kill(injection)
        return self._kill(injection) if isinstance(injection, Kill) else self._pause(injection)

    async def _undo(self, injection: Pause | LinkFault | ClockFault) -> None:
        await SystemClock().sleep(injection.seconds)
        if isinstance(injection, LinkFault | ClockFault):
            await self._regions.heal(injection)
        else:
            self._continue(injection.region, injection.process)

    def _note_delay(self, injection: InjectedFault, began: int) -> None:
        fault = injection.fault
        if fault.kind == "latency":
            lasts = int((fault.seconds or 0) * MICROSECONDS) + (fault.milliseconds or 0) * 1_000
            self._slow += [Spell(name, began, wall_now() + lasts) for name in self.session.accounts_at[fault.exchange]]

    def _group_of(self, injection: Kill | Pause) -> int | None:
        if injection.region is not None:
            return self._regions.group_of(injection.region, injection.process)
        return self._supervisor.group_of(injection.process)

    def _kill(self, injection: Kill) -> bool:
        group = self._group_of(injection)
        if group is None:
            return False
        victim = group if injection.target == "python" else _jvm_of(group)
        with suppress(ProcessLookupError):
            if victim is not None:
                os.kill(victim, signal.SIGKILL)
                return True
        return False

    async def _kill_at_order(self, injection: KillAtOrder) -> bool:
        """Kill the bot at its next order. Returns False if nobody acts for the exchange, or no order comes soon."""
        journal = self.session.home / ACCOUNTS / f"{injection.exchange}.jsonl"
        bot = await self._bot_acting_for(injection.exchange)
        if bot is None or not journal.exists():
            return False
        began, size = steady_now(), journal.stat().st_size
        while journal.stat().st_size == size:
            if steady_now() - began > _ORDER_SECONDS * MICROSECONDS:
                return False
            await SystemClock().sleep(_LOOK_SECONDS)
        with suppress(psutil.NoSuchProcess):
            bot.kill()
            return True
        return False

    async def _bot_acting_for(self, exchange: str) -> psutil.Process | None:
        """Return the process that has the exchange's lease, as the store says now; None without, or without a store."""
        with suppress(StoreUnavailableError, psutil.NoSuchProcess):
            async with await open_store(self.session) as store:
                leases = await store.leases.all()
            for lease in leases:
                if lease.exchange == exchange and lease.holder:
                    bot = psutil.Process(holder_process(lease.holder))
                    # the number may be another program's by now
                    return bot if bot.ppid() == os.getpid() else None
        return None

    def _pause(self, injection: Pause) -> bool:
        group = self._group_of(injection)
        if group is None:
            return False
        paused = injection.region, injection.process
        if role_of(injection.process) == "bot" and paused not in self._paused:
            own = self._stops.setdefault(injection.process, [])
            own.append(Stopped(exchange_of(injection.process), wall_now()))
        self._paused.setdefault(paused, set()).add(group)
        signal_group(group, signal.SIGSTOP)
        return True

    def _continue(self, region: str | None, process: str) -> None:
        """Resume the process if it is paused."""
        groups = self._paused.pop((region, process), set())
        for group in groups:
            signal_group(group, signal.SIGCONT)
        if groups and process in self._stops:
            own = self._stops[process]
            own[-1] = replace(own[-1], until=wall_now())

    async def _change_settings(self, injection: InjectedSetting) -> None:
        await self._tuner.change(dict(injection.changes))
        await SystemClock().sleep(injection.seconds)
        await self._tuner.restore(name for name, _ in injection.changes)

    async def _admin(self, method: str, injection: InjectedFault | None) -> dict[str, object]:
        """Call the exchanges' admin route. Raises NoResultError if they do not answer: they themselves are never
        killed; LaunchError if they reject it."""
        body = None
        if injection is not None:
            body = {name: value for name, value in asdict(injection.fault).items() if value is not None}
        try:
            return await self._request(method, body)
        except (aiohttp.ClientError, TimeoutError) as error:
            why = str(error) or type(error).__name__
            raise NoResultError(
                f"the simulated exchanges do not answer: {why}; run it on a quieter machine."
            ) from error

    async def _request(self, method: str, body: dict[str, object] | None) -> dict[str, object]:
        token = token_path(self.session.home).read_text().strip()
        limit = aiohttp.ClientTimeout(total=_ADMIN_SECONDS)
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}, timeout=limit) as client,
            client.request(method, f"{self.session.simulated.url}/admin/faults", json=body) as answer,
        ):
            if answer.status >= 400:
                raise LaunchError(f"the simulated exchanges rejected a fault: {await answer.text()}")
            document: dict[str, object] = await answer.json()
            return document


def _jvm_of(group: int) -> int | None:
    try:
        children = psutil.Process(group).children(recursive=True)
        return next((child.pid for child in children if child.name() == "java"), None)
    except psutil.NoSuchProcess:
        return None
