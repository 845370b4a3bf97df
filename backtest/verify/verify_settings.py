"""Settings in the log against those in the store: each version, in order, as it was kept."""

from collections.abc import Iterator, Mapping, Sequence

import orjson

from backtest.verify.first_difference import NOTHING, FirstDifference, first_unlike
from datasets.ticksets.tick_set import TickSet, batches
from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from store.server.documents import SettingsVersion
from streams.message_format import row_of, settings_row

COLUMNS = ["offset", "kind", "document"]
ON_THEIR_WAY = 5 * MICROSECONDS
"""From the store to the log."""


def settings_difference(tick_set: TickSet, versions: Sequence[SettingsVersion]) -> FirstDifference | None:
    """The first of any base. The log begins with whatever version was in force then and ends with the newest, but for
    those of its last moments: they may stand behind its end."""
    kept = {version.version: version.after for version in versions}
    due = [one.version for one in versions if one.at < tick_set.manifest.end_time - ON_THEIR_WAY]
    for base in tick_set.manifest.bases:
        found = _difference(base, _documents(tick_set, base), kept, max(due, default=0))
        if found is not None:
            return found
    return None


def _difference(
    base: str, documents: Iterator[tuple[int, str]], kept: Mapping[int, Settings], newest: int
) -> FirstDifference | None:
    """`newest`: the version that it must have come to."""
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
        found = first_unlike(row, expected)
        if found is not None:
            return FirstDifference(f"{where}, version {version}", *found)
        last = version
    if last is None or last < newest:
        return FirstDifference(f"settings in the log of {base}", "last version", last or NOTHING, newest)
    return None


def _documents(tick_set: TickSet, base: str) -> Iterator[tuple[int, str]]:
    """(offset, row as it stood in the log)."""
    for rows in batches(tick_set, base, COLUMNS):
        yield from ((int(row["offset"]), str(row["document"])) for row in rows.to_pylist() if row["kind"] == "settings")
