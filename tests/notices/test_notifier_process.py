"""The process as the supervisor runs it: killed in the middle, nothing is lost and what is repeated has the same id."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from launch.setup.data_dir import ready_file
from notices.channels.secrets import variable
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.queries.notice_events import NoticeEventReader
from tests.notices.receivers import Answer, receiving
from tests.notices.running import traded
from tests.notices.samples import KEY, webhook
from tests.services import note_session
from tests.ui.waiting import until

ROOT = Path(__file__).parents[2]
PATH = "/hooks/AAthePathThatIsAKey"


@contextmanager
def notifying(session: Session, environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Killed, as by kill -9, at the end."""
    note_session(session)
    ready_file(session.home, "notifier").unlink(missing_ok=True)
    with (session.home / "notifier.log").open("ab") as log:
        process = subprocess.Popen(
            (sys.executable, "-m", "launch.commands.main", "notifier"),
            cwd=ROOT,
            env=os.environ | {"ARBITRAGE_HOME": str(session.home)} | environment,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)


async def test_killed_in_the_middle_it_loses_nothing(
    reader: NoticeEventReader, session: Session, store: MongoTradeStore
) -> None:
    reported = replace(
        session, upkeep=replace(session.upkeep, notices=(webhook(batch_seconds=0, per_minute=60), webhook("dead")))
    )
    async with receiving() as receiver:
        environment = {
            variable("desk", "url"): f"{receiver.url}{PATH}",
            variable("desk", "signing_key"): KEY,
            variable("dead", "url"): "http://127.0.0.1:1/x",
        }
        with notifying(reported, environment):
            await until(ready_file(session.home, "notifier").exists, 60)
            first = [await traded(store, number) for number in range(1, 4)]
            await until(lambda: len(set(receiver.ids)) == 3, 60)
            # the next answer is never given, so that the kill comes while a message is on its way
            receiver.answer = lambda _: Answer(seconds=None)
            taken = len(receiver.received)
            second = [await traded(store, number) for number in range(4, 7)]
            await until(lambda: len(receiver.received) > taken, 60)
        in_flight = receiver.received[-1].document["id"]
        third = [await traded(store, number) for number in range(7, 10)]
        receiver.answer = lambda _: Answer()
        with notifying(reported, environment):
            await until(lambda: len(set(receiver.ids)) == 9, 60)

            async def are_all_sent() -> bool:
                return {state.name: state.sent for state in await reader.notices.states()}["desk"] == 9

            await until(are_all_sent)
    arbitrages = {str(notice["id"]).split(":")[1] for notice in receiver.notices}
    assert arbitrages == {*first, *second, *third}
    repeated = [got.document["id"] for got in receiver.received[taken + 1 :] if got.document["id"] == in_flight]
    assert repeated == [in_flight], "what was on its way comes again, with the same id, and nothing else does"
    assert len(receiver.ids) - len(set(receiver.ids)) == len(_of(receiver.received[taken].document))
    left = b"".join(path.read_bytes() for path in session.home.rglob("*") if path.is_file())
    assert b"notifier started" in left
    assert PATH.encode() not in left
    assert KEY.encode() not in left


def _of(document: dict[str, object]) -> list[object]:
    notices = document["notices"]
    assert isinstance(notices, list)
    return notices
