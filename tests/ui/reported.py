"""What a supervisor would tell of the processes of the samples' session."""

from session.session import Session
from store.operations.processes import MongoProcesses, open_processes
from store.records.processes import SUPERVISOR, Process, ProcessReport
from store.server.client import connect, database_of
from tests.ui.waiting import until

PROCESSES = (
    ProcessReport("bot-alpha", "bot", "alpha", "ready", age=5_000_000, pid=101),
    ProcessReport("bot-beta", "bot", "beta", "stopped", age=9_000_000, last_end="stopped by erika"),
    ProcessReport("cep", "cep", None, "ready", age=1_000_000, pid=103),
    ProcessReport("feed-alpha", "feed", "alpha", "ready", age=2_000_000, pid=104, restarts=2, last_end="exit code 1"),
)


LONG = 3_600_000_000
"""Microseconds: longer than any test, however busy the machine is."""


async def reported(session: Session, *processes: ProcessReport) -> None:
    """Once, with a sign of life that holds for the whole test; read by everybody when it returns."""
    async with open_processes(session) as book:
        now = await book.beat(pid=100)
        await book.report(processes or PROCESSES, now)
        await received_at(session, now + LONG)
        await until(lambda: _is_received(book, now + LONG))


async def received_at(session: Session, updated: int) -> None:
    """As if the supervisor had been heard of then."""
    client = connect(session.services.mongodb)
    processes = database_of(client, session.services.database)["processes"]
    await processes.update_one({"_id": SUPERVISOR}, {"$set": {"updated": updated}})
    client.close()


async def _is_received(book: MongoProcesses, now: int) -> bool:
    return any(one.name == SUPERVISOR and one.updated >= now for one in await book.all())


async def process_named(session: Session, name: str) -> Process:
    async with open_processes(session) as book:
        return next(one for one in await book.all() if one.name == name)
