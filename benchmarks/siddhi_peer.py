"""Siddhi over the rows of `benchmarks.apps`, where its jars are: one JVM runs all queries, each several times."""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

PROGRAM = Path(__file__).parent / "peers" / "SiddhiQueries.java"
ROUNDS = 15
"""The JVM compiles what runs often during the first ones."""


@dataclass(frozen=True, slots=True)
class SiddhiResult:
    """Of one query: the rows that came out, and CPU seconds of a round: those of the thread that sends in the best one,
    and those of the whole process in the mean of all."""

    rows: int
    thread_seconds: float
    process_seconds: float


def siddhi_results(jars: Path, texts: Sequence[str], rows: Iterable[tuple[str, float, int]]) -> list[SiddhiResult]:
    """`jars`: a folder with siddhi-core 5.1 and all that it needs; `texts`: of apps. Raises SystemExit if it does
    not run."""
    java = shutil.which("java")
    if java is None or not list(jars.glob("siddhi-core-*.jar")):
        raise SystemExit(f"Siddhi needs java on the path and siddhi-core-*.jar, with what it needs, in {jars}")
    with TemporaryDirectory() as folder:
        log = Path(folder) / "rows"
        log.write_text("".join(f"{symbol},{price!r},{at}\n" for symbol, price, at in rows))
        apps = [Path(folder) / f"{number}.app" for number in range(len(texts))]
        for app, text in zip(apps, texts, strict=True):
            # its clock is its rows', as ours is
            app.write_text(f"@app:playback\n{text}")
        command = [java, "-cp", f"{jars}/*", str(PROGRAM), str(log), str(ROUNDS), *map(str, apps)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts = [[int(word) for word in line.split()] for line in printed.splitlines()]
    return [SiddhiResult(rows, thread / 1e9, process / 1e9 / ROUNDS) for rows, thread, process in counts]
