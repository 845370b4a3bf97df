"""Made-up logs for apps of any streams: the rows of each app's log by partition, the same from the same seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import AppSource, app_source
from cep.apps.hosts.input_log import InputPlace, SourceRow, input_message
from cep.apps.hosts.product_streams import read_streams
from cep.apps.parts.scope import Columns
from streams.topics import TICKS, bases_by_partition
from tests.cep.apps.equality.made_up_apps import BY_KEY, KAFKA, OTHERS
from tests.cep.logs import BASES, START

SHIPPED = Path(__file__).parents[4] / "apps"
FUNCTIONS = Path(__file__).parent / "functions"
PARTITIONS = 2
DAYS = frozenset(("churn", "overdue-payment"))
"""Apps that wait for days."""
EXCHANGES = ("kraken", "bitstamp", "bitflyer", "coinbaseexchange")
TEXTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("exchange", "buy_exchange", "sell_exchange"), EXCHANGES),
    "kind": ("quote", "quote", "quote", "withdrawn", "alive"),
    "reason": ("exchange_paused", "account_rejected", "too_late"),
    "state": ("reserved", "closed", "unwound"),
    "side": ("buy", "sell"),
    "symbol": ("BTC/USD", "BTC/EUR"),
    **dict.fromkeys(("opportunity_id", "arbitrage_id"), tuple(f"o{number}" for number in range(12))),
}
"""What text columns have; others one of four texts of their own."""


def hosted_text(text: str) -> str:
    """With a source for each stream of its own that nothing else feeds."""
    for name in (
        "SignIns",
        "Orders",
        "Purchases",
        "Clicks",
        "Reminders",
        "Payments",
        "Measurements",
        "Invoices",
        "Events",
    ):
        text = text.replace(f"define stream {name} (", f"{KAFKA.format(name=name)} define stream {name} (")
    return text


def all_sources() -> dict[str, AppSource]:
    """By name: the apps that are shipped, and those that were written for this."""
    texts = [path.read_text() for path in sorted(SHIPPED.glob("*.app"))]
    terms = OperatorTerms(functions=FUNCTIONS)
    sources = [app_source(hosted_text(text), "file", (("region", "us"),), terms) for text in (*texts, *OTHERS, *BY_KEY)]
    return {one.name: one for one in sources}


@dataclass(frozen=True, slots=True)
class _Stream:
    """`topic`: that its rows come from."""

    name: str
    topic: str
    columns: Columns


def input_rows(source: AppSource, seed: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Partition and row of the app's input log, `count` for each partition that it has."""
    engine = StreamEngine(source.app, terms=source.terms)
    fed = [_Stream(one.name, one.topic, engine.columns_of(one.name)) for one in read_streams(source.app)]
    fed += [
        _Stream(one.stream, f"{topic}/0", engine.columns_of(one.stream))
        for topic, sources in source.outside.topics.items()
        for one in sources
    ]
    logs = {
        partition: _rows(
            fed, partition, bases, random.Random(f"{seed} {source.name} {partition}"), count, _pause(source)
        )
        for partition, bases in bases_by_partition(BASES, PARTITIONS).items()
        if source.is_keyed or partition == 0
    }
    for rows in zip(*logs.values(), strict=True):
        yield from zip(logs, rows, strict=True)


def _pause(source: AppSource) -> int:
    """Return the unit of the long pauses, milliseconds."""
    return 86_400_000 if source.name in DAYS else 1_000


def _rows(
    fed: list[_Stream], partition: int, bases: tuple[str, ...], chance: random.Random, count: int, pause: int
) -> Iterator[bytes]:
    now, place, offsets = START // 1_000, InputPlace(), dict.fromkeys((TICKS, *(one.topic for one in fed)), 0)
    for number in range(count):
        now += chance.randint(5, 120) if chance.random() < 0.97 else chance.randint(1, 9) * pause
        # a feed's rows come a little late, so that the log's times go back
        at = now - chance.choice((0, 0, 0, 3, 17))
        stream = chance.choice(fed)
        rows: tuple[tuple[str, list[Any]], ...] = ((stream.name, _values(stream, bases, chance, at, number)),)
        topic = stream.topic
        if chance.random() < 0.02:
            topic, rows = TICKS, ()
        # gaps: not every row of the topic is the app's
        offsets[topic] += chance.randint(1, 3)
        row = SourceRow(topic, partition, offsets[topic], at * 1_000, rows)
        place = place.after(row)
        yield input_message("made-up", row, place)


def _values(stream: _Stream, bases: tuple[str, ...], chance: random.Random, at: int, number: int) -> list[Any]:
    return [_value(one.name, one.type, bases, chance, at, number) for one in stream.columns]


def _value(name: str, kind: str, bases: tuple[str, ...], chance: random.Random, at: int, number: int) -> Any:
    if name.endswith(("_time", "_at")):
        return at * 1_000
    match kind:
        case "string":
            known = {**TEXTS, "base": bases}.get(name, tuple(f"{name}{each}" for each in range(4)))
            return f"{name}{number}" if name.endswith("_id") and name not in TEXTS else chance.choice(known)
        case "double":
            # quarters are exact, thirds are not; now and then far off
            value = 100.0 + chance.choice((chance.randint(-20, 20) / 4, chance.randint(-9, 9) / 3))
            return value * 4 if chance.random() < 0.01 else value
        case "bool":
            return chance.random() < 0.5
        case _:
            return chance.randint(0, 3)
