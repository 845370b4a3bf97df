"""What changed settings would have done, over REST: the stored decisions of the last hour, decided again."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from market.decide.decision_context import RecordedContext, RiskState
from market.trade.arbitrages import Rejection
from market.trade.decision_record import RejectionRecord, rejection_text
from runtime.clock import wall_now
from store.mongo.store import MongoTradeStore
from store.server.documents import ARBITRAGES, REJECTIONS
from tests.store.reservation_requests import episode_of, opportunity
from tests.ui.trading import traded
from tests.ui.waiting import until
from ui.auth.question_turns import QuestionsBusyError
from ui.desk.what_if import WhatIf
from ui.services.dashboard import dashboard_of

MINUTE = 60_000_000
QUIET = RiskState(
    *(9_000_000, True, 4, {}, {}, False, 0),  # four arbitrages are open
)


async def tried(api: httpx.AsyncClient, **changes: object) -> Any:
    return (await api.post("/api/settings/what-if", json=changes)).raise_for_status().json()


async def rejected(store: MongoTradeStore, number: int, at: int) -> None:
    """For open arbitrages, with the opportunity and what was known of it."""
    of = opportunity(f"rejected-{number}", 100 + number)
    record = RejectionRecord(RecordedContext(of.offset, 1, of.event_time + 50_000, risk=QUIET))
    await store.save_opportunities([of])
    await store.reject(
        [
            Rejection(
                *(f"r{number}", of.opportunity_id, "BTC", "alpha", "beta", "alpha", "too_many_open", 50.0),
                *(Decimal("1.5"), at),
                tradable=Decimal("2.5"),
                record=rejection_text(record),
            )
        ]
    )


def sums(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [(row["reason"], row["count"], row["money"]) for row in rows]


async def test_each_change_and_all_together_say_what_they_would_have_done(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    for number in range(2):
        await traded(store, opportunity(f"taken-{number}", number), "0.5")
    now = wall_now()
    for number, at in enumerate((now - 3 * MINUTE, now - 3 * MINUTE + 1_500_000, now - MINUTE)):
        await rejected(store, number, at)
    low = replace(opportunity(), net_bps=3.0, event_time=now, expires_at=now + 1)
    await store.save_episodes([episode_of(low, "below_threshold", "1.25")])
    await until(lambda: written(store, 3))
    found = await tried(api, min_net_bps=60, max_open_arbitrages=9, ma_notional="5")
    assert (found["taken"], found["all_taken"], found["rejected"], found["all_rejected"]) == (2, 2, 3, 3)
    effects = {row["field"]: row["effect"] for row in found["fields"]}
    assert effects["ma_notional"] is None
    assert sums(effects["min_net_bps"]["refused"]) == [("below_threshold", 2, "2")]
    # two sightings of one episode, and another one
    assert sums(effects["max_open_arbitrages"]["allowed"]) == [("too_many_open", 2, "5")]
    assert effects["max_open_arbitrages"]["refused"] == []
    # together the threshold rejects what the other lets through
    assert (sums(found["whole"]["refused"]), found["whole"]["allowed"]) == ([("below_threshold", 2, "2")], [])
    lower = await tried(api, min_net_bps=2, max_notional="25")
    assert sums(lower["whole"]["allowed"]) == [("below_threshold", 1, "1.25")]
    # half of what each was
    assert (lower["whole"]["smaller"], lower["whole"]["smaller_money"]) == (2, "-1")
    assert (await api.get("/api/settings")).json()["version"] == 1


async def written(store: MongoTradeStore, rejections: int) -> bool:
    """Those that do not wait for the disk are read a moment later."""
    return await store._database[REJECTIONS].count_documents({}) == rejections


async def test_what_is_read_is_bounded_and_what_is_older_or_unreadable_is_left_out(
    api: httpx.AsyncClient, store: MongoTradeStore, application: FastAPI
) -> None:
    for number in range(4):
        await traded(store, opportunity(f"taken-{number}", number), "0.5")
    arbitrages = store._database[ARBITRAGES]
    await arbitrages.update_one({"_id": "taken-0"}, {"$set": {"at": wall_now() - 61 * MINUTE}})
    await arbitrages.update_one({"_id": "taken-1"}, {"$set": {"opportunity": {"net_bps": "of another version"}}})
    found = await tried(api, min_net_bps=60)
    assert (found["taken"], found["all_taken"], sums(found["whole"]["refused"])) == (
        2,
        3,
        [("below_threshold", 2, "2")],
    )
    asked = WhatIf(most=1)
    changes = {"min_net_bps": 60}
    answers = await asyncio.gather(*(asked.row(dashboard_of(application), changes) for _ in range(3)))
    assert [(row["taken"], row["all_taken"]) for row in answers] == [(1, 3)] * 3
    # more than a few at a time are turned away at once, and those that wait get their answers
    many = await asyncio.gather(
        *(asked.row(dashboard_of(application), changes) for _ in range(12)), return_exceptions=True
    )
    turned_away = [one for one in many if isinstance(one, QuestionsBusyError)]
    assert (len(turned_away), len(many) - len(turned_away)) == (7, 5)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"min_net_bps": "high"}, 422, "min_net_bps"),
        ({"asset_thresholds": {"DOGE": 1}}, 422, "asset_thresholds"),
        ([1], 422, ""),
    ],
)
async def test_what_could_not_be_saved_is_not_tried(
    api: httpx.AsyncClient, body: object, status: int, words: str
) -> None:
    answer = await api.post("/api/settings/what-if", json=body)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True)
