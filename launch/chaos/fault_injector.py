"""Carries out a schedule of blows against the running system, and takes all of them back in the end."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict

import aiohttp
import psutil

from launch.chaos.chaos_schedule import Blow, InjectedFault, InjectedSetting, Kill, Pause
from launch.chaos.settings_tuner import SettingsTuner
from launch.errors import LaunchError
from launch.supervisor.process_groups import signal_group
from launch.supervisor.supervisor import Supervisor
from market.time_units import MICROSECONDS
from session.clock import SystemClock, wall_now
from session.session import Session
from simulators.web.fault_admin import token_path

_ADMIN_SECONDS = 30.0

Say = Callable[[str], None]


class FaultInjector:
    """Strikes the parts of one session; `dealt` counts what was really done, by kind."""

    def __init__(self, session: Session, supervisor: Supervisor, tuner: SettingsTuner, say: Say) -> None:
        self._session = session
        self._supervisor = supervisor
        self._tuner = tuner
        self._say = say
        self._paused: dict[str, set[int]] = {}
        """Part → its process groups that are stopped."""
        self.dealt: Counter[str] = Counter()

    async def carry_out(self, schedule: Sequence[Blow]) -> None:
        """Each blow at its second from now on, whatever the others do; returns once the last one is over."""
        began = wall_now()
        async with asyncio.TaskGroup() as tasks:
            for blow in schedule:
                await SystemClock().sleep(max(0.0, blow.at - (wall_now() - began) / MICROSECONDS))
                tasks.create_task(self._deal(blow))

    async def take_back(self) -> None:
        """Whoever is stopped goes on, the exchanges behave, and the first settings are in force again."""
        for group in {group for groups in self._paused.values() for group in groups}:
            signal_group(group, signal.SIGCONT)
        self._paused.clear()
        await self._admin("DELETE", None)
        await self._tuner.restore()

    async def struck(self) -> dict[str, int]:
        """Kind of fault → how often exchanges have really shown it."""
        strikes: Counter[str] = Counter()
        answer = await self._admin("GET", None)
        rows = answer.get("strikes")
        for counts in rows.values() if isinstance(rows, dict) else ():
            strikes.update(counts)
        return dict(strikes)

    async def _deal(self, blow: Blow) -> None:
        if isinstance(blow, InjectedFault):
            self._say(f"{blow.at:7.2f} s  {blow.told}")
            await self._admin("POST", blow)
        elif isinstance(blow, InjectedSetting):
            self._say(f"{blow.at:7.2f} s  {blow.told}")
            await self._retune(blow)
            self.dealt[blow.kind] += 1
        else:
            is_dealt = self._kill(blow) if isinstance(blow, Kill) else self._pause(blow)
            self._say(f"{blow.at:7.2f} s  {blow.told}{'' if is_dealt else ' (it is down)'}")
            self.dealt[blow.kind] += is_dealt
            if isinstance(blow, Pause) and is_dealt:
                await self._go_on(blow)

    def _kill(self, blow: Kill) -> bool:
        group = self._supervisor.group_of(blow.part)
        if group is None:
            return False
        victim = group if blow.half == "python" else _jvm_of(group)
        with suppress(ProcessLookupError):
            if victim is not None:
                os.kill(victim, signal.SIGKILL)
                return True
        return False

    def _pause(self, blow: Pause) -> bool:
        group = self._supervisor.group_of(blow.part)
        if group is None:
            return False
        self._paused.setdefault(blow.part, set()).add(group)
        signal_group(group, signal.SIGSTOP)
        return True

    async def _go_on(self, blow: Pause) -> None:
        await SystemClock().sleep(blow.seconds)
        for group in self._paused.pop(blow.part, ()):
            signal_group(group, signal.SIGCONT)

    async def _retune(self, blow: InjectedSetting) -> None:
        await self._tuner.change(dict(blow.changes))
        await SystemClock().sleep(blow.seconds)
        await self._tuner.restore(name for name, _ in blow.changes)

    async def _admin(self, method: str, blow: InjectedFault | None) -> dict[str, object]:
        """The exchanges' own admin route. Raises LaunchError where it says no: they are never struck themselves."""
        body = None
        if blow is not None:
            body = {name: value for name, value in asdict(blow.fault).items() if value is not None}
        try:
            return await self._asked(method, body)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise LaunchError(f"the simulated exchanges do not answer: {error or type(error).__name__}.") from error

    async def _asked(self, method: str, body: dict[str, object] | None) -> dict[str, object]:
        token = token_path(self._session.home).read_text().strip()
        limit = aiohttp.ClientTimeout(total=_ADMIN_SECONDS)
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}, timeout=limit) as client,
            client.request(method, f"{self._session.exchanges_url}/admin/faults", json=body) as answer,
        ):
            if answer.status >= 400:
                raise LaunchError(f"the simulated exchanges rejected a fault: {await answer.text()}")
            told: dict[str, object] = await answer.json()
            return told


def _jvm_of(group: int) -> int | None:
    try:
        children = psutil.Process(group).children(recursive=True)
        return next((child.pid for child in children if child.name() == "java"), None)
    except psutil.NoSuchProcess:
        return None
