import httpx
import pytest
from fastapi import FastAPI

from session.session import Session
from ui.live.detection_state import DetectionState
from ui.live.snapshot import Sources
from ui.services.dashboard import dashboard_of


async def test_health_says_what_is_followed(api: httpx.AsyncClient, session: Session) -> None:
    row = (await api.get("/api/health")).json()
    assert (row["status"], row["mode"], row["session_id"]) == ("ok", "paper", session.session_id)
    assert row["sources"]["kafka"] is False
    assert (row["simulated_market"]["name"], row["simulated_market"]["tape"]) == ("busy", None)
    assert "Binance" in row["simulated_market"]["calibrated_on"]


async def test_without_kafka_it_is_not_ready_and_says_so(api: httpx.AsyncClient) -> None:
    answer = await api.get("/api/ready")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert "kafka" in answer.json()["detail"]
    assert answer.json()["detection"] == "unknown"


@pytest.mark.parametrize(
    ("detection", "status", "missing"),
    [
        ("unknown", 200, []),
        ("working", 200, []),
        ("starting", 503, ["detection"]),
        ("silent", 503, ["detection"]),
    ],
)
async def test_readiness_is_by_the_sources_and_by_detection(
    api: httpx.AsyncClient, application: FastAPI, detection: DetectionState, status: int, missing: list[str]
) -> None:
    live_state = dashboard_of(application).hub.live_state
    live_state.sources, live_state.detection = Sources(kafka=True, mongodb=True), detection
    answer = await api.get("/api/ready")
    assert (answer.status_code, answer.json()["detection"], answer.json()["missing"]) == (status, detection, missing)
    assert ("retry-after" in answer.headers) == (status == 503)


async def test_the_documentation_is_served_from_here_alone(api: httpx.AsyncClient) -> None:
    page = (await api.get("/docs")).text
    assert "http://" not in page.replace("http://127.0.0.1:8000", "")
    assert "https://" not in page
    for path in ("/vendor/swagger-ui/swagger-ui-bundle.js", "/vendor/swagger-ui/swagger-ui.css"):
        assert path in page
        assert (await api.get(path)).status_code == 200


async def test_openapi_names_every_path_and_its_problems(api: httpx.AsyncClient) -> None:
    paths = (await api.get("/openapi.json")).json()["paths"]
    expected = {"quotes", "spreads", "opportunities", "arbitrages", "trades", "rejections", "balances", "pnl", "feeds"}
    assert {f"/api/{name}" for name in expected | {"settings", "health", "ready"}} <= set(paths)
    assert {"401", "404", "409", "412", "422", "428"} <= set(paths["/api/settings"]["patch"]["responses"])
