"""Workers that are forks of this process, one per core: they share what it has read, and need no Spark and no Java."""

import gc
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait

from backtest.detect.garbage import MOST_YOUNG
from backtest.detect.workers import PIECES_HERE, Found, Report, Work, WorkersStoppedError
from tick_sets.errors import ImportRejectedError

FAULTS = (ImportRejectedError, ValueError, LookupError, ArithmeticError, RuntimeError, OSError, MemoryError)
"""What a worker says before it goes on; of anything else it ends."""
ORPHAN_SECONDS = 1.0
"""How often a fork that waits for work looks whether its parent is still there."""


class ForkedWorkers:
    """Implements `backtest.detect.workers.Workers`. Not for a process with threads that hold locks."""

    shares_memory = True

    def __init__(self, cores: int) -> None:
        self._cores = cores

    @property
    def pieces(self) -> int:
        return PIECES_HERE

    def run(self, work: Work[Found], count: int, report: Report) -> list[Found]:
        found: dict[int, list[Found]] = {}
        # what is there by now stays for good: a fork that collects it would copy it
        gc.freeze()
        with ExitStack() as stack:
            forks = [stack.enter_context(_fork(work)) for _ in range(min(self._cores, count))]
            numbers, at_work = iter(range(count)), dict[Connection, int]()
            for fork, number in zip(forks, numbers, strict=False):
                at_work[fork] = _sent(fork, number)
            while at_work:
                for fork in _answering(at_work):
                    found[at_work.pop(fork)] = _answer(fork)
                    report(len(found) / count)
                    for number in islice(numbers, 1):
                        at_work[fork] = _sent(fork, number)
        return [one for number in range(count) for one in found[number]]


@contextmanager
def _fork(work: Work[Found]) -> Iterator[Connection]:
    """Return the connection to a fork that works on the numbers that are sent; it is gone afterwards."""
    ours, theirs = get_context("fork").Pipe()
    process = get_context("fork").Process(target=_serve, args=(work, theirs, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()
        process.join()
        ours.close()


def _serve(work: Work[Found], requests: Connection, parent: int) -> None:
    # Ctrl-C is for the parent, which ends its forks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.set_threshold(MOST_YOUNG)
    while True:
        while not requests.poll(ORPHAN_SECONDS):
            if os.getppid() != parent:
                return
        try:
            answer: tuple[list[Found], str] = (list(work((requests.recv(),))), "")
        except FAULTS as error:
            answer = ([], f"{type(error).__name__}: {error}")
        requests.send(answer)


def _sent(fork: Connection, number: int) -> int:
    try:
        fork.send(number)
    except OSError as error:
        raise WorkersStoppedError("a worker has ended before its work") from error
    return number


def _answering(forks: Iterable[Connection]) -> list[Connection]:
    return [one for one in wait(list(forks)) if isinstance(one, Connection)]


def _answer(fork: Connection) -> list[Found]:
    try:
        found, fault = fork.recv()
    except (EOFError, OSError) as error:
        raise WorkersStoppedError("a worker has ended in the middle of its work; is there enough memory?") from error
    if fault:
        raise WorkersStoppedError(f"a worker failed ({fault.splitlines()[0]})")
    answer: list[Found] = found
    return answer
