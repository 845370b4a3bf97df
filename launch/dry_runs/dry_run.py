"""A dry run: the text of a stream app over a log, in a process of its own at low priority. The rows, and their ids, are
those of the published app over the same rows of the log.

How it is asked and answers, `launch.setup.asked_work` says; it also writes `progress.json`, and `rows.jsonl`.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import orjson

from backtest.apps.replay import ROWS_BETWEEN_SIZES
from backtest.verify.errors import CannotVerifyError
from cep.apps.errors import AppError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.event_watch import EventWatch, bounded_memory, watched
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from launch.apps.configured_terms import configured_terms, process_words
from launch.apps.published_texts import texts_of
from launch.dry_runs.price_track import PriceTrack
from launch.dry_runs.recorded_app_log import recorded_partitions
from launch.dry_runs.running_app_log import LogRow, running_log
from launch.errors import LaunchError
from launch.setup.asked_work import Row, begin_asked, finish_asked
from launch.setup.data_dir import home_folder, read_session, write_atomically
from market.time_units import MICROSECONDS
from runtime.clock import steady_now
from streams.errors import StreamError
from streams.mirrored_rows import unrepeated_rows
from tick_sets.errors import ImportRejectedError

MOST_ROWS = 100_000
"""That are kept, and compared."""
MOST_SHOWN = 500
MINUTE_MS = 60_000
PROGRESS_ROWS = 5_000
DIGEST_BYTES = 16
REFUSALS = (
    AppError,
    LaunchError,
    ImportRejectedError,
    CannotVerifyError,
    StreamError,
    OSError,
    LookupError,
    MemoryError,
)


@dataclass(slots=True)
class Ran:
    """What a text gave. `keys`: of each row without its id, which names the text's version."""

    rows: list[Row] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    by_stream: Counter[str] = field(default_factory=Counter)
    by_minute: Counter[int] = field(default_factory=Counter)
    state_bytes: int = 0
    cpu_seconds: float = 0.0
    events: int = 0
    first: int | None = None
    last: int | None = None
    """Times of the log's rows, microseconds."""
    prices: list[Row] = field(default_factory=list)
    """Of `PriceTrack`."""

    def add(self, message: bytes) -> None:
        row: Row = orjson.loads(message)
        self.by_stream[row["stream"]] += 1
        self.by_minute[row["time"] // MINUTE_MS * MINUTE_MS * 1_000] += 1
        if len(self.rows) < MOST_ROWS:
            shown = {"id": row["id"], "stream": row["stream"], "time": row["time"] * 1_000, "values": row["values"]}
            self.rows.append(shown)
            place = [row["stream"], row["time"], row["values"]]
            self.keys.append(blake2b(orjson.dumps(place), digest_size=DIGEST_BYTES).digest())


def main(words: Sequence[str]) -> int:
    """Run the request of the folder that the words name. Returns the exit code."""
    parser = process_words()
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args(words)
    folder: Path = asked.folder
    request = begin_asked(folder)

    def work() -> Row:
        terms = configured_terms(asked.config)
        with bounded_memory(2 * terms.limits.worker_bytes):
            return _run(folder, request, terms)

    return finish_asked(folder, work, REFUSALS)


def _run(folder: Path, request: Row, terms: OperatorTerms) -> Row:
    session = read_session(home_folder())
    texts = [request["text"], *([request["against"]] if request.get("against") is not None else [])]
    ran: list[Ran] = []
    for number, text in enumerate(texts):
        source = texts_of(session, terms).source(text, request["name"])
        reported = _progress(folder, number / len(texts), 1 / len(texts))
        ran.append(ran_over(source, log_of(source, request["source"]), reported))
    with (folder / "rows.jsonl").open("wb") as file:
        file.writelines(orjson.dumps(row) + b"\n" for row in ran[0].rows)
    return result_of(*ran)


def log_of(source: AppSource, wanted: Row) -> Iterator[LogRow]:
    """Yield the rows of the log, of each partition in its order: partition, offset, time of writing, row. Raises
    LaunchError and what the recording or Kafka raises."""
    session = read_session(home_folder())
    if "minutes" in wanted:
        yield from asyncio.run(running_log(source, float(wanted["minutes"])))
        return
    partitions = recorded_partitions(session.data_home, source, str(wanted.get("session") or wanted.get("set")))
    for one in partitions if source.is_keyed else partitions[:1]:
        for offset, written_at, row in one.messages():
            yield one.partition, offset, written_at, row


def ran_over(source: AppSource, log: Iterator[LogRow], tell: Callable[[int, int], None]) -> Ran:
    """Return what the app gives over the log. `tell`: called now and then with how many rows were read and given."""
    ran, apps, began, prices = Ran(), dict[int | str, HostedApp](), time.process_time(), PriceTrack(source)
    newest: HostedApp | None = None
    with watched(EventWatch(lambda: newest)):
        for partition, offset, written_at, row in log:
            newest = apps.get(partition) or apps.setdefault(
                partition, HostedApp(source, partition, unrepeated_rows(source.region))
            )
            for out in newest.take(offset, written_at, row):
                ran.add(app_message(out))
            prices.add(row)
            at = int(row.get("received_time") or row.get("time") or written_at)
            ran.first, ran.last = at if ran.first is None else min(ran.first, at), max(ran.last or at, at)
            ran.events += 1
            if ran.events % PROGRESS_ROWS == 0:
                tell(ran.events, sum(ran.by_stream.values()))
            if ran.events % ROWS_BETWEEN_SIZES == 0:
                # does it keep too much? published it would be ended
                newest.snapshot()
    ran.state_bytes = sum(len(app.snapshot()) for app in apps.values())
    ran.prices = prices.reported()
    ran.cpu_seconds = round(time.process_time() - began, 3)
    return ran


def result_of(here: Ran, there: Ran | None = None) -> Row:
    """Return what is shown of a run; with another text over the same log, the rows that only one of them gave."""
    found: Row = {
        "from": here.first,
        "until": here.last,
        "events": here.events,
        "row_count": sum(here.by_stream.values()),
        "streams": [{"name": name, "rows": count} for name, count in sorted(here.by_stream.items())],
        "minutes": [{"at": at, "rows": count} for at, count in sorted(here.by_minute.items())],
        "rows": here.rows[-MOST_SHOWN:],
        "prices": here.prices,
        "cpu_seconds": here.cpu_seconds,
        "state_bytes": here.state_bytes,
        # of a text whose rows were not all kept, more would seem to be missing
        "is_cut": any(sum(one.by_stream.values()) > MOST_ROWS for one in (here, there) if one is not None),
    }
    if there is not None:
        for name, one, other in (("only_here", here, there), ("only_there", there, here)):
            alone = only_in(one, other)
            found |= {name: alone[-MOST_SHOWN:], f"{name}_count": len(alone)}
        found["against"] = {"cpu_seconds": there.cpu_seconds, "state_bytes": there.state_bytes}
    return found


def only_in(one: Ran, other: Ran) -> list[Row]:
    """Return the rows that the other has not, or not as often, in their order."""
    left = Counter(other.keys)
    alone: list[Row] = []
    for row, key in zip(one.rows, one.keys, strict=True):
        if left[key]:
            left[key] -= 1
        else:
            alone.append(row)
    return alone


def _progress(folder: Path, begins: float, share: float) -> Callable[[int, int], None]:
    """Return what notes the progress, at most once a second. How long a log is, nobody knows before its end."""
    reported_at = 0

    def tell(events: int, rows: int) -> None:
        nonlocal reported_at
        if steady_now() - reported_at >= MICROSECONDS:
            reported_at = steady_now()
            done = begins + share * events / (events + 100_000)
            progress = {"progress": round(done, 3), "events": events, "row_count": rows}
            write_atomically(folder / "progress.json", orjson.dumps(progress))

    return tell


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
