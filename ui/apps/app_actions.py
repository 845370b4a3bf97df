"""Rows of stream apps that act on the session: what they ask for, and doing it within what the operator allowed.

A row can do nothing else than `session.app_actions` names. What the store keeps in its audit log under the row's id is
done once; what an app may not do, or does too often, is left out, and counted and said (`LeftOutActions`).
`ActionLimits` answers most of what is refused, so that the store is not asked for each row.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from market.decide.settings import Bps, Settings
from market.decide.settings_entries import EntryChange
from market.decide.thresholds import direction
from market.time_units import MICROSECONDS
from runtime.backoff import retry_on
from runtime.clock import Clock, wall_now
from session.app_actions import COLUMNS, ActionStream, AppActionTerms, Bounds
from session.session import Session
from store.app_actions import AppAction, AppActionName, Refusal, app_author
from store.errors import StoreUnavailableError
from store.ports.parts import SettingsStore
from store.records.audit_entry import AuditEntry
from ui.apps.action_limits import ActionLimits, AskedAction
from ui.apps.left_out_actions import LeftOutActions

ACTION_SECONDS = 60
"""Maximum age of a row that makes or changes something, by the app's clock: an app that catches up reports the past."""
MOST_CHARACTERS = 500
"""Of a notice's text; the rest is cut."""

log = logging.getLogger("ui")

_STREAMS: Mapping[str, ActionStream] = {name: name for name in COLUMNS}
_REFUSED: Mapping[Refusal, str] = {
    "overtaken": "a later row of the app was acted on",
    "not_its_own": "somebody else set it, and an app changes only what is its own",
    "held": "a person removed it within the last hour",
    "too_many": "more actions of its kind within a minute than per_minute allows",
}
"""The other refusals change nothing, and need no word."""


def _one_line(text: object) -> object:
    return " ".join(text.split())[:MOST_CHARACTERS] if isinstance(text, str) else text


class _Origin(BaseModel):
    app: str
    stream: str
    time: int
    """Milliseconds."""


class _Row(BaseModel):
    id: str
    values: dict[str, object]
    not_finite: tuple[str, ...] = ()
    """Columns that have null instead of NaN or an infinity."""


class _Asset(BaseModel):
    asset: str


class _AssetThreshold(_Asset):
    min_net_bps: Bps | None


class _PairThreshold(BaseModel):
    buy_exchange: str
    sell_exchange: str
    min_net_bps: Bps | None


class _Text(BaseModel):
    text: Annotated[str, BeforeValidator(_one_line), Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class WantedAction:
    """`at`: microseconds, by the app's clock. `change` None: a notice with that `text`."""

    row_id: str
    app: str
    stream: ActionStream
    at: int
    name: AppActionName
    change: EntryChange | None
    text: str = ""

    @property
    def target(self) -> str:
        """Return what it is about, as in the audit log."""
        return "notice" if self.change is None else self.change.name

    @property
    def value(self) -> object:
        """Return what the target is to be."""
        return self.text if self.change is None else self.change.value

    @property
    def takes_back(self) -> bool:
        """Return whether it removes an entry."""
        return self.value is None

    @property
    def key(self) -> tuple[str, str]:
        return self.app, self.target


class UnreadableRowError(Exception):
    """A row of a stream that acts, of an app that may act, which asks for nothing that can be done."""

    def __init__(self, app: str, stream: ActionStream, reason: str, at: int) -> None:
        """`at`: microseconds, by the app's clock."""
        super().__init__(reason)
        self.app, self.stream, self.at = app, stream, at


def action_in(message: bytes, allowed: Mapping[str, AppActionTerms]) -> WantedAction | None:
    """Return what the row asks for; None if it is of no stream that acts, or of another app. Raises
    UnreadableRowError."""
    try:
        origin = _Origin.model_validate_json(message)
    except ValidationError as error:
        log.warning("row of an app not read", extra={"reason": _said(error)})
        return None
    stream, at = _STREAMS.get(origin.stream), origin.time * 1_000
    if stream is None or origin.app not in allowed:
        return None
    try:
        row = _Row.model_validate_json(message)
        name, change, text = _asked(stream, row.values)
    except ValidationError as error:
        raise UnreadableRowError(origin.app, stream, f"it cannot be read: {_said(error)}", at) from error
    for column in COLUMNS[stream]:
        if column in row.not_finite:
            raise UnreadableRowError(origin.app, stream, f"its {column} is NaN or infinite; only null removes", at)
    return WantedAction(row.id, origin.app, stream, at, name, change, text)


def _said(error: ValidationError) -> str:
    return error.errors(include_url=False)[0]["msg"]


def _asked(stream: ActionStream, values: Mapping[str, object]) -> tuple[AppActionName, EntryChange | None, str]:
    """Raise ValidationError for other values than the stream's."""
    match stream:
        case "AssetPauses":
            return "app.pause", EntryChange("disabled_assets", _Asset.model_validate(values).asset, value=True), ""
        case "AssetResumes":
            return "app.resume", EntryChange("disabled_assets", _Asset.model_validate(values).asset, value=None), ""
        case "AssetThresholds":
            of_asset = _AssetThreshold.model_validate(values)
            return "app.threshold", EntryChange("asset_thresholds", of_asset.asset, of_asset.min_net_bps), ""
        case "PairThresholds":
            of_pair = _PairThreshold.model_validate(values)
            key = direction(of_pair.buy_exchange, of_pair.sell_exchange)
            return "app.threshold", EntryChange("pair_thresholds", key, of_pair.min_net_bps), ""
        case "OperatorNotices":
            return "app.notice", None, _Text.model_validate(values).text


@dataclass(frozen=True, slots=True)
class AppActions:
    """The actions of one session's apps. `changed` gets the settings in force after each that changed them.

    What takes an app's own entry back has no maximum age, since the entry would stay for good. If its row is old, it
    waits (`has_late`) until `settle` is called after all later rows: one that makes the entry again may be among
    them, and is too old to act. Rows may come in any order: by their times, the newest for an app and target counts.
    """

    session: Session
    settings: SettingsStore
    clock: Clock
    changed: Callable[[Settings], None]
    waits: Callable[[Exception], None]
    """Hears of outages."""
    left_out: LeftOutActions
    began: int
    """When this process began, by the session's clock: rows that were too old then were taken by an earlier one."""
    _limits: dict[str, ActionLimits] = field(default_factory=dict)
    _newest: dict[tuple[str, str], int] = field(default_factory=dict)
    """The time of the newest row for each app and target of those that the terms allow."""
    _late: dict[tuple[str, str], WantedAction] = field(default_factory=dict)
    """That row, if it was old when it was taken and takes back."""

    @property
    def allowed(self) -> dict[str, AppActionTerms]:
        return {one.app: one for one in self.session.page.access.acting_apps}

    @property
    def has_late(self) -> bool:
        """Return whether something is to be settled once all later rows are taken."""
        return bool(self._late)

    async def since(self) -> int:
        """Return from when on rows are read, microseconds: what takes an app's entry back may have been written at any
        time since that was made, while nobody followed. Raises StoreError."""
        entries = await self.settings.entries_of_apps()
        return min([wall_now(), *(one.at for one in entries)]) - ACTION_SECONDS * MICROSECONDS

    async def take(self, message: bytes) -> None:
        """Do what a row asks for, also through an outage of the store. Raises StoreError."""
        now = self.clock.now()
        self.left_out.tell(now)
        try:
            wanted = action_in(message, self.allowed)
        except UnreadableRowError as error:
            if not self._is_of_earlier(error.at):
                self.left_out.add(error.app, {"stream": error.stream}, str(error), now)
            return
        if wanted is None:
            return
        problem = self._problem(wanted)
        if problem is None:
            if wanted.at >= self._newest.get(wanted.key, wanted.at):
                self._newest[wanted.key] = wanted.at
                self._late.pop(wanted.key, None)
            problem = await retry_on(partial(self._act, wanted), (StoreUnavailableError,), self.waits)
        self._tell_left_out(wanted, problem)

    async def settle(self) -> None:
        """Do what takes back by old rows; all later rows were taken. Raises StoreError, and may be called again."""
        for key, wanted in list(self._late.items()):
            problem = await retry_on(partial(self._ask, wanted), (StoreUnavailableError,), self.waits)
            self._tell_left_out(wanted, problem)
            del self._late[key]

    def _is_of_earlier(self, at: int) -> bool:
        return at < self.began - ACTION_SECONDS * MICROSECONDS

    def _tell_left_out(self, wanted: WantedAction, problem: str | None) -> None:
        if problem is not None and not self._is_of_earlier(wanted.at):
            what = {"action": wanted.name, "target": wanted.target}
            self.left_out.add(wanted.app, what, problem, self.clock.now())

    def _problem(self, wanted: WantedAction) -> str | None:
        """Return why the operator's terms, or the session, do not allow it."""
        terms = self.allowed[wanted.app]
        if not terms.allows(wanted.stream):
            return "the operator does not allow it"
        change = wanted.change
        if change is None:
            return None
        if change.setting == "pair_thresholds":
            buy, _, sell = change.key.partition(">")
            if buy == sell or not {buy, sell} <= set(self.session.exchanges):
                return f"this session has no pair {change.key[:80]!r}"
            return _bounds_problem(change, terms.pair_thresholds)
        if change.key not in self.session.bases:
            return f"this session has no asset {change.key[:40]!r}"
        return _bounds_problem(change, terms.asset_thresholds) if change.setting == "asset_thresholds" else None

    async def _act(self, wanted: WantedAction) -> str | None:
        """Return why nothing was changed, if that is worth a word."""
        # with each attempt: an outage may have lasted longer
        if self.clock.now() - wanted.at <= ACTION_SECONDS * MICROSECONDS:
            return await self._ask(wanted)
        if not wanted.takes_back:
            return "its row is too old"
        if wanted.at == self._newest[wanted.key]:
            self._late[wanted.key] = wanted
        return None

    async def _ask(self, wanted: WantedAction) -> str | None:
        """Return why the store refuses it, if that is worth a word."""
        limits = self._limits.setdefault(wanted.app, ActionLimits())
        per_minute = self.allowed[wanted.app].per_minute
        asked = AskedAction(wanted.name, wanted.target, wanted.value, wanted.at)
        known = limits.known(asked, per_minute)
        if known is not None:
            return _REFUSED.get(known)
        who = app_author(wanted.app)
        text = {"text": wanted.text} if wanted.change is None else {}
        entry = AuditEntry(f"action {wanted.row_id}", who, "app", "app", "", wanted.name, wanted.target, after=text)
        try:
            outcome = await self.settings.act(AppAction(wanted.change, wanted.at, per_minute), entry)
        except ValueError:
            return "the settings do not allow it: a threshold must not be below emit_net_bps"
        limits.note(asked, outcome.refused)
        if outcome.refused is not None:
            return _REFUSED.get(outcome.refused)
        if outcome.settings is not None:
            self.changed(outcome.settings)
        log.warning("app acted", extra={"who": who, "action": wanted.name, "target": wanted.target})
        return None


def _bounds_problem(change: EntryChange, bounds: Bounds | None) -> str | None:
    if change.value is None or (bounds is not None and bounds[0] <= change.value <= bounds[1]):
        return None
    return "its threshold is outside the operator's bounds"
