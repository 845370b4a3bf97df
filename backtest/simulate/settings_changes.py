"""Settings that changed while a session was recorded, as its log has them."""

from collections.abc import Iterator
from dataclasses import dataclass

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from market.decide.settings import Settings
from tick_sets.sets.tick_set import TickSet, batches


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """The settings by the log from `time`, microseconds, on; whatever it does not mention stays."""

    time: int
    changed: dict[str, object]

    def applied(self, settings: Settings) -> Settings:
        """Return `settings` with the change. Raises ValidationError if the two do not go together."""
        return Settings.model_validate(settings.model_dump() | self.changed)


def logged_settings(tick_set: TickSet) -> tuple[SettingsChange, ...]:
    """Return the changes in the order of the log; each base has the same ones. Raises ImportRejectedError."""
    bases = tick_set.manifest.bases
    return tuple(_changes(tick_set, bases[0])) if bases else ()


def _changes(tick_set: TickSet, base: str) -> Iterator[SettingsChange]:
    for rows in batches(tick_set, base, ["kind", "received_time", "document"]):
        found = rows.filter(pc.is_in(rows["kind"], pa.array(["settings"])))
        for time, document in zip(found["received_time"].to_pylist(), found["document"].to_pylist(), strict=True):
            yield SettingsChange(time or 0, _fields(document or "{}"))


def _fields(document: str) -> dict[str, object]:
    """Return a row as `streams.message_format.settings_row` wrote it; ages and lifetimes there are microseconds."""
    row = orjson.loads(document)
    return {
        "emit_net_bps": row["emit_net_bps"],
        "min_net_bps": row["min_net_bps"],
        "asset_thresholds": row.get("asset_thresholds", {}),
        "pair_thresholds": row.get("pair_thresholds", {}),
        "disabled_assets": tuple(row.get("disabled_assets", ())),
        "max_quote_age_ms": row["max_quote_age"] // 1_000,
        "opportunity_lifetime_ms": row["opportunity_lifetime"] // 1_000,
        "enabled_exchanges": tuple(row["enabled_exchanges"]),
        "taker_fees": row["taker_fees"],
    }
