"""An event loop of one process that runs only when told to, on a time that only the test moves."""

import asyncio
import heapq
from asyncio import AbstractEventLoop, Future, Handle, Task, TimerHandle, events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from dataclasses import dataclass
from typing import Any, TypeVar, TypeVarTuple, Unpack, cast

Answer = TypeVar("Answer")
Arguments = TypeVarTuple("Arguments")


@dataclass
class Time:
    """The one time of a history: of every process, and of all others but for how far their clocks are off.
    Microseconds."""

    micros: int = 1_000_000_000_000_000

    def now(self) -> int:
        return self.micros

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class StoreClock:
    """The store's, which somebody may set. Not back: a history is read by its times."""

    time: Time
    ahead: int = 0

    def now(self) -> int:
        return self.time.now() + self.ahead

    async def sleep(self, seconds: float) -> None:
        await self.time.sleep(seconds)


class SteppedLoop:
    """What asyncio's tasks, futures, queues and sleeps ask of a loop. Nothing of the machine's: no time, no threads,
    no files; a loop that is not run any more is a process that stands still."""

    def __init__(self, time: Time) -> None:
        self._time = time
        # it has what the parts of asyncio call that a bot uses, and no more
        self._as_loop = cast(AbstractEventLoop, self)
        self._ready: deque[Handle] = deque()
        self._timers: list[tuple[int, int, TimerHandle]] = []
        self._count = 0
        self.failures: list[dict[str, Any]] = []
        """What tasks left behind that nobody took."""

    def run_ready(self) -> None:
        """Everything that need not wait, due timers included."""
        before = events._get_running_loop()
        events._set_running_loop(self._as_loop)
        try:
            self._fire_due()
            while self._ready:
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            events._set_running_loop(before)

    @property
    def is_idle(self) -> bool:
        """Nothing to do before the next timer."""
        due = self.next_timer()
        return not self._ready and (due is None or due > self._time.now())

    def next_timer(self) -> int | None:
        """When it next wakes of itself, microseconds."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _fire_due(self) -> None:
        while (due := self.next_timer()) is not None and due <= self._time.now():
            self._ready.append(heapq.heappop(self._timers)[2])

    # ---- what asyncio calls

    def time(self) -> float:
        return self._time.now() / 1_000_000

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return events._get_running_loop() is self._as_loop

    def is_closed(self) -> bool:
        return False

    def call_soon(
        self,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> Handle:
        handle = Handle(callback, args, self._as_loop, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> TimerHandle:
        handle = TimerHandle(when, callback, args, self._as_loop, context)
        self._count += 1
        heapq.heappush(self._timers, (round(when * 1_000_000), self._count, handle))
        return handle

    def _timer_handle_cancelled(self, handle: TimerHandle) -> None:
        """Do nothing: cancelled timers are passed over when they come up."""

    def create_future(self) -> Future[Any]:
        return Future(loop=self._as_loop)

    def create_task(
        self,
        coro: Generator[Any, None, Answer] | Coroutine[Any, Any, Answer],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> Task[Answer]:
        return Task(coro, loop=self._as_loop, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(context)

    async def shutdown_asyncgens(self) -> None:
        """Do nothing: generators end with their loop."""
