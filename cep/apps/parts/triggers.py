"""Triggers: streams of one column, `triggered_time`, whose rows come by the app's clock."""

from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.calendar import CronTimes
from cep.apps.parts.chunks import CURRENT, Receiver


class PeriodicTrigger(Stateful):
    """A row every `milliseconds` from where the app's clock begins. Each has the time at which it was due, even where
    the clock went past several at once."""

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int) -> None:
        self._context, self._emit, self._milliseconds = context, emit, milliseconds
        context.keep(self, self._on_time)
        context.wake_at(context.now + milliseconds)

    def _on_time(self, due: int, _what: object) -> None:
        self._context.wake_at(due + self._milliseconds)
        self._emit([(CURRENT, due, (due,))])


class CronTrigger(Stateful):
    """A row at the times of a cron expression."""

    def __init__(self, context: PartContext, emit: Receiver, times: CronTimes) -> None:
        self._context, self._emit, self._times = context, emit, times
        context.keep(self, self._on_time)
        self._wait(context.now)

    def _wait(self, since: int) -> None:
        due = self._times.after(since)
        if due is not None:
            self._context.wake_at(due)

    def _on_time(self, due: int, _what: object) -> None:
        self._wait(due)
        self._emit([(CURRENT, due, (due,))])


class StartTrigger(Stateful):
    """One row as the app begins, before anything else."""

    def __init__(self, context: PartContext, emit: Receiver) -> None:
        self._emit = emit
        context.keep(self, self._on_time)
        context.wake_at(context.now)

    def _on_time(self, due: int, _what: object) -> None:
        self._emit([(CURRENT, due, (due,))])


Trigger = PeriodicTrigger | CronTrigger | StartTrigger
