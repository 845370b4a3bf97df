"""Opportunities derived from the log against those that CEP wrote: the same, per base in the same order."""

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from backtest.verify.first_difference import NOTHING, FirstDifference, first_unlike
from market.prices.opportunities import Opportunity
from streams.message_format import opportunity_of, row_of

Key = tuple[int, str]
"""Offset of the row, and the opportunity's id: the same quotes may be looked at again, at a later row."""
Pair = tuple[str, str, str]
"""Base, exchange bought at, exchange sold at."""
Row = Mapping[str, Any]


@dataclass(slots=True)
class Recorded:
    """What CEP wrote, each once, in the order of its base; what it repeated after a crash does not count."""

    keys: dict[str, list[Key]] = field(default_factory=dict)
    digests: dict[tuple[str, Key], bytes] = field(default_factory=dict)
    times: dict[Key, list[int]] = field(default_factory=dict)
    """Of those that decisions were made on, when they were produced; repeats count here."""
    messages: Counter[Pair] = field(default_factory=Counter)
    """All of them, repeats included."""
    unlike: Row | None = None
    """The first repeat that says something else than what it repeats: a bot may have acted on either."""

    def see(self, row: Row, time: int, wanted: Container[str]) -> None:
        key, base = key_of(row), str(row["base"])
        self.messages[pair_of(row)] += 1
        if row["opportunity_id"] in wanted:
            self.times.setdefault(key, []).append(time)
        digest = row_digest(row)
        if (base, key) not in self.digests:
            self.digests[base, key] = digest
            self.keys.setdefault(base, []).append(key)
        elif self.digests[base, key] != digest and self.unlike is None:
            self.unlike = row

    def difference(self, read_again: Callable[[Key], bytes]) -> FirstDifference | None:
        """Where a repeat is none; `read_again` gives what came first with its key."""
        if self.unlike is None:
            return None
        found = first_unlike(self.unlike, row_of(read_again(key_of(self.unlike))))
        where = f"{_where(self.unlike, _ticks(self.unlike))}, written again"
        return None if found is None else FirstDifference(where, *found)


@dataclass(slots=True)
class Derived:
    """What is derived from the log, as far as it was compared."""

    wanted: Container[str]
    """Ids of the opportunities that decisions were made on."""
    found: dict[Key, Opportunity] = field(default_factory=dict)
    ids: set[bytes] = field(default_factory=set)
    _places: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """Of distinct ids."""
        return len(self.ids)

    def difference(
        self, recorded: Recorded, value: bytes, read_again: Callable[[Key], bytes]
    ) -> FirstDifference | None:
        """Take the next one of its base; `read_again` gives the recorded text of a key."""
        row = row_of(value)
        base, key = str(row["base"]), key_of(row)
        known = recorded.keys.get(base, [])
        place = self._places[base]
        if place >= len(known) or known[place] != key:
            return self._misplaced(recorded, row, known[place] if place < len(known) else None, read_again)
        self._places[base] += 1
        self.ids.add(bytes.fromhex(key[1]))
        if key[1] in self.wanted:
            self._keep(key, row)
        if recorded.digests[base, key] == row_digest(row):
            return None
        other = row_of(read_again(key))
        found = first_unlike(other, row)
        if found is None:
            return None
        return FirstDifference(_where(row, _tick_of(found[0], other, row)), found[0], found[1], found[2])

    def left_over(self, recorded: Recorded, read_again: Callable[[Key], bytes]) -> FirstDifference | None:
        """The first recorded one behind the last derived."""
        for base, keys in recorded.keys.items():
            place = self._places[base]
            if place < len(keys):
                row = row_of(read_again(keys[place]))
                return FirstDifference(_where(row, _ticks(row)), "opportunity", _said(row), NOTHING)
        return None

    def _misplaced(
        self, recorded: Recorded, row: Row, expected: Key | None, read_again: Callable[[Key], bytes]
    ) -> FirstDifference:
        if expected is None or (str(row["base"]), key_of(row)) not in recorded.digests:
            return FirstDifference(_where(row, _ticks(row)), "opportunity", NOTHING, _said(row))
        other = row_of(read_again(expected))
        return FirstDifference(
            _where(other, _ticks(other)), "opportunity", _said(other), f"{NOTHING} before {_said(row)}"
        )

    def _keep(self, key: Key, row: Row) -> None:
        opportunity = opportunity_of(row, 0)
        if isinstance(opportunity, Opportunity):
            self.found[key] = opportunity


def is_opportunity(row: Row) -> bool:
    return row.get("kind") == "opportunity"


def key_of(row: Row) -> Key:
    return int(row["offset"]), str(row["opportunity_id"])


def pair_of(row: Row) -> Pair:
    return str(row["base"]), str(row["buy"]["exchange"]), str(row["sell"]["exchange"])


def row_digest(row: Row) -> bytes:
    """Of what a message says, however it was written."""
    return digest_of(orjson.dumps(row, option=orjson.OPT_SORT_KEYS))


def digest_of(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=16).digest()


def derived_values(values: Iterable[tuple[str, int, bytes]], last: Mapping[str, int]) -> Iterable[bytes]:
    """Of (base, offset, value) the opportunities up to the end of each base's log."""
    for base, offset, value in values:
        if offset <= last.get(base, -1) and b'"opportunity_id"' in value:
            yield value


def _where(row: Row, ticks: str) -> str:
    return f"opportunity {row['opportunity_id']} at row {row['offset']:,} of {row['base']} ({ticks})"


def _said(row: Row) -> str:
    return f"{row['buy']['exchange']} → {row['sell']['exchange']} at {row['net_bps']:.4f} bps"


def _ticks(row: Row) -> str:
    quotes = (row["buy"]["quote_id"], row["sell"]["quote_id"], *(rate["quote_id"] for rate in row.get("fx") or ()))
    return f"ticks {', '.join(quotes)}"


def _tick_of(path: str, recorded: Row, derived: Row) -> str:
    """The tick that the differing field was taken from; all of them where it is of several."""
    side = path.partition(".")[0]
    if side in ("buy", "sell"):
        return f"tick {derived[side]['quote_id']}"
    if side.startswith("fx["):
        rates = list(derived.get("fx") or recorded.get("fx") or ())
        return f"tick {rates[0]['quote_id']}" if len(rates) == 1 else _ticks(derived)
    return _ticks(derived)
