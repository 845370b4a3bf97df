"""Stream apps as the store has them: their versions, what is wanted of each, and what its host says of it. Pure."""

import re
from dataclasses import dataclass, replace
from typing import Literal

AppWanted = Literal["draft", "published", "stopped"]
"""`draft`: it was never published."""
AppState = Literal["draft", "starting", "running", "stopping", "stopped", "failed"]

MOST_TEXT_BYTES = 262_144
"""Of one version's text, as UTF-8."""
MOST_VERSIONS = 1_000
"""Of one app."""
MOST_NOTE_CHARACTERS = 500
MOST_DESCRIPTION_CHARACTERS = 500
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
_DESCRIPTION = re.compile(r"@App:description\s*\(\s*(['\"])(?P<words>[^'\"\n]*)\1\s*\)", re.IGNORECASE)
NAME_ADVICE = "a name is a letter, and then at most 63 letters, digits, - and _"


def is_app_name(name: str) -> bool:
    """Whether an app may be stored under this name, which is part of addresses, files and topics."""
    return _NAME.fullmatch(name) is not None


def description_of(text: str) -> str:
    """Return what the text says of itself in `@App:description`, its beginning if that is long; empty if nothing."""
    found = _DESCRIPTION.search(text)
    return "" if found is None else found["words"][:MOST_DESCRIPTION_CHARACTERS]


@dataclass(frozen=True, slots=True)
class AppVersion:
    """A text under its number, from 1. `at`: microseconds, by the store's clock."""

    name: str
    version: int
    text: str
    author: str
    at: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class AppOrder:
    """What a user wants of an app; a host does the newest one.

    `number`: each is above the one before. `version`: the one to run, None before the first publication.
    `keeps_state`: whether it goes on with what the version before it has kept, where that fits.
    """

    wanted: AppWanted = "draft"
    version: int | None = None
    keeps_state: bool = True
    number: int = 0
    by: str = ""
    at: int = 0
    savepoint: str = ""
    """The name of the one whose state it begins with, in place of that of the version before it."""
    regions: tuple[str, ...] = ()
    """Those in which it runs; empty: all. Without regions it runs in any case."""


@dataclass(frozen=True, slots=True)
class AppReport:
    """What a host says of an app. `number`: of the order that it says it of. `reason`: why it failed, a sentence, or
    what of the state did not fit. `done`: the number of the last order whose version began, in whichever session."""

    state: AppState
    number: int
    reason: str = ""
    version: int | None = None
    session_id: str = ""
    at: int = 0
    done: int = 0


@dataclass(frozen=True, slots=True)
class StoredApp:
    """An app by its name. `version`: of its newest text; `updated_at`: of that, microseconds, as `created_at`;
    `description`: what that text says of itself."""

    name: str
    version: int
    author: str
    created_at: int
    updated_at: int
    order: AppOrder = AppOrder()
    report: AppReport | None = None
    description: str = ""

    @property
    def savepoint(self) -> str:
        """Return the name of the one to begin with: once after its order, or each later session would begin with it."""
        return "" if self.done == self.order.number else self.order.savepoint

    @property
    def done(self) -> int:
        return 0 if self.report is None else self.report.done

    def runs_in(self, region: str | None) -> bool:
        """Return whether it is to run in that region of a session; None: the session has no regions."""
        is_chosen = region is None or not self.order.regions or region in self.order.regions
        return self.order.wanted == "published" and is_chosen

    def absence(self, region: str | None) -> str:
        """Return why it does not run there although it is published; empty otherwise."""
        if self.order.wanted != "published" or self.runs_in(region):
            return ""
        return f"it is published for {', '.join(self.order.regions)}, and this is {region}"

    def state_in(self, session_id: str) -> tuple[AppState, str]:
        """Return its state in the running session, and the reason. What a host said of an earlier order, or in an
        earlier session, counts no longer."""
        order, report = self.order, self.report
        if order.wanted == "draft":
            return "draft", ""
        is_answer = report is not None and (report.number, report.session_id) == (order.number, session_id)
        if report is not None and is_answer:
            return report.state, report.reason
        if order.wanted == "published":
            return "starting", ""
        was_running = report is not None and report.session_id == session_id
        return ("stopping" if was_running and report is not None and report.state == "running" else "stopped"), ""


def ordered(app: StoredApp, order: AppOrder) -> StoredApp:
    """Return the app with a new order. Its number is above that of the one before, also of an app of the same name that
    was removed."""
    return replace(app, order=replace(order, number=max(app.order.number + 1, order.at)))
