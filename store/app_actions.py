"""Changes of the settings by stream apps, once for both adapters: which are made, and which are left out. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from market.decide.settings import Settings
from market.decide.settings_entries import EntryChange, changed_entries
from market.time_units import MICROSECONDS
from store.records.audit_entry import AuditEntry

APP = "app "
"""Begins the author of a version that an app made."""
MINUTE = 60 * MICROSECONDS
PERSON_HOLDS = 60 * MINUTE
"""So long after a person removed an entry no app makes it again."""
AppActionName = Literal["app.pause", "app.resume", "app.threshold", "app.notice"]
ACTIONS: tuple[AppActionName, ...] = ("app.pause", "app.resume", "app.threshold", "app.notice")

Refusal = Literal["repeated", "unchanged", "overtaken", "not_its_own", "held", "too_many"]
"""Why an action changes nothing.

repeated: its row was acted on before. unchanged: it is so already. overtaken: a later row of the app was acted on.
not_its_own: somebody else made the entry. held: a person removed it within the last hour. too_many: the app's limit of
that kind a minute, which what takes its own entry back does not count for."""


@dataclass(frozen=True, slots=True)
class AppAction:
    """What a row of an app asks for. `change` None: a notice, which is an entry of the audit log alone.

    `row_time`: microseconds, by the app's clock. `per_minute`: the most actions of this app of one kind.
    """

    change: EntryChange | None
    row_time: int
    per_minute: int

    @property
    def takes_back(self) -> bool:
        """Return whether it removes an entry: a resume, or the removal of a threshold."""
        return self.change is not None and self.change.value is None


@dataclass(frozen=True, slots=True)
class EntryAuthor:
    """Who changed an entry last, and when by the store's clock."""

    who: str
    at: int


@dataclass(frozen=True, slots=True)
class StandingEntry:
    """An entry of the settings in force that the app made; `at`: when, microseconds by the store's clock."""

    app: str
    entry: EntryChange
    at: int


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """What the store knows when it is asked. `since_minute`: actions of this kind of the app within a minute, and those
    of the last two whose rows are within a minute of this one: a row that was one too many is so when it is read again.
    Nothing that took an entry back is among them.
    `last_row_time`: that of the app's last action on the same target."""

    now: int
    is_repeated: bool
    since_minute: int
    last_row_time: int | None
    last: EntryAuthor | None


@dataclass(frozen=True, slots=True)
class AppActionOutcome:
    """`settings`: the new version; None for a notice, and if it was refused."""

    refused: Refusal | None = None
    settings: Settings | None = None


def app_author(app: str) -> str:
    """Return who made a version that an app made."""
    return f"{APP}{app}"


def is_app(who: str) -> bool:
    return who.startswith(APP)


def person(who: str) -> str:
    """Return the name of a person, which never reads as an app's."""
    return f"'{who}'" if is_app(who) else who


def standing_entries(
    current: Settings | None, last_author: Callable[[EntryChange], EntryAuthor | None]
) -> tuple[StandingEntry, ...]:
    """Return the entries of apps in the settings in force. `last_author`: who changed an entry last."""
    if current is None:
        return ()
    found = [(entry, last_author(entry)) for entry in changed_entries(None, current)]
    return tuple(
        StandingEntry(last.who.removeprefix(APP), entry, last.at)
        for entry, last in found
        if last is not None and is_app(last.who)
    )


def refusal(action: AppAction, current: Settings, who: str, facts: ActionFacts) -> Refusal | None:
    """Return why the action of the author `who` changes nothing; None if it is done."""
    if facts.is_repeated:
        return "repeated"
    if action.change is not None:
        stands = action.change.value_in(current)
        if stands == action.change.value:
            return "unchanged"
        if facts.last_row_time is not None and facts.last_row_time > action.row_time:
            return "overtaken"
        denied = entry_refusal(stands, who, facts.last, facts.now)
        if denied is not None:
            return denied
    # a restriction that cannot be taken back would outlast its cause
    return "too_many" if not action.takes_back and facts.since_minute >= action.per_minute else None


def entry_refusal(
    stands: float | None, who: str, last: EntryAuthor | None, now: int
) -> Literal["not_its_own", "held"] | None:
    """Return why the app `who` may not change an entry that is `stands` now: it is another's, or a person removed it a
    short while ago."""
    if stands is not None:
        return None if last is not None and last.who == who else "not_its_own"
    is_held = last is not None and not is_app(last.who) and now - last.at < PERSON_HOLDS
    return "held" if is_held else None


def action_entry(entry: AuditEntry, action: AppAction, before: Settings, after: Settings, at: int) -> AuditEntry:
    """Return the entry of an action that was done; `at`: microseconds, by the store's clock."""
    stood, stands = _value(action.change, before), _value(action.change, after)
    new = stands | ({"version": after.version} if action.change else {}) | {"row_time": action.row_time}
    old: Mapping[str, object] = stood | ({"version": before.version} if action.change else {})
    return replace(entry, outcome="done", before=old, after={**entry.after, **new}, at=at)


def _value(change: EntryChange | None, settings: Settings) -> dict[str, object]:
    return {} if change is None else {"value": change.value_in(settings)}


def next_version(action: AppAction, current: Settings) -> Settings:
    """Return the settings in force after the action. Raises ValueError if they do not allow it."""
    if action.change is None:
        return current
    return action.change.applied(current).model_copy(update={"version": current.version + 1})
