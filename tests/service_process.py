"""A real service as a process of the test run."""

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

STOP_SECONDS = 10.0


@dataclass(slots=True)
class ServiceProcess:
    """A service that tests may kill and start again. Where the system can, it dies with a run that is killed itself."""

    command: tuple[str, ...]
    address: str
    log_path: Path
    _process: "subprocess.Popen[bytes] | None" = field(default=None)

    def start(self) -> None:
        """Start it; it answers some time later."""
        dying_with_us = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                (*dying_with_us, *self.command), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def kill(self) -> None:
        """As kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Ask it to stop; kill it if it does not within ten seconds."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
            self._process = None
        except subprocess.TimeoutExpired:
            self.kill()
