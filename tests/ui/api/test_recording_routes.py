"""Recordings over REST: uploaded in pieces, imported by a process, looked at; the example for somebody who has none."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from launch.commands.recordings.example_recording import MAPPING, NAME, write_example
from session.session import Session
from store.mongo.store import MongoTradeStore
from tests.ui.api.test_backtest_routes import TICK_SET
from tests.ui.waiting import until
from ui.runs.uploads import PIECE_BYTES

JOB_SECONDS = 60


@pytest.fixture
def headers(key: str) -> dict[str, str]:
    return {"X-API-Key": key}


async def done(api: httpx.AsyncClient, headers: dict[str, str], **asked: object) -> dict[str, Any]:
    """Ask, and return the job once it has ended."""
    answer = await api.post("/api/recordings/jobs", json=asked, headers=headers)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()

    async def has_ended() -> bool:
        found.update((await api.get(answer.headers["location"])).json())
        return found["state"] in ("done", "failed", "cancelled")

    await until(has_ended, JOB_SECONDS)
    return found


async def uploaded(api: httpx.AsyncClient, headers: dict[str, str], name: str, content: bytes) -> str:
    begun = await api.post("/api/recordings/uploads", json={"name": name, "size": len(content)}, headers=headers)
    row = begun.raise_for_status().json()
    assert (begun.status_code, row["received"], row["piece_bytes"]) == (201, 0, PIECE_BYTES)
    while row["received"] < len(content):
        offset = row["received"]
        piece = content[offset : offset + 200_000]
        address = f"/api/recordings/uploads/{row['upload_id']}?offset={offset}"
        row = (await api.put(address, content=piece, headers=headers)).raise_for_status().json()
    return str(row["upload_id"])


async def test_the_example_is_made_by_a_process_and_says_what_was_rejected(
    api: httpx.AsyncClient, headers: dict[str, str], session: Session
) -> None:
    found = await done(api, headers, work="example")
    assert (found["state"], found["set"], found["rejected"]) == (
        "done",
        NAME,
        {"backwards": 1, "crossed": 1, "unreadable": 1},
    )
    assert (session.data_home / "ticks" / NAME / "manifest.json").is_file()
    audited = (await api.get("/api/audit?limit=5", headers=headers)).json()["items"]
    assert (audited[0]["action"], audited[0]["outcome"]) == ("recording.example", "done")


async def test_a_file_is_uploaded_in_pieces_and_imported(
    api: httpx.AsyncClient, headers: dict[str, str], tmp_path: Path
) -> None:
    content = await asyncio.to_thread(write_example(tmp_path)[0].read_bytes)
    upload_id = await uploaded(api, headers, "mine.csv", content)
    asked = {"work": "import", "upload_id": upload_id, "set": "mine"}
    refused = await done(api, headers, **asked)
    assert (refused["state"], "looks like no known format" in refused["reason"]) == ("failed", True)
    # the file is still there
    found = await done(api, headers, **asked, format="csv", mapping=MAPPING)
    assert (found["state"], sum(one["rows"] for one in found["sources"])) == ("done", 9_597)
    again = await api.post("/api/recordings/jobs", json=asked, headers=headers)
    assert (again.status_code, "was imported already" in again.json()["detail"]) == (404, True)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"work": "import", "set": "a", "upload_id": "0" * 32}, 404, "no upload"),
        ({"work": "import", "set": "../a", "upload_id": "0" * 32}, 422, "set"),
        ({"work": "import", "set": "a"}, 422, "upload_id"),
        ({"work": "look", "set": "../../etc"}, 422, "There is no tick set '../../etc'; there are alpha-beta."),
        ({"work": "look"}, 422, "set"),
        ({"work": "dance"}, 422, "work"),
        ({"work": "example", "home": "/"}, 422, "home"),
    ],
)
async def test_what_cannot_be_asked_is_said(
    api: httpx.AsyncClient,
    headers: dict[str, str],
    store: MongoTradeStore,
    body: dict[str, object],
    status: int,
    words: str,
) -> None:
    await store.backtests.report_tick_sets([TICK_SET])
    answer = await api.post("/api/recordings/jobs", json=body, headers=headers)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text
    (entry, *_) = (await api.get("/api/audit?outcome=rejected", headers=headers)).json()["items"]
    assert (entry["who"], words in entry["reason"]) == ("owner", True)


async def test_a_piece_has_its_place(api: httpx.AsyncClient, headers: dict[str, str]) -> None:
    begun = await api.post("/api/recordings/uploads", json={"name": "a.csv", "size": 4}, headers=headers)
    address = f"/api/recordings/uploads/{begun.json()['upload_id']}"
    assert (await api.put(f"{address}?offset=2", content=b"cd", headers=headers)).status_code == 409
    assert (await api.put(f"{address}?offset=0", content=b"ab")).status_code == 401
    assert (await api.put(f"{address}?offset=0", content=b"ab", headers=headers)).json()["received"] == 2
    unknown = await api.put(f"/api/recordings/uploads/{'0' * 32}?offset=0", content=b"ab", headers=headers)
    assert unknown.status_code == 404
    large = await api.post("/api/recordings/uploads", json={"name": "a.csv", "size": 2**40}, headers=headers)
    assert (large.status_code, "MB at most" in large.json()["detail"]) == (409, True)


async def test_formats_are_listed_and_there_is_no_job_of_another_id(
    api: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    formats = (await api.get("/api/recordings/formats")).json()
    assert (formats[0], "tardis-quotes" in formats) == ("auto", True)
    for method in ("GET", "DELETE"):
        answer = await api.request(method, "/api/recordings/jobs/nowhere", headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (404, "There is no job 'nowhere' of recordings.")
