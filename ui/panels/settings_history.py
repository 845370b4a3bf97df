"""Settings history, newest first, and the audit log below it."""

from collections.abc import Iterator, Mapping
from datetime import tzinfo

import streamlit

from exchanges.labels import exchange_name
from market.decide.settings import Settings
from market.decide.thresholds import ONE, exchanges_of_pair
from market.money import decimal_of
from store.errors import StoreError
from ui.page_parts.dom_tables import Line, numbers, table, words
from ui.page_parts.page_times import moment, shown_zone
from ui.panels.audit import render_audit, value_words
from ui.rows.settings import ChangeRow, VersionRow, version_row
from ui.services.dashboard import Dashboard
from wording.number_format import UNKNOWN, fee_bps

MOST = 20
REFRESH_SECONDS = 5.0
THRESHOLDS = ("asset_thresholds", "pair_thresholds")


def render_history(dashboard: Dashboard) -> None:
    """Draw a fragment that refreshes by itself."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)


def _render(dashboard: Dashboard) -> None:
    settings = dashboard.hub.settings
    if settings is not None and (settings.asset_thresholds or settings.pair_thresholds):
        streamlit.subheader("Thresholds of assets and pairs", anchor=False)
        streamlit.html(thresholds_table(settings))
    streamlit.subheader("Settings history", anchor=False)
    try:
        page = dashboard.answer(dashboard.reader.settings_history(None, MOST))
    except (StoreError, TimeoutError):
        streamlit.warning("MongoDB does not answer. Try again in a moment.")
        return
    streamlit.html(history_table([version_row(version) for version in page.items], shown_zone()))
    streamlit.subheader("Audit log", anchor=False)
    render_audit(dashboard)


def history_table(rows: list[VersionRow], zone: tzinfo) -> str:
    """Return HTML."""
    lines: list[Line] = [
        [str(row["version"]), moment(row["changed_at"], zone), row["who"], changes_text(row)] for row in rows
    ]
    return table(
        "Settings history",
        (*numbers("Version"), *words("Time", "User", "Changes")),
        lines,
        "No changes yet.",
    )


def thresholds_table(settings: Settings) -> str:
    """Return HTML: the thresholds that stand in place of the general one."""
    lines: list[Line] = [[name, f"{value:g}"] for name, value in sorted(settings.asset_thresholds.items())]
    lines += [[pair_words(name), f"{value:g}"] for name, value in sorted(settings.pair_thresholds.items())]
    return table(
        f"In place of {settings.min_net_bps:g} bps; if several apply, the highest counts",
        (*words("Asset or pair"), *numbers("Minimum net spread (bps)")),
        lines,
        "None.",
    )


def pair_words(name: str) -> str:
    """Return a pair of exchanges in words."""
    first, second = (exchange_name(one) for one in exchanges_of_pair(name))
    return f"{first} → {second}" if ONE in name else f"{first} ⇄ {second}"


def changes_text(row: VersionRow) -> str:
    """Return `field before → after` for every change of one version."""
    return "; ".join(words for change in row["changes"] for words in _words(change)) or "defaults"


def _words(change: ChangeRow) -> Iterator[str]:
    """Yield the change in words; for fees one for each exchange, in bps as everywhere else."""
    before, after = change["before"], change["after"]
    if change["field"] == "taker_fees" and isinstance(after, dict):
        yield from _fee_words(before if isinstance(before, dict) else {}, after)
    elif change["field"] in THRESHOLDS and isinstance(after, dict):
        yield from _threshold_words(change["field"], before if isinstance(before, dict) else {}, after)
    elif change["field"] == "close_now" and isinstance(before, dict) and isinstance(after, dict):
        yield from (
            f"close arbitrage {name} at {one['price']}" for name, one in after.items() if before.get(name) != one
        )
    elif change["field"] == "disabled_assets" and isinstance(before, list) and isinstance(after, list):
        yield from (f"{name} paused" for name in after if name not in before)
        yield from (f"{name} resumed" for name in before if name not in after)
    else:
        yield f"{change['field']} {value_words(before)} → {value_words(after)}"


def _threshold_words(field: str, before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        old, new = (f"{known[name]:g} bps" if name in known else UNKNOWN for known in (before, after))
        if old != new:
            yield f"threshold of {pair_words(name) if field == 'pair_thresholds' else name} {old} → {new}"


def _fee_words(known: Mapping[str, object], after: Mapping[str, object]) -> Iterator[str]:
    for exchange, fee in after.items():
        if known.get(exchange) != fee:
            old = fee_bps(decimal_of(str(known[exchange]))) if exchange in known else UNKNOWN
            yield f"taker fee of {exchange_name(exchange)} {old} → {fee_bps(decimal_of(str(fee)))}"
