"""Runs commands side by side, each once those that it needs are done, and says every few seconds what still runs. Uses
the standard library alone: it installs all else."""

import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from launch.errors import CannotStartError

PROGRESS_SECONDS = 5.0
LAST_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Job:
    """A command; `name` says for people what it makes, `advice` what to do if it fails."""

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    advice: str = "check the network and run it again."


class JobFailedError(CannotStartError):
    """One command failed; the others were ended."""


def run_jobs(
    jobs: Sequence[Job], progress: Callable[[tuple[str, ...]], None], seconds: float = PROGRESS_SECONDS
) -> None:
    """Return once all are done. `progress` is called with the names of those that run, every `seconds`.

    Raises JobFailedError with the end of what a failed command printed; then, and if we are interrupted, the others are
    ended.
    """
    running: dict[str, subprocess.Popen[str]] = {}
    with ThreadPoolExecutor(max_workers=len(jobs)) as threads:
        try:
            _run(jobs, running, threads, lambda: progress(tuple(running)), seconds)
        finally:
            for process in running.values():
                process.terminate()


def _run(
    jobs: Sequence[Job],
    running: dict[str, subprocess.Popen[str]],
    threads: ThreadPoolExecutor,
    progress: Callable[[], None],
    seconds: float,
) -> None:
    waiting, done = list(jobs), set[str]()
    ends: dict[Future[str], Job] = {}
    while waiting or ends:
        for job in [one for one in waiting if done.issuperset(one.after)]:
            waiting.remove(job)
            running[job.name] = process = _started(job)
            ends[threads.submit(_output_of, process)] = job
        over, _ = wait(ends, timeout=seconds, return_when=FIRST_COMPLETED)
        if not over:
            progress()
        for end in over:
            job = ends.pop(end)
            process = running.pop(job.name)
            if process.returncode != 0:
                raise JobFailedError(f"{job.name}: failed; {job.advice}\n{end.result()[-LAST_CHARACTERS:].strip()}")
            done.add(job.name)


def _started(job: Job) -> subprocess.Popen[str]:
    return subprocess.Popen(
        job.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _output_of(process: subprocess.Popen[str]) -> str:
    return process.communicate()[0]
