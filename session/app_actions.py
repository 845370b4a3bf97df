"""What stream apps may do to a session beside halting an exchange, and the streams by whose rows they do it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

ActionStream = Literal["AssetPauses", "AssetResumes", "AssetThresholds", "PairThresholds", "OperatorNotices"]
COLUMNS: Mapping[ActionStream, tuple[str, ...]] = {
    "AssetPauses": ("asset",),
    "AssetResumes": ("asset",),
    "AssetThresholds": ("asset", "min_net_bps"),
    "PairThresholds": ("buy_exchange", "sell_exchange", "min_net_bps"),
    "OperatorNotices": ("text",),
}
"""The columns that a row has; others beside them are not read."""
_NOTICE = re.compile(r"""["']notice["']""", re.IGNORECASE)
"""The type of a sink whose rows are those of OperatorNotices."""
Bounds = tuple[float, float]
"""The lowest and the highest threshold that an app may set, bps."""


@dataclass(frozen=True, slots=True)
class AppActionTerms:
    """What one app may do; nothing by default."""

    app: str
    pause: bool = False
    """Pause assets, and resume those that it paused."""
    asset_thresholds: Bounds | None = None
    pair_thresholds: Bounds | None = None
    notices: bool = False
    per_minute: int = 6
    """Actions of each kind within any minute: pauses, thresholds, notices. What is more is left out, but nothing that
    takes an entry back."""

    def allows(self, stream: ActionStream) -> bool:
        match stream:
            case "AssetPauses" | "AssetResumes":
                return self.pause
            case "AssetThresholds":
                return self.asset_thresholds is not None
            case "PairThresholds":
                return self.pair_thresholds is not None
            case "OperatorNotices":
                return self.notices


def names_actions(text: str) -> bool:
    """Return whether the text of an app may act; one that names no stream of `COLUMNS`, and no sink `notice`, does
    not."""
    return any(name in text for name in COLUMNS) or _NOTICE.search(text) is not None


_SETTING: Mapping[ActionStream, str] = {
    "AssetPauses": "pause = true",
    "AssetResumes": "pause = true",
    "AssetThresholds": "asset_thresholds = [lowest, highest]",
    "PairThresholds": "pair_thresholds = [lowest, highest]",
    "OperatorNotices": "notices = true",
}


def action_problem(
    app: str, written: Mapping[str, Iterable[str] | None], allowed: Iterable[AppActionTerms]
) -> str | None:
    """Return in one sentence why the app may not be published; None if it may. `written`: the streams of `COLUMNS` that
    it writes to, with their columns; None: it reads such a stream itself, so that its rows stay inside."""
    terms = next((one for one in allowed if one.app == app), AppActionTerms(app))
    for stream, needed in COLUMNS.items():
        if stream not in written:
            continue
        columns = written[stream]
        if not terms.allows(stream):
            return (
                f"The app {app} writes to {stream}, and may not act on the session; write {_SETTING[stream]} below "
                f"[apps.actions.{app}] in arbitrage.toml, or give the stream another name."
            )
        if columns is None:
            return f"The app {app} reads {stream} itself, so no row of it would act; read another stream."
        lacking = [name for name in needed if name not in columns]
        if lacking:
            return f"The stream {stream} of the app {app} has no column {lacking[0]}; it needs {', '.join(needed)}."
    return None
