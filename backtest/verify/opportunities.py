"""Compares opportunities recomputed from the log with those that CEP wrote, per base and in order."""

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
"""Row offset and opportunity id: the same quotes may be evaluated again at a later row."""
Pair = tuple[str, str, str]
"""Base, exchange bought at, exchange sold at."""
Row = Mapping[str, Any]


@dataclass(slots=True)
class Recorded:
    """The opportunities that CEP wrote, in order per base; repeats after a crash are not counted."""

    keys: dict[str, list[Key]] = field(default_factory=dict)
    digests: dict[tuple[str, Key], bytes] = field(default_factory=dict)
    times: dict[Key, list[int]] = field(default_factory=dict)
    """Production times of opportunities with a decision, repeats included."""
    messages: Counter[Pair] = field(default_factory=Counter)
    """Number of opportunities by pair, repeats included."""
    unlike: Row | None = None
    """The first repeat that differs from its original: a bot may have acted on either."""

    def add(self, row: Row, time: int, wanted: Container[str]) -> None:
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
        """Return the difference of an unequal repeat; `read_again` returns the original of a key."""
        if self.unlike is None:
            return None
        found = first_unlike(self.unlike, row_of(read_again(key_of(self.unlike))))
        where = f"{_where(self.unlike, _ticks(self.unlike))}, written again"
        return None if found is None else FirstDifference(where, *found)


@dataclass(slots=True)
class Derived:
    """The opportunities recomputed from the log and compared so far."""

    wanted: Container[str]
    """Ids of opportunities with a decision."""
    found: dict[Key, Opportunity] = field(default_factory=dict)
    ids: set[bytes] = field(default_factory=set)
    _places: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """Return the number of distinct ids."""
        return len(self.ids)

    def difference(
        self, recorded: Recorded, value: bytes, read_again: Callable[[Key], bytes]
    ) -> FirstDifference | None:
        """Compare the next opportunity of its base; `read_again` returns the recorded text of a key."""
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
        """Return the first recorded opportunity after the last recomputed one."""
        for base, keys in recorded.keys.items():
            place = self._places[base]
            if place < len(keys):
                row = row_of(read_again(keys[place]))
                return FirstDifference(_where(row, _ticks(row)), "opportunity", _summary(row), NOTHING)
        return None

    def _misplaced(
        self, recorded: Recorded, row: Row, expected: Key | None, read_again: Callable[[Key], bytes]
    ) -> FirstDifference:
        if expected is None or (str(row["base"]), key_of(row)) not in recorded.digests:
            return FirstDifference(_where(row, _ticks(row)), "opportunity", NOTHING, _summary(row))
        other = row_of(read_again(expected))
        return FirstDifference(
            _where(other, _ticks(other)), "opportunity", _summary(other), f"{NOTHING} before {_summary(row)}"
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
    """Return a digest of a message's content, independent of its formatting."""
    return digest_of(orjson.dumps(row, option=orjson.OPT_SORT_KEYS))


def digest_of(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=16).digest()


def derived_values(values: Iterable[tuple[str, int, bytes]], last: Mapping[str, int]) -> Iterable[bytes]:
    """Return the opportunities of (base, offset, value) up to the end of each base's log."""
    for base, offset, value in values:
        if offset <= last.get(base, -1) and b'"opportunity_id"' in value:
            yield value


def _where(row: Row, ticks: str) -> str:
    return f"opportunity {row['opportunity_id']} at row {row['offset']:,} of {row['base']} ({ticks})"


def _summary(row: Row) -> str:
    return f"{row['buy']['exchange']} → {row['sell']['exchange']} at {row['net_bps']:.4f} bps"


def _ticks(row: Row) -> str:
    quotes = (row["buy"]["quote_id"], row["sell"]["quote_id"], *(rate["quote_id"] for rate in row.get("fx") or ()))
    return f"ticks {', '.join(quotes)}"


def _tick_of(path: str, recorded: Row, derived: Row) -> str:
    """Return the tick of the differing field, or all ticks if it depends on several."""
    side = path.partition(".")[0]
    if side in ("buy", "sell"):
        return f"tick {derived[side]['quote_id']}"
    if side.startswith("fx["):
        rates = list(derived.get("fx") or recorded.get("fx") or ())
        return f"tick {rates[0]['quote_id']}" if len(rates) == 1 else _ticks(derived)
    return _ticks(derived)
