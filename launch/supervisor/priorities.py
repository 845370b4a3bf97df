"""How the parts of a session share a busy machine, by their importance. No part needs a right for it.

A part may lower its own importance without root, and never raise it. So the parts with the most turns in a trade stay
as they are, and all others get a higher nice.

Each part is a session leader. If the kernel has autogroups, it divides the CPU between sessions first, and a process's
own nice counts only inside its session: then the session's autogroup needs the nice as well.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from runtime.clock import SystemClock
from store.records.processes import ProcessKind

Priority = Literal["first", "second", "third", "fourth"]
NICENESS: Mapping[Priority, int] = {"first": 0, "second": 3, "third": 8, "fourth": 12}
"""Three steps halve a part's share of a busy core. A trade wakes its bots and mongod some thirty times in a row, and a
price passes a feed, Kafka and Spark once each: the part that is woken most waits most, so it comes first."""

ENABLED = Path("/proc/sys/kernel/sched_autogroup_enabled")
PAUSE_SECONDS = 0.1
"""The kernel accepts one such write in a tenth of a second, of all processes without root together."""
ATTEMPTS = 100

log = logging.getLogger("launch")


def priority_of(kind: ProcessKind) -> Priority:
    """Return the priority. `first`: what turns an opportunity into orders; `second`: what makes the log and detection;
    `third`: the simulated exchanges, which stand for the outside world, and what shows trades and halts them; `fourth`:
    what can wait."""
    match kind:
        case "mongodb" | "bot" | "carrier":
            return "first"
        case "feed" | "publisher" | "kafka" | "mirror" | "cep":
            return "second"
        case "exchanges" | "ui":
            return "third"
        case "supervisor" | "apps" | "logrecorder" | "notifier" | "other":
            return "fourth"


def niceness_of(kind: ProcessKind) -> int:
    """Return by how much the nice of such a part is above its supervisor's."""
    return NICENESS[priority_of(kind)]


def has_autogroups(setting: Path = ENABLED) -> bool:
    """Return whether this kernel divides the CPU between sessions first. `setting` is absent on other systems."""
    try:
        return setting.read_text().strip() == "1"
    except OSError:
        return False


def write_autogroup(pid: int, niceness: int) -> None:
    """Write the nice of the process's autogroup. Raises BlockingIOError if the kernel asks to wait a moment,
    ProcessLookupError or FileNotFoundError if the process is gone, other OSErrors if it is not permitted."""
    # one write without a buffer, which would keep the text and write it again after an error
    with Path(f"/proc/{pid}/autogroup").open("wb", buffering=0) as file:
        file.write(str(niceness).encode())


def can_write_autogroup() -> bool:
    """Return whether it works, tried on a session like a part's, which ends with it. Our own may have no autogroup:
    what is started without a terminal is often in the kernel's first one, whose file is empty."""
    waiting = (sys.executable, "-c", "input()")
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, start_new_session=True) as session:
        try:
            nice = Path(f"/proc/{session.pid}/autogroup").read_text().rpartition(" ")[2]
            write_autogroup(session.pid, int(nice))
        except BlockingIOError:
            return True
        except (OSError, ValueError):
            return False
        finally:
            session.kill()
    return True


class AutogroupNice:
    """Gives the autogroup of each part the nice of its process. Only the first failure is logged."""

    def __init__(
        self,
        write: Callable[[int, int], None] = write_autogroup,
        is_needed: Callable[[], bool] = has_autogroups,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._write = write
        self._is_needed = is_needed
        self._pause_seconds = pause_seconds
        self._is_logged = False

    async def follow(self, name: str, pid: int) -> None:
        """Set the nice. If that fails, the part runs on with the same share as all others."""
        if not self._is_needed():
            return
        why = f"the kernel asked to wait {ATTEMPTS} times"
        for _ in range(ATTEMPTS):
            try:
                self._write(pid, os.getpriority(os.PRIO_PROCESS, pid))
            except BlockingIOError:
                await SystemClock().sleep(self._pause_seconds)
                continue
            except (ProcessLookupError, FileNotFoundError):
                return
            except OSError as error:
                why = str(error)
                break
            return
        self._report(name, why)

    def _report(self, name: str, why: str) -> None:
        if not self._is_logged:
            self._is_logged = True
            log.warning("no priority; parts share the CPU equally", extra={"part": name, "error": why})
