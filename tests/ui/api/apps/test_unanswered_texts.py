"""What the process that checks texts does not answer in time is nobody's mistake: it is to be tried again."""

import sys
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from session.session import Session
from tests.ui.api.apps.app_samples import WIDE, WIDER, key_of
from ui.apps.app_texts import AppTexts
from ui.services.dashboard import dashboard_of

ENDS = "import sys; sys.stdin.readline()"
Headers = dict[str, str]


@pytest.fixture
def author(session: Session) -> Headers:
    return key_of(session, "writer", "author")


@pytest.fixture
async def silent(application: FastAPI) -> AsyncIterator[None]:
    """Let the process end at each question."""
    texts = AppTexts(dashboard_of(application).session, (sys.executable, "-c", ENDS))
    application.state.app_texts, before = texts, application.state.app_texts
    yield
    application.state.app_texts = before
    await texts.close()


@pytest.mark.usefixtures("silent")
async def test_a_change_that_needs_a_checked_text_is_to_be_tried_again(api: httpx.AsyncClient, author: Headers) -> None:
    body = {"name": "wide", "text": WIDE}
    drafted = await api.post("/api/apps", json={**body, "draft": True}, headers=author)
    assert (drafted.status_code, drafted.json()["text"]) == (201, WIDE)
    source = {"minutes": 1}
    refused = [
        await api.post("/api/apps", json={**body, "name": "other"}, headers=author),
        await api.put("/api/apps/wide", json={"text": WIDER, "version": 1}, headers=author),
        await api.post("/api/apps/wide/publish", json={}, headers=author),
        await api.post("/api/apps/dry-run", json={"text": WIDE, "source": source}, headers=author),
        await api.post("/api/apps/explain", json={"text": WIDE}),
    ]
    for answer in refused:
        assert (answer.status_code, answer.headers.get("retry-after")) == (503, "2")
        assert "try again" in answer.json()["detail"]
        assert "mistakes" not in answer.json()
    assert [(one["name"], one["version"]) for one in (await api.get("/api/apps")).json()["apps"]] == [("wide", 1)]


@pytest.mark.usefixtures("silent")
async def test_a_check_says_that_the_text_was_not_checked(api: httpx.AsyncClient) -> None:
    (mistake,) = (await api.post("/api/apps/check", json={"text": WIDE})).json()["mistakes"]
    assert "try again" in mistake["message"]
