"""Derives messages from the log of a tick set, by the plain loop that the real-time job is tested against."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from session.session import Services, Session
from tests.cep.detection.oracle import Known, as_written, learn, spreads
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.tick_set import TickSet, batches

QUOTED = ("kind", "exchange", "symbol", "received_time", "exchange_time", "sequence")
TEXTS = ("bid", "bid_amount", "ask", "ask_amount", "bids", "asks")


def plainly_derived(tick_set: TickSet) -> Iterable[tuple[str, int, bytes]]:
    """Return (base, offset, message)."""
    session = _session(tick_set.manifest)
    for base in tick_set.manifest.bases:
        known = Known()
        for offset, row in _rows(tick_set, base):
            learn(known, row)
            for spread in spreads(offset, base, row, known, session):
                if spread.net_bps >= spread.settings["emit_net_bps"]:
                    yield base, offset, json.dumps(as_written(spread)).encode()


def _rows(tick_set: TickSet, base: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for table in batches(tick_set, base):
        for row in table.to_pylist():
            if row["document"] is not None:
                yield row["offset"], json.loads(row["document"])
            else:
                yield row["offset"], {name: row[name] for name in (*QUOTED, *TEXTS)} | {"base": base}


def _session(manifest: Manifest) -> Session:
    return Session("", "paper", Path(), Services("", "", ""), manifest.markets, manifest.settlement_currency)
