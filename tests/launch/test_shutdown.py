"""The end of a session in which some bots were stopped: whose closing balances are waited for, and whose are kept."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest

from launch.sessions.shutdown import BALANCE_SECONDS, finish_trading
from market.trade.leases import UNFENCED
from session.session import Session
from store.mongo.store import MongoTradeStore, open_store
from tests.ui.session_database import session_database

OPENING = {"USD": Decimal(100)}
AT_STOP = {"USD": Decimal(101)}
AT_END = {"USD": Decimal(102)}


@pytest.fixture
async def session(tmp_path: Path, mongodb_uri: str) -> AsyncIterator[Session]:
    async with session_database(tmp_path, mongodb_uri) as made:
        yield made


@pytest.fixture
async def store(session: Session) -> AsyncIterator[MongoTradeStore]:
    async with await open_store(session) as opened:
        yield opened


async def test_a_stopped_bot_closed_its_books_when_it_went(session: Session, store: MongoTradeStore) -> None:
    for exchange in ("alpha", "beta"):
        await store.balances.replace(exchange, OPENING, "before", UNFENCED)
        await store.balances.replace(exchange, AT_STOP, "after", UNFENCED)
    # as beta's bot does once reservations have ended, which is before it is waited for
    await store.stop_reservations()
    said: list[str] = []
    await finish_trading(store, session, {"alpha"}, said.append)
    assert said == []
    _, after = await store.balances.of_session()
    assert after == {"alpha": AT_STOP, "beta": AT_STOP}


async def test_what_one_that_was_started_again_said_at_its_stop_is_forgotten(store: MongoTradeStore) -> None:
    for exchange in ("alpha", "beta"):
        await store.balances.replace(exchange, OPENING, "before", UNFENCED)
        await store.balances.replace(exchange, AT_STOP, "after", UNFENCED)
    await store.balances.discard_closing(["beta"])
    before, after = await store.balances.of_session()
    assert (before, after) == ({"alpha": OPENING, "beta": OPENING}, {"alpha": AT_STOP})
    await store.balances.replace("beta", AT_END, "after", UNFENCED)
    assert (await store.balances.of_session())[1] == {"alpha": AT_STOP, "beta": AT_END}


async def test_one_that_was_stopped_all_the_time_is_not_waited_for(session: Session, store: MongoTradeStore) -> None:
    await store.balances.replace("beta", OPENING, "before", UNFENCED)
    await store.stop_reservations()
    await store.balances.replace("beta", AT_END, "after", UNFENCED)
    said: list[str] = []
    await finish_trading(store, session, {"alpha"}, said.append)
    assert said == []
    before, after = await store.balances.of_session()
    assert before.keys() == after.keys() == {"beta"}


async def test_a_bot_that_is_late_is_named_and_waited_for(session: Session, store: MongoTradeStore) -> None:
    for exchange in ("alpha", "beta"):
        await store.balances.replace(exchange, OPENING, "before", UNFENCED)
    await store.stop_reservations()
    await store.balances.replace("alpha", AT_END, "after", UNFENCED)
    said: list[str] = []
    async with asyncio.TaskGroup() as tasks:

        def answer(line: str) -> None:
            said.append(line)
            tasks.create_task(store.balances.replace("beta", AT_END, "after", UNFENCED))

        await finish_trading(store, session, echo=answer)
    assert said == ["waiting up to 60 s for the closing balances of beta, to check the ledger"]
    assert (await store.balances.of_session())[1] == {"alpha": AT_END, "beta": AT_END}


async def test_a_second_ctrl_c_ends_the_wait_for_one_that_says_nothing(
    session: Session, store: MongoTradeStore
) -> None:
    await store.stop_reservations()
    await store.balances.replace("alpha", AT_END, "after", UNFENCED)
    stopped = asyncio.Event()
    said: list[str] = []

    def press_again(line: str) -> None:
        said.append(line)
        asyncio.get_running_loop().call_soon(stopped.set)

    async with asyncio.timeout(BALANCE_SECONDS):
        await finish_trading(store, session, echo=press_again, stopped=stopped)
    assert said == ["waiting up to 60 s for the closing balances of beta, to check the ledger; Ctrl-C ends the wait"]
    assert (await store.balances.of_session())[1].keys() == {"alpha"}
