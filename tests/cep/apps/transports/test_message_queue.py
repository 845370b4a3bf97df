"""Messages wait up to a number and up to so many bytes; none is lost, none is kept out of its order."""

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cep.apps.transports.message_queue import MOST_WAITING, MessageQueue
from cep.apps.transports.ports import IncomingMessage, TakenMessages

MOST = 100


class Watched:
    """An intake that lets others run before it has kept a batch, and notes what waits by then."""

    def __init__(self) -> None:
        self.queue = MessageQueue(self, self.marked, MOST)
        self.bodies: list[bytes] = []
        self.marks: list[int] = []
        self.put: list[bytes] = []
        self.most: list[tuple[int, int]] = []

    def marked(self, marks: Sequence[int]) -> None:
        self.marks += marks

    async def take(self, messages: Sequence[IncomingMessage]) -> TakenMessages:
        for _ in range(5):
            await asyncio.sleep(0)
        waiting = self.put[len(self.bodies) :]
        self.most.append((len(waiting), sum(map(len, waiting))))
        self.bodies += [one.body for one in messages]
        return TakenMessages(len(messages))

    async def read(self, sizes: Sequence[int]) -> None:
        for number, size in enumerate(sizes):
            await self.queue.put(IncomingMessage(b"x" * size), number)
            self.put.append(b"x" * size)


@given(st.lists(st.integers(0, MOST + 50), max_size=60))
def test_what_waits_fits_or_is_one_message(sizes: list[int]) -> None:
    watched = Watched()
    asyncio.run(watched.queue.keep(watched.read(sizes)))
    assert list(map(len, watched.bodies)) == sizes
    assert watched.marks == list(range(len(sizes)))
    assert all(size <= MOST or count == 1 for count, size in watched.most)


async def test_empty_messages_are_counted() -> None:
    watched = Watched()
    await watched.queue.keep(watched.read([0] * (3 * MOST_WAITING)))
    assert len(watched.bodies) == 3 * MOST_WAITING
    assert max(count for count, _ in watched.most) <= MOST_WAITING
