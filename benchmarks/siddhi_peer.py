"""Siddhi over the rows of `benchmarks.apps`, if its jars are there: one JVM runs all queries, each several times."""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

PROGRAM = Path(__file__).parent / "peers" / "SiddhiQueries.java"
ROUNDS = 15
"""During the first rounds the JVM compiles frequent code."""


@dataclass(frozen=True, slots=True)
class SiddhiResult:
    """Result of one query: the rows that came out, and CPU seconds of a round: of the sending thread in the best round,
    and of the whole process as the mean of all."""

    rows: int
    thread_seconds: float
    process_seconds: float


def siddhi_results(jars: Path, texts: Sequence[str], rows: Iterable[tuple[str, float, int]]) -> list[SiddhiResult]:
    """Return a result per app. `jars`: a folder with siddhi-core 5.1 and all that it needs; `texts`: the apps' texts.
    Raises SystemExit if Siddhi does not run."""
    java = shutil.which("java")
    if java is None or not list(jars.glob("siddhi-core-*.jar")):
        raise SystemExit(f"Siddhi needs java on the path and siddhi-core-*.jar, with what it needs, in {jars}")
    with TemporaryDirectory() as folder:
        log = Path(folder) / "rows"
        log.write_text("".join(f"{symbol},{price!r},{at}\n" for symbol, price, at in rows))
        apps = [Path(folder) / f"{number}.app" for number in range(len(texts))]
        for app, text in zip(apps, texts, strict=True):
            # its clock follows its rows, as ours does
            app.write_text(f"@app:playback\n{text}")
        command = [java, "-cp", f"{jars}/*", str(PROGRAM), str(log), str(ROUNDS), *map(str, apps)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts = [[int(word) for word in line.split()] for line in printed.splitlines()]
    return [SiddhiResult(rows, thread / 1e9, process / 1e9 / ROUNDS) for rows, thread, process in counts]
