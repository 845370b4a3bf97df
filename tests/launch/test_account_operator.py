"""The person of a chaos run settles what a careful person would, by REST, and nothing away that was ours."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from fastapi import FastAPI

from launch.chaos.account_operator import PATIENCE, SEARCHED_FOR, AccountOperator, SeenDifference, due
from market.accounting.differences import HANDLING, DifferenceKind, StoredDifference
from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore, open_store
from tests.store.reservation_requests import open_books
from tests.ui.api.listening import listening
from tests.ui.samples import SETTINGS
from tests.ui.session_database import session_database
from tests.ui.waiting import until
from ui.server.application import build_app
from ui.services.dashboard import dashboard_of

NOW = 1_800_000_000_000_000


def seen(
    kind: DifferenceKind, age: int = PATIENCE, exchange: str = "alpha", settled: str | None = None
) -> SeenDifference:
    is_open = HANDLING[kind].is_unexplained and settled is None
    name = f"{exchange}:{kind}"
    return SeenDifference(
        difference_id=name, kind=kind, exchange=exchange, found_at=NOW - age, is_open=is_open, settled=settled
    )


def names(*rows: SeenDifference) -> list[str]:
    return [one["difference_id"] for one in due(rows, NOW)]


@pytest.mark.parametrize("kind", get_args(DifferenceKind))
def test_what_stays_open_is_settled_after_a_while(kind: DifferenceKind) -> None:
    assert names(seen(kind, PATIENCE - 1)) == []
    assert names(seen(kind)) == ([f"alpha:{kind}"] if HANDLING[kind].is_unexplained else [])
    assert names(seen(kind, settled="acknowledged")) == []


@pytest.mark.parametrize("doubt", ["report_implausible", "order_ambiguous", "order_unconfirmed"])
@pytest.mark.parametrize("settled", [None, "acknowledged"])
def test_a_balance_waits_for_an_order_in_doubt(doubt: DifferenceKind, settled: str | None) -> None:
    balance, elsewhere = seen("balance_unexplained"), seen("balance_unexplained", exchange="beta")
    in_doubt = seen(doubt, PATIENCE - 1, settled=settled)
    assert names(balance, elsewhere, in_doubt) == ["beta:balance_unexplained"]
    over = seen(doubt, SEARCHED_FOR, settled="acknowledged")
    assert names(balance, over) == ["alpha:balance_unexplained"]
    known = seen(doubt, PATIENCE - 1, settled="explained")
    assert names(balance, known) == ["alpha:balance_unexplained"]
    # it says nothing of a fill that is listed otherwise
    assert names(seen("fill_differs"), in_doubt) == ["alpha:fill_differs"]


@pytest.fixture
async def session(tmp_path: Path, mongodb_uri: str) -> AsyncIterator[Session]:
    async with session_database(tmp_path, mongodb_uri) as made:
        yield made


@pytest.fixture
async def store(session: Session) -> AsyncIterator[MongoTradeStore]:
    async with await open_store(session) as opened:
        await open_books(opened, SETTINGS)
        yield opened


@pytest.fixture
async def application(session: Session, store: MongoTradeStore) -> AsyncIterator[FastAPI]:
    app = build_app(session, with_pages=False)
    async with app.router.lifespan_context(app):
        await until(lambda: dashboard_of(app).hub.live_state.sources.mongodb)
        yield app


async def test_it_is_settled_by_rest(session: Session, store: MongoTradeStore, application: FastAPI) -> None:
    long_ago = wall_now() - 2 * PATIENCE
    foreign = StoredDifference("1", "fill_foreign", "alpha", "fill-1", "unknown", "buy 1", "reported", long_ago)
    doubt = replace(foreign, difference_id="2", kind="report_implausible", subject="arb-1:buy", exchange="beta")
    balance = replace(foreign, difference_id="3", kind="balance_unexplained", subject="BTC", exchange="beta")
    fresh = replace(foreign, difference_id="4", found_at=wall_now() + PATIENCE)
    for one in (foreign, doubt, balance, fresh):
        await store.differences.store(one)
    async with listening(application) as address:
        operator = AccountOperator(replace(session, page=replace(session.page, port=int(address.rpartition(":")[2]))))
        for _ in range(2):
            await operator.look()
    kinds = {one.difference_id: one.settled for one in await store.differences.stored()}
    assert kinds == {"1": "acknowledged", "2": "acknowledged", "3": None, "4": None}
    assert operator.settled == {"fill_foreign": 1, "report_implausible": 1}
    # the web process is down
    await operator.look()
