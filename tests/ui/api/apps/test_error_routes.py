"""Rows of apps that failed, over REST: list, find, look, edit, give again in order, drop; and who may."""

import asyncio
from typing import Any

import httpx

from session.session import Session
from store.operations.failed_rows import open_failed_rows
from store.records.failed_rows import FailedRow
from tests.ui.api.apps.app_samples import WIDE, key_of
from tests.ui.api.apps.door import Asked, door_of

ERRORS = "/api/apps/wide/errors"


def row(number: int, **changed: Any) -> FailedRow:
    made = {"values": {"text": f"t{number}"}, "error": "no hexadecimal text", "kind": "row"} | changed
    return FailedRow(f"wide-1:0:{number}:0", "wide", "Raw", occurrence=f"o{number}", time=number, **made)


async def stored(api: httpx.AsyncClient, session: Session, key: str, *rows: FailedRow) -> list[dict[str, Any]]:
    """Store the app and the rows; return them as the service lists them."""
    await api.post("/api/apps", json={"name": "wide", "text": WIDE}, headers={"X-API-Key": key})
    async with open_failed_rows(session) as failed:
        await failed.add(rows)
    found: list[dict[str, Any]] = (await api.get(ERRORS)).json()["errors"]
    return found


async def test_rows_are_listed_page_by_page_and_found(api: httpx.AsyncClient, session: Session, key: str) -> None:
    assert (await api.get(ERRORS)).status_code == 404
    three = await stored(api, session, key, row(3), row(1), row(2, kind="delivery", error="HTTP 503"))
    assert [(one["id"], one["time"], one["attempts"]) for one in three] == [
        ("wide-1:0:3:0", 3_000, 1),
        ("wide-1:0:1:0", 1_000, 1),
        ("wide-1:0:2:0", 2_000, 1),
    ]
    first = (await api.get(f"{ERRORS}?limit=2")).json()
    assert (first["errors"], first["count"]) == (three[:2], 3)
    rest = (await api.get(ERRORS, params={"limit": 2, "after": first["next"]})).json()
    assert (rest["errors"], rest["next"]) == (three[2:], None)
    assert (await api.get(f"{ERRORS}?kind=delivery&contains=http%20503")).json()["errors"] == three[2:]
    assert (await api.get(f"{ERRORS}/{three[1]['key']}")).json() == three[1]
    for odd in ("nobody", "%FF", "a" * 300):
        assert (await api.get(f"{ERRORS}/{odd}")).status_code == 404
    assert (await api.get(f"{ERRORS}?kind=other")).status_code == 422


async def test_operators_edit_and_what_is_given_again_keeps_its_order_and_ids(
    api: httpx.AsyncClient, session: Session, key: str
) -> None:
    first, second, third = await stored(api, session, key, row(3), row(1), row(2))
    author, operator = key_of(session, "ada", "author"), {"X-API-Key": key}
    body = {"values": {"text": "4869"}}
    assert (await api.put(f"{ERRORS}/{first['key']}", json=body, headers=author)).status_code == 403
    edited = await api.put(f"{ERRORS}/{first['key']}", json=body, headers=operator)
    assert edited.json()["values"] == {"text": "4869"}

    def answered(asked: Asked) -> Any:
        if asked["row"] == second["id"]:
            raise LookupError("the row has 't1' in 'text', which is int.", "mistake")
        return {"partition": 0}

    async with door_of(session, answered) as asked:
        answer = await api.post(f"{ERRORS}/replay", json={"all": True}, headers=author)
    assert (answer.status_code, answer.json()) == (
        202,
        {"replayed": 1, "stopped_at": second["key"], "reason": "the row has 't1' in 'text', which is int."},
    )
    assert [(one["row"], one["values"]) for one in asked] == [
        (first["id"], {"text": "4869"}),
        (second["id"], {"text": "t1"}),
    ]
    states = [one["state"] for one in (await api.get(ERRORS)).json()["errors"]]
    assert states == ["replayed", "waiting", "waiting"]
    keys = {"keys": [third["key"], first["key"]]}
    async with door_of(session, lambda _: {"partition": 0}) as asked:
        await api.post(f"{ERRORS}/replay", json=keys, headers=author)
        # the first was given before
        assert [one["row"] for one in asked] == [third["id"]]
        await api.post(f"{ERRORS}/replay", json={**keys, "again": True}, headers=author)
    assert [one["row"] for one in asked[1:]] == [first["id"], third["id"]]


async def test_two_operators_at_once_give_no_row_twice(api: httpx.AsyncClient, session: Session, key: str) -> None:
    rows = await stored(api, session, key, *(row(number) for number in range(20)))
    operators = [key_of(session, name, "author") for name in ("ada", "bob")]
    async with door_of(session, lambda _: {"partition": 0}) as asked:
        answers = await asyncio.gather(
            *(api.post(f"{ERRORS}/replay", json={"all": True}, headers=one) for one in operators)
        )
    assert sorted(one["row"] for one in asked) == sorted(one["id"] for one in rows)
    assert sum(one.json()["replayed"] for one in answers) == len(rows)


async def test_rows_are_dropped_and_each_change_is_in_the_audit_log(
    api: httpx.AsyncClient, session: Session, key: str
) -> None:
    first, *_ = await stored(api, session, key, row(1), row(2), row(3, error="other"))
    headers = {"X-API-Key": key}
    assert (await api.post(f"{ERRORS}/drop", json={"keys": [first["key"]]}, headers=headers)).json() == {"dropped": 1}
    answer = await api.post(f"{ERRORS}/drop", json={"all": True, "contains": "OTHER"}, headers=headers)
    assert answer.json() == {"dropped": 1}
    assert [one["id"] for one in (await api.get(ERRORS)).json()["errors"]] == ["wide-1:0:2:0"]
    for odd in ({}, {"all": True, "keys": [first["key"]]}, {"keys": ["?"], "all": False, "more": 1}):
        assert (await api.post(f"{ERRORS}/drop", json=odd, headers=headers)).status_code == 422
    viewer = key_of(session, "eve", "viewer")
    assert (await api.post(f"{ERRORS}/drop", json={"all": True}, headers=viewer)).status_code == 403
    kept = (await api.get("/api/audit?action=app.error.drop", headers=headers)).json()
    assert [one["after"] for one in kept["items"]] == [{"rows": 1}, {"rows": 1}]


async def test_while_nobody_runs_apps_nothing_is_given_again(
    api: httpx.AsyncClient, session: Session, key: str
) -> None:
    await stored(api, session, key, row(1))
    answer = await api.post(f"{ERRORS}/replay", json={"all": True}, headers={"X-API-Key": key})
    assert answer.status_code == 503
    assert [one["state"] for one in (await api.get(ERRORS)).json()["errors"]] == ["waiting"]
