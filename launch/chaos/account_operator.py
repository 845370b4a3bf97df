"""The person of a chaos run who settles differences by REST, as `wording.labels.DIFFERENCES` advises."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from launch.chaos.rest_client import rest_client
from market.accounting.differences import MAY_BE_OURS, ORDER_DOUBTS, DifferenceKind
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now
from session.session import Session

DIFFERENCES = "/api/differences"
ROUND_SECONDS = 2.0
REST_SECONDS = 5.0
PATIENCE = 20 * MICROSECONDS
"""How long a difference is left to explain itself."""
SEARCHED_FOR = 600 * MICROSECONDS
"""For so long an order in doubt is searched for, and booked if the balances confirm it: until then they stay as they
are."""
MOST = 200
"""Rows of one answer, the newest."""


class SeenDifference(TypedDict):
    """What the operator reads of a row; `found_at`: microseconds."""

    difference_id: str
    kind: DifferenceKind
    exchange: str
    found_at: int
    is_open: bool
    settled: str | None


_ROWS = TypeAdapter(list[SeenDifference])


def due(rows: Iterable[SeenDifference], now: int) -> list[SeenDifference]:
    """Return those that a careful person settles at `now`, microseconds.

    Whatever an order of ours may have moved waits until it is known what became of the order, or nobody searches for it
    any more: settled before, the balances could not confirm it.
    """
    known = list(rows)
    in_doubt = {
        one["exchange"]
        for one in known
        if one["kind"] in ORDER_DOUBTS and one["settled"] != "explained" and now - one["found_at"] < SEARCHED_FOR
    }
    return [
        one
        for one in known
        if one["is_open"]
        and now - one["found_at"] >= PATIENCE
        and not (one["kind"] in MAY_BE_OURS and one["exchange"] in in_doubt)
    ]


class AccountOperator:
    """`settled`: kind → how many the operator has settled."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.settled: Counter[str] = Counter()

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Look at the differences every two seconds, and settle what is due."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def look(self) -> None:
        """Settle once what is due; nothing where REST does not answer: the web process is killed too."""
        with suppress(aiohttp.ClientError, TimeoutError, ValidationError):
            async with rest_client(self._session, REST_SECONDS) as client:
                for one in due(await self._rows(client), wall_now()):
                    url = f"{DIFFERENCES}/{one['difference_id']}/settle"
                    async with client.post(url, json={"settled": "acknowledged"}) as answer:
                        self.settled[one["kind"]] += answer.status == 200

    async def _run(self) -> None:
        while True:
            await self.look()
            await SystemClock().sleep(ROUND_SECONDS)

    async def _rows(self, client: aiohttp.ClientSession) -> list[SeenDifference]:
        """Open ones, and orders in doubt that are settled already."""
        wanted: Sequence[list[tuple[str, str]]] = (
            [("is_open", "true")],
            [("kind", kind) for kind in ORDER_DOUBTS],
        )
        rows: dict[str, Any] = {}
        for query in wanted:
            async with client.get(DIFFERENCES, params=[*query, ("limit", str(MOST))]) as answer:
                answer.raise_for_status()
                rows |= {one["difference_id"]: one for one in (await answer.json())["items"]}
        return _ROWS.validate_python(list(rows.values()))
