"""Signals: what running stream apps say of each entity now. An app says it in a table that is called `Signals`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError
from ui.rows.app import LEVELS, MILLI, SignalRow, SignalsRow

MOST = 1_000
"""Of one app; the worst of them."""
COLUMNS = ("entity", "signal", "level", "reason", "since", "value")
ALERTING = frozenset(LEVELS[:2])
_FROM, _SELECT = "from Signals on level", f"'none' select {', '.join(COLUMNS)} limit {MOST}"
RAISED, CALM = f"{_FROM} != {_SELECT}", f"{_FROM} == {_SELECT}"
"""Two queries, so that a thousand calm entities hide no other."""


class AppSignals:
    """`home`: the data folder of the session."""

    def __init__(self, home: Path) -> None:
        self._door = AppDoor(home)
        self._without: set[str] = set()
        """Labels of versions that have no such table."""

    async def now(self) -> SignalsRow:
        """Return the signals of all running apps; none if nobody runs any."""
        return await self._found(RAISED, CALM)

    async def alerting(self) -> list[SignalRow]:
        """Return those that are a warning or critical."""
        return [one for one in (await self._found(RAISED))["signals"] if one["level"] in ALERTING]

    async def _found(self, *queries: str) -> SignalsRow:
        try:
            running = await self._door.all_status()
        except (AppDoorSilentError, AppDoorRefusedError):
            return {"apps": [], "signals": []}
        found = {name: await self._of(name, status, queries) for name, status in running.items()}
        signals = [one for of_app in found.values() if of_app is not None for one in of_app]
        return {"apps": [name for name, of_app in found.items() if of_app is not None], "signals": worst_first(signals)}

    async def _of(self, name: str, status: Mapping[str, Any], queries: Iterable[str]) -> list[SignalRow] | None:
        """Return None if the app has no signals, or does not answer now."""
        label = str(status["label"])
        if label in self._without:
            return None
        try:
            answers = [await self._door.query(name, query) for query in queries]
        except AppDoorSilentError:
            return None
        except AppDoorRefusedError as error:
            if error.kind == "mistake":
                self._without.add(label)
            return None
        return signals_in(name, (row for answer in answers for row in answer.rows))


def signals_in(app: str, rows: Iterable[Sequence[Any]]) -> list[SignalRow]:
    """Return the signals in answers, of each entity and signal the newest, at most MOST. `rows`: by COLUMNS; one
    without an entity, a signal or a level says nothing."""
    found: dict[tuple[str, str], SignalRow] = {}
    for values in rows:
        one = _signal(app, dict(zip(COLUMNS, values, strict=True)))
        key = one["entity"], one["signal"]
        if all(key) and one["level"] and (key not in found or (found[key]["since"] or 0) <= (one["since"] or 0)):
            found[key] = one
    return worst_first(found.values())[:MOST]


def worst_first(signals: Iterable[SignalRow]) -> list[SignalRow]:
    """Return the worst first, of one level by app, entity and signal."""
    return sorted(signals, key=lambda one: (_place(one["level"]), one["app"], one["entity"], one["signal"]))


def _place(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def _signal(app: str, values: Mapping[str, Any]) -> SignalRow:
    since, value = values["since"], values["value"]
    return {
        "app": app,
        "entity": str(values["entity"] or ""),
        "signal": str(values["signal"] or ""),
        "level": str(values["level"] or ""),
        "reason": str(values["reason"] or ""),
        "since": since * MILLI if isinstance(since, int) else None,
        "value": float(value) if isinstance(value, int | float) else None,
    }
