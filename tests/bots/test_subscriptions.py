"""How quickly a bot's rows are fetched."""

import asyncio

from bots.subscriptions import PACE_SECONDS, PATIENT_SECONDS, keep_pace
from streams.topic_reader import TopicReader
from streams.topics import OPPORTUNITIES


class NotingReader(TopicReader):
    """Keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__("", (OPPORTUNITIES,), "latest")
        self.paces: list[float] = []

    async def fetch_within(self, max_wait: float) -> None:
        self.paces.append(max_wait)


async def test_only_who_decides_fetches_at_once() -> None:
    reader, decides = NotingReader(), asyncio.Event()
    pace = asyncio.create_task(keep_pace(reader, decides.is_set))
    await asyncio.sleep(0)
    decides.set()
    await asyncio.sleep(PACE_SECONDS + 0.1)
    pace.cancel()
    assert reader.paces[0] == PATIENT_SECONDS
    assert reader.paces[-1] == 0.0
