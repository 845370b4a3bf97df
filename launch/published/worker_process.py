"""The processes of published apps, one for each partition of a group: forked from one that has loaded what they need,
so that each costs little memory and starts at once."""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker import AppWorker
from cep.apps.resident.worker_desk import WorkerDesk
from cep.apps.resident.worker_files import note_failure, noted_worker
from cep.apps.resident.worker_progress import progress_notes
from launch.supervisor.process_groups import end_with_parent
from launch.supervisor.process_main import log_events
from streams.errors import StreamError

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """`folder`: where the process is noted. `apps`: by place, those that it begins with."""

    kafka: str
    folder: Path
    partition: int
    apps: Mapping[int, PlacedApp]


def forking() -> ForkServerContext:
    """Return what starts workers. To be called once, in the process's first thread, before any is started."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def started_worker(context: ForkServerContext, task: WorkerTask) -> tuple[ForkServerProcess, socket.socket]:
    """Return the process, and our end of the sockets to its desk. Blocks until it is forked. Raises OSError."""
    ours, theirs = socket.socketpair()
    process = context.Process(target=run_worker, args=(task, theirs), name=f"{task.folder.name}-{task.partition}")
    with theirs:
        process.start()
    return process, ours


def run_worker(task: WorkerTask, connection: socket.socket) -> None:
    """Run the apps until the process that started this one has gone."""
    above = os.getppid()
    end_with_parent(signal.SIGKILL)
    if os.getppid() != above:
        return
    # a terminal's Ctrl-C is for who started us
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log_events()
    with progress_notes(task.folder, task.partition) as notes, noted_worker(task.folder, task.partition):

        async def stay() -> None:
            worker = AppWorker(task.kafka, task.partition, notes, task.apps)
            await worker.stay(WorkerDesk(connection).serve)

        try:
            asyncio.run(stay())
        except (StreamError, OSError) as error:
            # it is started again
            log.error("worker failed", extra={"group": task.folder.name, "error": str(error)})
            note_failure(task.folder, task.partition, str(error))
            raise SystemExit(1) from error
        except Exception as error:  # the outermost loop: people hear why, then it is started again
            log.exception("worker failed", extra={"group": task.folder.name})
            note_failure(task.folder, task.partition, repr(error))
            raise SystemExit(1) from error
