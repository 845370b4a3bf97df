"""Events per second of CPU time: six queries of stream apps, each beside a loop written by hand for it.

`python -m benchmarks.apps [--events 200000] [--rounds 3] [--siddhi FOLDER]`. Both get the same rows in one process and
must give equally many; the best of several rounds counts. The loops are a floor: they know their query, keep no
snapshot and no clock. With a folder of Siddhi's jars Siddhi runs the same queries over the same rows, in a JVM of its
own.
"""

import argparse
import os
import random
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.siddhi_peer import SiddhiResult, siddhi_results
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app

Row = tuple[str, float, int]
"""Symbol, price, time in milliseconds."""
DEFINITION = "define stream Trades (symbol string, price double, at long);\n"
HIGH, LOW = 108.0, 92.0


@dataclass(frozen=True, slots=True)
class BenchmarkedQuery:
    name: str
    text: str
    by_hand: Callable[[Iterable[Row]], Iterator[object]]
    """Yields what the query gives, row by row."""


def filtered(rows: Iterable[Row]) -> Iterator[object]:
    for symbol, price, _ in rows:
        if price > 100.0:
            yield symbol, price


def averaged(length: int) -> Callable[[Iterable[Row]], Iterator[object]]:
    def run(rows: Iterable[Row]) -> Iterator[object]:
        kept, totals, counts = deque[Row](), defaultdict[str, float](float), defaultdict[str, int](int)
        for row in rows:
            if len(kept) == length:
                old = kept.popleft()
                totals[old[0]] -= old[1]
                counts[old[0]] -= 1
            kept.append(row)
            totals[row[0]] += row[1]
            counts[row[0]] += 1
            yield row[0], totals[row[0]] / counts[row[0]]

    return run


def summed(rows: Iterable[Row]) -> Iterator[object]:
    kept, total = deque[Row](), 0.0
    for row in rows:
        while kept and kept[0][2] + 1_000 <= row[2]:
            total -= kept.popleft()[1]
        kept.append(row)
        total += row[1]
        yield total


def followed(rows: Iterable[Row]) -> Iterator[object]:
    waiting: list[Row] = []
    for row in rows:
        if row[1] < LOW:
            for first in waiting:
                if row[2] - first[2] <= 1_000:
                    yield first[1], row[1]
            waiting = []
        elif row[1] > HIGH:
            waiting.append(row)


def averaged_by_key(rows: Iterable[Row]) -> Iterator[object]:
    kept, totals = defaultdict[str, deque[float]](deque), defaultdict[str, float](float)
    for symbol, price, _ in rows:
        mine = kept[symbol]
        if len(mine) == 10:
            totals[symbol] -= mine.popleft()
        mine.append(price)
        totals[symbol] += price
        yield symbol, totals[symbol] / len(mine)


MEAN = "select symbol, avg(price) as mean"
QUERIES = (
    BenchmarkedQuery("filter", "from Trades[price > 100.0] select symbol, price insert into Out;", filtered),
    BenchmarkedQuery(
        "length(10), average by group",
        f"from Trades#window.length(10) {MEAN} group by symbol insert into Out;",
        averaged(10),
    ),
    BenchmarkedQuery(
        "length(1000), average by group",
        f"from Trades#window.length(1000) {MEAN} group by symbol insert into Out;",
        averaged(1_000),
    ),
    BenchmarkedQuery(
        "time(1 sec), sum", "from Trades#window.time(1 sec) select sum(price) as s insert into Out;", summed
    ),
    BenchmarkedQuery(
        "two steps within 1 sec",
        f"from every a = Trades[price > {HIGH}] -> b = Trades[price < {LOW}] within 1 sec "
        "select a.price as first, b.price as second insert into Out;",
        followed,
    ),
    BenchmarkedQuery(
        "partition, average of 10",
        f"partition with (symbol of Trades) begin from Trades#window.length(10) {MEAN} insert into Out; end;",
        averaged_by_key,
    ),
)


def made_rows(count: int) -> list[Row]:
    """Return rows of ten symbols, one per millisecond."""
    chosen = random.Random(1)
    return [(chosen.choice("ABCDEFGHIJ"), chosen.uniform(90, 110), number) for number in range(count)]


def run_app(text: str, rows: list[Row]) -> tuple[float, int]:
    """Return the seconds of CPU, and the number of rows that came out."""
    engine, count = StreamEngine(parse_app(DEFINITION + text)), 0

    def listener(_at: int, _row: object) -> None:
        nonlocal count
        count += 1

    engine.listen("Out", listener)
    send = engine.sender("Trades")
    began = time.process_time()
    for row in rows:
        send(row[2], row)
    return time.process_time() - began, count


def run_by_hand(query: BenchmarkedQuery, rows: list[Row]) -> tuple[float, int]:
    began, count = time.process_time(), 0
    for _ in query.by_hand(rows):
        count += 1
    return time.process_time() - began, count


def compared(query: BenchmarkedQuery, rows: list[Row], rounds: int, siddhi: SiddhiResult | None) -> str:
    """Return a line of the table. Raises SystemExit if both do not give equally many rows."""
    mine = [run_app(query.text, rows) for _ in range(rounds)]
    hand = [run_by_hand(query, rows) for _ in range(rounds)]
    counts = {"the app": mine[0][1], "the loop": hand[0][1]} | ({"Siddhi": siddhi.rows} if siddhi is not None else {})
    if len(set(counts.values())) > 1:
        raise SystemExit(f"{query.name}: not the same number of rows: {counts}")
    app, loop = (len(rows) / min(seconds for seconds, _ in runs) / 1_000 for runs in (mine, hand))
    line = f"{query.name:<34}{app:>22,.0f}{loop:>12,.0f}{app / loop:>8.2f}"
    if siddhi is None:
        return line
    thread, process = (len(rows) / one / 1_000 for one in (siddhi.thread_seconds, siddhi.process_seconds))
    return f"{line}{thread:>16,.0f}{process:>17,.0f}{app / process:>8.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--siddhi", type=Path, help="a folder with the jars of Siddhi 5.1, which then runs beside it")
    arguments = parser.parse_args()
    rows = made_rows(arguments.events)
    peers: Sequence[SiddhiResult | None] = [None] * len(QUERIES)
    if arguments.siddhi is not None:
        peers = siddhi_results(arguments.siddhi, [DEFINITION + query.text for query in QUERIES], rows)
    beside = "" if arguments.siddhi is None else f"{'Siddhi: thread':>16}{'its process':>17}{'ratio':>8}"
    print(f"{'query':<34}{'app, k events/CPU s':>22}{'by hand':>12}{'ratio':>8}{beside}")
    for query, siddhi in zip(QUERIES, peers, strict=True):
        print(compared(query, rows, arguments.rounds, siddhi))
    print(f"load average {' '.join(f'{one:.1f}' for one in os.getloadavg())} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
