"""Tools that change a session: each change is previewed first, recorded with its author, and can be taken back.

The session itself decides who may change what: it refuses without an operator's key, and its audit log has each
attempt. Halting needs no preview.
"""

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from secrets import token_bytes
from typing import Annotated, Any

from pydantic import Field, ValidationError

from market.decide.kill_switch import HALTED
from market.decide.settings import Settings
from market.validation_messages import error_text
from remote.connection import Connection
from runtime.errors import RefusedError

Answer = dict[str, Any]
Changes = Annotated[
    dict[str, Any],
    Field(description='Setting → new value, such as {"min_net_bps": 7.5}; the resource arbitrage://settings has all.'),
]
Hours = Annotated[float, Field(gt=0, le=24, description="How far back the preview looks.")]

THRESHOLD = "min_net_bps"
NO_EFFECT = (
    "The session can say what the last hours would have been at another min_net_bps alone. For the other settings "
    "run_backtest on a recorded session with them, and compare it with one without."
)
MOST_VERSIONS = 500


@dataclass(frozen=True, slots=True)
class ChangingTools:
    """Each public method is a tool. `halting`: the connection that may halt, with a key of this machine if the other
    has none."""

    session: Connection
    halting: Connection
    secret: bytes = field(default_factory=lambda: token_bytes(32), repr=False)
    """Of this process: a preview is good for the settings that it was made of, and no longer than they last."""

    def preview_settings(self, changes: Changes, hours: Hours = 1.0) -> Answer:
        """Say what a change of settings would be, and for min_net_bps what it would have done in the last hours: which
        trades it would have kept and lost, and what it would have gained at most. Changes nothing. Its `preview_id`
        goes to change_settings."""
        settings = self.session.settings()
        differing = changed_values(settings, changes)
        threshold = differing.get(THRESHOLD)
        return {
            "changes": differing,
            "version": settings["version"],
            "effect": None if threshold is None else self.session.preview(float(threshold["after"]), hours),
            "without_effect": NO_EFFECT if set(differing) - {THRESHOLD} else None,
            "preview_id": self._preview_id(changes, settings["version"]),
        }

    def change_settings(self, changes: Changes, preview_id: str) -> Answer:
        """Change settings as previewed; `preview_id` comes from preview_settings with the same changes. Needs an
        operator's key. Show the preview to the user before. The answer's `version` goes to revert_settings."""
        settings = self.session.settings()
        if not hmac.compare_digest(preview_id, self._preview_id(changes, settings["version"])):
            raise RefusedError(
                "Not changed: this preview is of other changes or of older settings; ask preview_settings again and "
                "show the user what it says."
            )
        return self._changed(settings, changes)

    def revert_settings(self, version: int) -> Answer:
        """Take one version of the settings back: what it changed becomes what it was before. Needs an operator's key.
        Refused if a later version changed the same settings again."""
        settings = self.session.settings()
        versions = self.session.settings_versions(limit=MOST_VERSIONS)
        found = next((one for one in versions if one["version"] == version), None)
        if found is None or not found["changes"]:
            raise RefusedError(f"There is no version {version} that changed anything; settings_history lists them.")
        later = [one["field"] for one in found["changes"] if settings[one["field"]] != one["after"]]
        if later:
            raise RefusedError(f"Not reverted: {', '.join(later)} was changed again since; preview a change instead.")
        return self._changed(settings, {one["field"]: one["before"] for one in found["changes"]})

    def halt_trading(self) -> Answer:
        """Stop trading at once: no order is sent any more, open legs are not unwound either. Needs no preview. To trade
        again, preview and change trading_state to running."""
        return dict(self.halting.set_trading_state(HALTED))

    def run_backtest(
        self, tick_set: str, settings: Changes | None = None, latency_ms: float | None = None, seed: int = 1
    ) -> Answer:
        """Queue a backtest of a tick set (see tick_sets) with these settings changed; ask `backtest` for its result.
        Trades nothing. Needs an operator's key."""
        given = {"settings": settings or {}, "latency_ms": latency_ms, "seed": seed}
        return dict(self.session.queue_backtest(tick_set, **given))

    def dry_run_app(
        self, text: str, minutes: float | None = None, session: str | None = None, tick_set: str | None = None
    ) -> Answer:
        """Queue a dry run of a stream app's text over the last minutes of the running log (10 unless said otherwise), a
        recorded session, or a tick set; ask `dry_run` for its rows. Publishes nothing. Needs an author's or an
        operator's key."""
        named = {"minutes": minutes, "session": session, "set": tick_set}
        source = {name: value for name, value in named.items() if value is not None} or {"minutes": 10}
        return self.session.queue_dry_run(text, source)

    @property
    def tools(self) -> tuple[Callable[..., Answer], ...]:
        """Return the tools, in the order in which an assistant is shown them."""
        return (
            self.preview_settings,
            self.change_settings,
            self.revert_settings,
            self.halt_trading,
            self.run_backtest,
            self.dry_run_app,
        )

    def _changed(self, settings: Mapping[str, Any], changes: Mapping[str, Any]) -> Answer:
        differing = changed_values(settings, changes)
        after = self.session.change_settings(changes, version=settings["version"])
        return {"changes": differing, "version": after["version"], "undo": f"revert_settings({after['version']})"}

    def _preview_id(self, changes: Mapping[str, Any], version: int) -> str:
        said = json.dumps([version, changes], sort_keys=True, default=str).encode()
        return hmac.new(self.secret, said, "sha256").hexdigest()[:32]


def changed_values(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return setting → before and after, of those that change. Raises RefusedError for an unknown setting, a value out
    of bounds, or nothing to change."""
    unknown = sorted(set(changes) - set(settings) | {"version"} & set(changes))
    if unknown:
        raise RefusedError(f"{unknown[0]!r} is not a setting; the resource arbitrage://settings lists all.")
    merged = {name: _merged(name, settings[name], value) for name, value in changes.items()}
    try:
        after = Settings.model_validate({**settings, **merged}).model_dump(mode="json")
    except ValidationError as error:
        raise RefusedError(f"{error_text(error, 'settings').rstrip('.')}.") from None
    found = {
        name: {"before": settings[name], "after": after[name]} for name in changes if after[name] != settings[name]
    }
    if not found:
        raise RefusedError("Nothing would change: these are the values in force.")
    return found


def _merged(name: str, before: Any, value: Any) -> Any:
    """Return the value as the session takes it: of the fees, those of exchanges that are not named stay."""
    return {**before, **value} if name == "taker_fees" and isinstance(value, dict) else value
