"""How documents of an earlier layout become those of the next one; each step a pure function."""

from collections.abc import Callable, Mapping
from typing import Any

from store.server.client import Document
from store.server.documents import (
    ARBITRAGES,
    AUDIT,
    AVERAGE_TRADES,
    BACKTEST_REPORTS,
    BACKTESTS,
    CLAIMS,
    CONSUMER_POSITIONS,
    DIFFERENCES,
    LEASES,
    NOTICE_DESTINATIONS,
    NOTICES,
    OPPORTUNITIES,
    PROCESSES,
    REJECTIONS,
    SETTINGS,
    SETTINGS_VERSIONS,
    STEPS,
)

LayoutStep = Callable[[str, Document], Document | None]
"""Collection and document → the document of the next layout; None if that has none."""

_EXPIRING = (OPPORTUNITIES, REJECTIONS, AVERAGE_TRADES)
_PASSING_IN_2 = (NOTICES, NOTICE_DESTINATIONS, PROCESSES, CONSUMER_POSITIONS, BACKTESTS, BACKTEST_REPORTS)
"""Written for the session's parts alone, or, as backtests are, made again by asking."""
_WORDS_OF_2 = {"reducing": "reduce_only", "halt_outlived": "resumable_after_halt", "begun": "started"}
OPEN_IN_3 = ("awaiting_second_leg", "reserved", "single_leg")
_NOT_KEPT = ("steps", "terms", "reserve_by")
"""Decisions were recorded in another form, which nothing can verify any more."""


def from_layout_2(collection: str, document: Document) -> Document | None:
    """Words were other ones; the books are the same."""
    if collection in _PASSING_IN_2:
        return None
    if collection in _EXPIRING and "noted_at" in document:
        document = {**document, "recorded_at": document["noted_at"]}
        del document["noted_at"]
    change = _CHANGES_OF_2.get(collection)
    return document if change is None else change(document)


def _settings_from_2(settings: Any) -> Any:
    if not isinstance(settings, dict):
        return settings
    return settings | {"trading_state": _word_from_2(settings.get("trading_state"))}


def _word_from_2(word: object) -> object:
    return _WORDS_OF_2.get(str(word), word)


def _rejection_from_2(document: Document) -> Document:
    renamed = {"record" if name == "grounds" else name: value for name, value in document.items()}
    return renamed | {"reason": _word_from_2(document["reason"])}


def _version_from_2(document: Document) -> Document:
    return document | {name: _settings_from_2(document.get(name)) for name in ("before", "after")}


_CHANGES_OF_2: Mapping[str, Callable[[Document], Document]] = {
    REJECTIONS: _rejection_from_2,
    SETTINGS: _settings_from_2,
    SETTINGS_VERSIONS: _version_from_2,
    DIFFERENCES: lambda document: document | {"kind": _word_from_2(document["kind"])},
    AUDIT: lambda document: document | {"outcome": _word_from_2(document["outcome"])},
}


def from_layout_3(collection: str, document: Document) -> Document | None:
    """Both legs were reserved one after the other, each by its own bot, which then marked its leg as `sending`; now one
    transaction takes both and grants them. What ended without its second leg ended `unfilled`."""
    if collection == ARBITRAGES:
        return _arbitrage_from_3(document)
    if collection == CLAIMS:
        return None if str(document["_id"]).startswith(("half|", "flight|")) else document
    # leases run out in seconds, and their tokens are of steps that are not kept
    return None if collection in (LEASES, STEPS) else document


def _arbitrage_from_3(document: Document) -> Document:
    kept = {name: value for name, value in document.items() if name not in _NOT_KEPT}
    history, legs = document.get("history"), document.get("legs")
    return kept | {
        "state": _state_from_3(document["state"]),
        "history": [
            one | {"what": _what_from_3(str(one["what"]))}
            for one in (history if isinstance(history, list) else [])
            if one["what"] != "awaiting_second_leg"
        ],
        "legs": [_leg_from_3(leg) for leg in (legs if isinstance(legs, list) else [])],
    }


def _leg_from_3(leg: Document) -> Document:
    times = leg.get("times")
    renamed = {
        "granted" if name == "sending" else name: at for name, at in (times if isinstance(times, dict) else {}).items()
    }
    return leg | {"times": renamed, "token": 0}


def _state_from_3(state: object) -> object:
    return "unfilled" if state == "expired" else state


def _what_from_3(what: str) -> str:
    role, _, step = what.rpartition(" ")
    return f"{role} granted" if role and step == "sending" else str(_state_from_3(what))


LAYOUT_STEPS: Mapping[int, LayoutStep] = {2: from_layout_2, 3: from_layout_3}
"""Layout → the step that leads from it to the next."""
OPEN_STATES_IN: Mapping[int, tuple[str, ...]] = {2: OPEN_IN_3, 3: OPEN_IN_3}


def migrated(collection: str, document: Document, layout: int, wanted: int) -> Document | None:
    """By all steps from `layout` to `wanted`."""
    current: Document | None = document
    for step in range(layout, wanted):
        if current is not None:
            current = LAYOUT_STEPS[step](collection, current)
    return current
