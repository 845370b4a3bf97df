"""`arbitrage app demo engagement`: apps that ship, over ten weeks of five made-up families of a school.

Scores of engagement give metrics, trends and alerts; payments give duplicates, rapid and unusual ones; invoices give
reminders and, if nothing comes in 48 hours, escalations. The same rows each time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from random import Random

from cep.apps.stream_app import OutputRow, StreamApp

SIGNALS, PATTERNS, OVERDUE = "entity-signals", "payment-patterns", "overdue-escalation"
"""Apps in `apps/`, by name."""
DAYS = 70
DAY, HOUR, MINUTE = 86_400_000, 3_600_000, 60_000
BEGIN = 1_767_571_200_000
"""Monday, 5 January 2026, UTC, in milliseconds."""
FAMILIES: Mapping[str, Sequence[tuple[int, float]]] = {
    "Adams": ((0, 70.0), (70, 72.0)),
    "Berger": ((0, 40.0), (70, 92.0)),
    "Castro": ((0, 80.0), (45, 78.0), (70, 45.0)),
    "Dubois": ((0, 85.0), (50, 82.0), (56, 50.0), (70, 48.0)),
    "Eriksen": ((0, 75.0), (58, 73.0), (64, 20.0), (70, 15.0)),
}
"""Scores, as (day, score) with straight lines between."""
_NOISE = 1.5


@dataclass(frozen=True, slots=True)
class MadeRow:
    """`at`: milliseconds UTC."""

    at: int
    stream: str
    values: tuple[str | float, ...]


def scores(seed: int = 1) -> list[MadeRow]:
    """Return a score of each family a day, in order."""
    random, rows = Random(seed), list[MadeRow]()  # noqa: S311 - made-up rows
    for day in range(DAYS):
        for number, (family, line) in enumerate(FAMILIES.items()):
            score = round(_on_line(line, day) + random.uniform(-_NOISE, _NOISE), 1)
            rows.append(MadeRow(BEGIN + day * DAY + 18 * HOUR + number * MINUTE, "Measurements", (family, score)))
    return rows


def payments(seed: int = 2) -> list[MadeRow]:
    """Return payments of all families, in order, with a duplicate, a rapid and an unusual one among them."""
    random, rows = Random(seed), list[MadeRow]()  # noqa: S311 - made-up rows
    for number, family in enumerate(FAMILIES):
        for week in range(DAYS // 7):
            at = BEGIN + week * 7 * DAY + 9 * HOUR + number * 11 * MINUTE
            rows.append(_payment(at, family, f"w{week}", round(random.uniform(40.0, 60.0), 2)))
    twice = BEGIN + 30 * DAY + 10 * HOUR
    rows += [_payment(twice, "Berger", "x1", 120.5), _payment(twice + 4 * MINUTE, "Berger", "x2", 120.5)]
    rapid = BEGIN + 40 * DAY + 20 * HOUR
    rows += [_payment(rapid + n * 7 * MINUTE, "Castro", f"r{n}", 20.0 + n) for n in range(5)]
    rows.append(_payment(BEGIN + 58 * DAY + 3 * HOUR, "Dubois", "big", 640.0))
    return sorted(rows, key=lambda row: row.at)


def invoices() -> list[MadeRow]:
    """Return invoices and what was paid of them: in time, after the reminder, and never."""
    rows = []
    for number, (family, paid_after) in enumerate((("Adams", 9 * DAY), ("Castro", 15 * DAY), ("Eriksen", None))):
        at, name, amount = BEGIN + (3 + number) * DAY + 8 * HOUR, f"inv-{number + 1}", 250.0 + 10 * number
        rows.append(MadeRow(at, "Invoices", (name, family, amount)))
        if paid_after is not None:
            rows.append(MadeRow(at + paid_after, "Payments", (name, amount)))
    return sorted(rows, key=lambda row: row.at)


def found_by(app: str, rows: Iterable[MadeRow]) -> list[OutputRow]:
    """Return what the app that ships under this name gives, up to the end of the ten weeks."""
    running, found = StreamApp(files(__package__).joinpath(f"{app}.app").read_text()), list[OutputRow]()
    for row in rows:
        found += running.send(row.stream, row.values, at=row.at)
    return [*found, *running.advance(BEGIN + DAYS * DAY)]


def engagement() -> Iterator[str]:
    """Return what the demonstration prints, line by line."""
    signals = found_by(SIGNALS, scores())
    yield f"made-up rows: {DAYS} days of {len(FAMILIES)} families; apps: {SIGNALS}, {PATTERNS}, {OVERDUE}"
    yield ""
    yield "family    score  change  7 days  avg 7  avg 30  trend      level     since   reason"
    newest = {str(row.values["entity"]): row for row in signals if row.stream == "Metrics"}
    for family in FAMILIES:
        yield _metrics(newest[family].values)
    yield ""
    yield "alerts, as the levels changed"
    for row in (one for one in signals if one.stream == "Alerts"):
        values = row.values
        reason = f": {values['reason']}" if values["reason"] else ""
        yield f"  {_day(row.time)}  {values['entity']:<8}  {values['level_before']} -> {values['level']}{reason}"
    yield ""
    yield "detections"
    detections = [*found_by(PATTERNS, payments()), *found_by(OVERDUE, invoices())]
    for row in sorted(detections, key=lambda one: one.time):
        yield _detection(row)


def _on_line(line: Sequence[tuple[int, float]], day: int) -> float:
    for (first, one), (last, other) in pairwise(line):
        if first <= day <= last:
            return one + (other - one) * (day - first) / (last - first)
    return line[-1][1]


def _payment(at: int, family: str, name: str, amount: float) -> MadeRow:
    return MadeRow(at, "Payments", (f"{family.lower()}-{name}", family, amount))


def _metrics(values: Mapping[str, object]) -> str:
    since = _day(int(str(values["since"])))
    return (
        f"{values['entity']:<8}  {values['value']:>5.1f}  {values['change']:>+6.1f}  {values['count_7d']:>6}  "
        f"{values['average_7d']:>5.1f}  {values['average_30d']:>6.1f}  {values['trend']:<9}  {values['level']:<8}  "
        f"{since}  {values['reason']}"
    ).rstrip()


def _detection(row: OutputRow) -> str:
    values = row.values
    if row.stream == "Reminders":
        return f"  {_day(row.time)}  {values['payer']:<8}  reminder   {values['invoice']}: {values['amount']:.2f}"
    return (
        f"  {_day(row.time)}  {values['entity']:<8}  {values['pattern']:<9}  {values['events']}: {values['result']}, "
        f"{values['confidence']:.0%} sure; {values['action']}"
    )


def _day(at: int) -> str:
    return f"day {(at - BEGIN) // DAY + 1:>2}"
