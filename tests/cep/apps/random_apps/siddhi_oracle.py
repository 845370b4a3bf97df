"""Siddhi in a JVM: apps with their rows go in, the rows that it gives come out."""

import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cep.apps.language.trees import conformance_folder
from tests.cep.apps.random_apps.random_rows import RandomCase

JARS = "SIDDHI_JARS"
"""The variable that names a folder with siddhi-core 5.1 and all that it needs."""
LONGEST_SECONDS = 120.0
"""For one app; what takes longer hangs."""
READ_BYTES = 1 << 20


def missing_part() -> str | None:
    """Return what the oracle needs and does not find; None if all is there."""
    if conformance_folder() is None:
        return "the shared conformance folder, with the oracle's program, is not here"
    if not os.environ.get(JARS) or not list(Path(os.environ[JARS]).glob("siddhi-core-*.jar")):
        return f"{JARS} names no folder with the jars of Siddhi 5.1"
    missing = [program for program in ("java", "javac", "gcc") if shutil.which(program) is None]
    return f"the oracle needs {', '.join(missing)}" if missing else None


@dataclass
class SiddhiOracle:
    """One JVM for all apps, and another one after an app that hangs. Its wall clock stands at 0, so that rate limits
    by time begin there too."""

    folder: Path
    _jvm: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def build(self) -> None:
        """Compiles the program, and what holds the clock, into the folder."""
        source = conformance_folder()
        assert source is not None
        generator = source / "generator"
        (self.folder / "classes").mkdir(parents=True, exist_ok=True)
        jars = f"{os.environ[JARS]}/*"
        classes = str(self.folder / "classes")
        subprocess.run(["javac", "-cp", jars, "-d", classes, str(generator / "Oracle.java")], check=True)
        clock = ["gcc", "-shared", "-fPIC", "-o", str(self._clock), str(generator / "clock0.c"), "-ldl"]
        subprocess.run(clock, check=True)

    @property
    def _clock(self) -> Path:
        return self.folder / "clock0.so"

    def answers(self, cases: Iterable[RandomCase]) -> Iterator[tuple[RandomCase, dict[str, Any] | None]]:
        """Yield each case with what Siddhi gives; None if it hangs."""
        try:
            for case in cases:
                yield case, self._answer(case)
        finally:
            self.stop()

    def stop(self) -> None:
        if self._jvm is not None:
            self._jvm.kill()
            self._jvm.communicate()
            self._jvm = None

    def _start(self) -> "subprocess.Popen[bytes]":
        path = f"{self.folder / 'classes'}:{os.environ[JARS]}/*"
        flags = ["-Xmx600m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        return subprocess.Popen(
            ["java", *flags, "-cp", path, "Oracle"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, LD_PRELOAD=str(self._clock)),
        )

    def _answer(self, case: RandomCase) -> dict[str, Any] | None:
        jvm = self._jvm = self._jvm or self._start()
        assert jvm.stdin is not None
        assert jvm.stdout is not None
        jvm.stdin.write(case.text().encode() + b"\n")
        jvm.stdin.flush()
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([jvm.stdout], [], [], LONGEST_SECONDS)
            more = os.read(jvm.stdout.fileno(), READ_BYTES) if ready else b""
            if not more:
                self.stop()
                return None
            line += more
        answer: dict[str, Any] = json.loads(line)
        return answer
