"""Compares the settings in the log with the store: every version, in order."""

from collections.abc import Iterator, Mapping, Sequence

import orjson

from backtest.verify.first_difference import NOTHING, FirstDifference, first_unlike
from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from store.server.documents import SettingsVersion
from streams.message_format import row_of, settings_row
from tick_sets.sets.tick_set import TickSet, batches

COLUMNS = ["offset", "kind", "document"]
PROPAGATION = 5 * MICROSECONDS
"""Longest time that a settings change takes from the store to the log."""


def settings_difference(tick_set: TickSet, versions: Sequence[SettingsVersion]) -> FirstDifference | None:
    """Return the first difference of any base. The log starts with the version then in force and ends with the newest,
    except for changes of its last moments, which may come after its end."""
    kept = {version.version: version.after for version in versions}
    due = [one.version for one in versions if one.at < tick_set.manifest.end_time - PROPAGATION]
    for base in tick_set.manifest.bases:
        found = _difference(base, _documents(tick_set, base), kept, max(due, default=0))
        if found is not None:
            return found
    return None


def _difference(
    base: str, documents: Iterator[tuple[int, str]], kept: Mapping[int, Settings], newest: int
) -> FirstDifference | None:
    """Check the documents of one base; `newest`: the version that the log must have reached."""
    last: int | None = None
    for offset, text in documents:
        row = row_of(text.encode())
        version = int(row["settings_version"])
        where = f"settings row {offset:,} of {base}"
        if last is not None and not last <= version <= last + 1:
            return FirstDifference(where, "settings_version", version, f"{last} or {last + 1}")
        if version not in kept:
            return FirstDifference(where, f"version {version}", "in the log", f"{NOTHING} in the store")
        expected = orjson.loads(settings_row(kept[version], row["received_time"], tuple(row.get("bases") or ())))
        if "disabled_assets" not in row:
            # logs of earlier versions do not say which assets are off
            expected.pop("disabled_assets", None)
        found = first_unlike(row, expected)
        if found is not None:
            return FirstDifference(f"{where}, version {version}", *found)
        last = version
    if last is None or last < newest:
        return FirstDifference(f"settings in the log of {base}", "last version", last or NOTHING, newest)
    return None


def _documents(tick_set: TickSet, base: str) -> Iterator[tuple[int, str]]:
    """Return (offset, row as it stood in the log)."""
    for rows in batches(tick_set, base, COLUMNS):
        yield from ((int(row["offset"]), str(row["document"])) for row in rows.to_pylist() if row["kind"] == "settings")
