"""What REST says of the destinations of notices."""

import httpx
from fastapi import FastAPI

from session.notice_destinations import Destination
from store.queries.notice_events import NoticeEventReader
from tests.notices.samples import alarm, trade
from ui.services.dashboard import dashboard_of


async def test_each_destination_and_what_it_was_never_reported(application: FastAPI, api: httpx.AsyncClient) -> None:
    assert (await api.get("/api/notices")).json() == {"destinations": [], "failed": []}
    known = (Destination("desk", "webhook"), Destination("phone", "telegram"))
    reader = NoticeEventReader(dashboard_of(application).session)
    try:
        for destination in known:
            await reader.notices.place(destination)
        await reader.notices.put("desk", [trade(1), trade(2), alarm(1)])
        await reader.notices.bind("desk", ["trade:1"], "trade:1")
        await reader.notices.record_sent("desk", "trade:1")
        await reader.notices.bind("desk", ["trade:2"], "trade:2")
        assert await reader.notices.mark_failed("desk", "trade:2", "HTTP 404 Not Found") == 1
        await reader.notices.record_failure("phone", "no answer within 10 s", 1_800_000_000_000_000)
    finally:
        await reader.close()
    answer = (await api.get("/api/notices")).json()
    desk, phone = answer["destinations"]
    assert (desk["name"], desk["waiting"], desk["sent"], desk["failed"]) == ("desk", 1, 1, 1)
    assert (desk["state"], desk["last_error"], desk["next_try_at"]) == ("removed", "HTTP 404 Not Found", None)
    assert (phone["failures"], phone["next_try_at"], phone["last_sent_at"]) == (1, 1_800_000_000_000_000, None)
    (failed,) = answer["failed"]
    assert (failed["notice_id"], failed["reason"]) == ("trade:2", "HTTP 404 Not Found")
