"""Rows of stream apps that act on the session: what they ask for, and doing it within what the operator allowed.

A row can do nothing else than `session.app_actions` names. What the store keeps in its audit log under the row's id is
done once; what an app may not do, or does too often, is left out and said once a minute with its number. `ActionLimits`
answers most of what is refused, so that the store is not asked for each row.
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
from runtime.clock import Clock
from session.app_actions import COLUMNS, ActionStream, AppActionTerms, Bounds
from session.session import Session
from store.app_actions import AppAction, AppActionName, Refusal, app_author
from store.errors import StoreUnavailableError
from store.ports.parts import SettingsStore
from store.records.audit_entry import AuditEntry
from ui.apps.action_limits import ActionLimits

ACTION_SECONDS = 60
"""Maximum age of a row, by the app's clock: an app that catches up reports the past."""
MOST_CHARACTERS = 500
"""Of a notice's text; the rest is cut."""
SAID_EVERY = 60 * MICROSECONDS

log = logging.getLogger("ui")

_STREAMS: Mapping[str, ActionStream] = {name: name for name in COLUMNS}
_REFUSED: Mapping[Refusal, str] = {
    "overtaken": "a later row of the app was acted on",
    "not_its_own": "somebody else set it, and an app changes only what is its own",
    "held": "a person removed it within the last hour",
    "too_many": "more actions within a minute than per_minute allows",
}
"""The other refusals change nothing, and need no word."""


def _one_line(text: object) -> object:
    return " ".join(text.split())[:MOST_CHARACTERS] if isinstance(text, str) else text


class _Origin(BaseModel):
    app: str
    stream: str


class _Row(BaseModel):
    id: str
    time: int
    """Milliseconds."""
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


class UnreadableRowError(Exception):
    """A row of a stream that acts, of an app that may act, which asks for nothing that can be done."""

    def __init__(self, app: str, stream: ActionStream, reason: str) -> None:
        super().__init__(reason)
        self.app, self.stream = app, stream


def action_in(message: bytes, allowed: Mapping[str, AppActionTerms]) -> WantedAction | None:
    """Return what the row asks for; None if it is of no stream that acts, or of another app. Raises
    UnreadableRowError."""
    try:
        origin = _Origin.model_validate_json(message)
    except ValidationError as error:
        log.warning("row of an app not read", extra={"reason": _said(error)})
        return None
    stream = _STREAMS.get(origin.stream)
    if stream is None or origin.app not in allowed:
        return None
    try:
        row = _Row.model_validate_json(message)
        name, change, text = _asked(stream, row.values)
    except ValidationError as error:
        raise UnreadableRowError(origin.app, stream, f"it cannot be read: {_said(error)}") from error
    for column in COLUMNS[stream]:
        if column in row.not_finite:
            raise UnreadableRowError(origin.app, stream, f"its {column} is NaN or infinite; only null removes")
    return WantedAction(row.id, origin.app, stream, row.time * 1_000, name, change, text)


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


@dataclass(slots=True)
class _LeftOut:
    """What is left out, by app and reason: said at once, then once a minute with its number."""

    _counts: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Since when, microseconds, and how many were not said yet."""

    def add(self, app: str, what: Mapping[str, str], reason: str, now: int) -> None:
        """Count one. `what`: what else to say of the first."""
        key = (app, reason)
        if key in self._counts:
            since, count = self._counts[key]
            self._counts[key] = (since, count + 1)
        else:
            self._counts[key] = (now, 0)
            log.warning("action of an app left out", extra={"app": app, **what, "reason": reason})

    def tell(self, now: int) -> None:
        """Say what a minute has collected."""
        for (app, reason), (since, count) in list(self._counts.items()):
            if now - since < SAID_EVERY:
                continue
            del self._counts[app, reason]
            if count:
                log.warning("more actions of an app left out", extra={"app": app, "reason": reason, "actions": count})


@dataclass(frozen=True, slots=True)
class AppActions:
    """The actions of one session's apps. `changed` gets the settings in force after each that changed them."""

    session: Session
    settings: SettingsStore
    clock: Clock
    changed: Callable[[Settings], None]
    waits: Callable[[Exception], None]
    """Hears of outages."""
    _left_out: _LeftOut = field(default_factory=_LeftOut)
    _limits: dict[str, ActionLimits] = field(default_factory=dict)

    @property
    def allowed(self) -> dict[str, AppActionTerms]:
        return {one.app: one for one in self.session.page.access.acting_apps}

    async def take(self, message: bytes) -> None:
        """Do what a row asks for, also through an outage of the store. Raises StoreError."""
        self._left_out.tell(self.clock.now())
        try:
            wanted = action_in(message, self.allowed)
        except UnreadableRowError as error:
            self._left_out.add(error.app, {"stream": error.stream}, str(error), self.clock.now())
            return
        if wanted is None:
            return
        problem = self._problem(wanted)
        if problem is None:
            problem = await retry_on(partial(self._act, wanted), (StoreUnavailableError,), self.waits)
        if problem is not None:
            what = {"action": wanted.name, "target": wanted.target}
            self._left_out.add(wanted.app, what, problem, self.clock.now())

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
        if self.clock.now() - wanted.at > ACTION_SECONDS * MICROSECONDS:
            return "its row is too old"
        limits = self._limits.setdefault(wanted.app, ActionLimits())
        per_minute, asked = self.allowed[wanted.app].per_minute, (wanted.target, wanted.value, wanted.at)
        known = limits.known(*asked, per_minute)
        if known is not None:
            return _REFUSED.get(known)
        who = app_author(wanted.app)
        text = {"text": wanted.text} if wanted.change is None else {}
        entry = AuditEntry(f"action {wanted.row_id}", who, "app", "app", "", wanted.name, wanted.target, after=text)
        try:
            outcome = await self.settings.act(AppAction(wanted.change, wanted.at, per_minute), entry)
        except ValueError:
            return "the settings do not allow it: a threshold must not be below emit_net_bps"
        limits.note(*asked, outcome.refused)
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
