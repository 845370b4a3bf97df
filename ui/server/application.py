"""One origin: REST and WebSocket of FastAPI, and Streamlit mounted below it for everything else."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote

import streamlit
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import Headers
from starlette.routing import BaseRoute

from session.session import Session
from store.queries.trade_reader import open_reader
from ui.api import audit_routes as audit
from ui.api import backtest_routes as backtests
from ui.api import bot_routes as bots
from ui.api import difference_routes as differences
from ui.api import health_routes as health
from ui.api import inventory_routes as inventory
from ui.api import key_routes as keys
from ui.api import live_routes as live
from ui.api import log_routes as logs
from ui.api import market_routes as market
from ui.api import metrics_routes as metrics
from ui.api import notice_routes as notices
from ui.api import opportunity_routes as opportunities
from ui.api import region_routes as regions
from ui.api import risk_routes as risk
from ui.api import settings_routes as tuning
from ui.api import sign_in_routes as signing_in
from ui.api import strategy_routes as strategies
from ui.api import ticket_routes as tickets
from ui.api import trade_routes as trades
from ui.api import transfer_routes as transfers
from ui.api.apps import archive_routes as app_archives
from ui.api.apps import dry_run_routes as dry_runs
from ui.api.apps import error_routes as app_errors
from ui.api.apps import language_routes as app_language
from ui.api.apps import live_rows as live_app_rows
from ui.api.apps import openapi_routes as openapi
from ui.api.apps import row_routes as app_rows
from ui.api.apps import signal_routes as app_signals
from ui.api.apps import stored_routes as stored_apps
from ui.api.apps import text_routes as app_texts
from ui.api.apps.app_requests import answer_app_problems
from ui.api.desk import alert_routes as alerts
from ui.api.desk import alert_rule_routes as alert_rules
from ui.api.desk import candle_routes as candles
from ui.api.runs import comparison_routes as comparisons
from ui.api.runs import recording_routes as recordings
from ui.api.runs import sweep_routes as sweeps
from ui.apps.acting_apps import follow_acting_apps
from ui.apps.app_endpoints import AppEndpoints
from ui.apps.app_processes import DRY_RUN, TEXTS, configured, recording_jobs, sweep_jobs
from ui.apps.app_signals import AppSignals
from ui.apps.app_texts import AppTexts
from ui.apps.dry_runs import DryRuns
from ui.apps.left_out_actions import LeftOutActions
from ui.auth.access_service import Access
from ui.auth.api_keys import ensure_api_key
from ui.auth.key_changes import audit_key_changes
from ui.desk.alert_keeper import AlertKeeper
from ui.desk.rule_keeper import RuleKeeper
from ui.desk.rule_notices import RuleNotices
from ui.desk.what_if import WhatIf
from ui.http import label_script as page_labels
from ui.http import problem_types
from ui.http.body_limit import BoundedBodies
from ui.http.known_markets import known_markets
from ui.http.known_parameters import known_parameters
from ui.http.memory_files import HASHED, REVALIDATED, MemoryFiles
from ui.http.methods import HeadAsGet, OtherRequests, PathTemplate, path_templates
from ui.http.operator_requests import operator_of
from ui.http.page_auth import SignedInOnly
from ui.http.problems import PROBLEM_RESPONSE
from ui.http.route_auth import REJECTED, viewer
from ui.http.same_host import SameHostOnly, names_of
from ui.http.security_headers import SafeHeaders, page_policy
from ui.pages.shell import ICON, PATHS, STREAMLIT, page_shell
from ui.runs.comparison import Comparisons
from ui.runs.uploads import Uploads
from ui.server.connection_limits import RawHeaders
from ui.server.stream_caps import BoundedStreams
from ui.services.dashboard import Dashboard, announce, dashboard_of, withdraw
from ui.services.health import HealthService
from ui.services.prometheus_metrics import Metrics
from ui.services.request_metrics import CountedRequests
from ui.stream.found_cycles import FoundCycles
from ui.stream.live_hub import LiveHub

FOLDER = Path(__file__).parents[1]
SCRIPT = FOLDER / "script" / "app.py"
"""The script has a folder of its own: Streamlit puts it first on the import path, and takes each module of a folder
`pages` beside the script for a page."""
LIVE_BY_NAME = "/live"
"""As a user types it: Streamlit serves its first page only at `/`, and says that any other path of it does not
exist."""

ARBITRAGE_BY_ID = "/arbitrage/{arbitrage_id}"
"""As a user types it: a page of Streamlit has one path."""


def build_app(session: Session, config: Path | None = None, *, with_pages: bool = True) -> FastAPI:
    """Return the whole web application. Its lifespan opens the one client of the store and runs the hub.

    `config`: the session's file, which says what apps may use; None: `arbitrage.toml` of the working folder, if it is
    there. `with_pages` False leaves Streamlit out: one process can hold but one.
    """
    pages = streamlit.App(SCRIPT) if with_pages else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with _following(app, session, config):
            if pages is None:
                yield
            else:
                async with pages.lifespan()(app):
                    yield

    # the document, and the page that shows it, are routes of our own
    app = FastAPI(title="Cross-exchange arbitrage", version="1", lifespan=lifespan, openapi_url=None)
    app.add_middleware(BoundedBodies)
    app.add_middleware(HeadAsGet)
    app.add_middleware(SignedInOnly)
    app.add_middleware(BoundedStreams, is_from_operator=partial(is_from_operator, app))
    app.add_middleware(SameHostOnly, names=names_of(session.page.host))
    app.state.metrics = Metrics()
    app.add_middleware(CountedRequests, metrics=app.state.metrics.requests)
    app.add_middleware(SafeHeaders, policy=page_policy(page_shell()))
    answer_app_problems(app)
    app.include_router(page_labels.router)
    for name in ("assets", "vendor"):
        app.mount(f"/{name}", MemoryFiles(FOLDER / name, REVALIDATED))
    if pages is not None:
        app.mount("/static", MemoryFiles(STREAMLIT.parent / "static", HASHED))
    _include_routes(app)
    if pages is not None:
        _serve_shell(app)
        app.mount("/", pages)
    return app


def _serve_shell(app: FastAPI) -> None:
    def serve(shell: HTMLResponse) -> Callable[[], Awaitable[HTMLResponse]]:
        async def serve_shell() -> HTMLResponse:
            return shell

        return serve_shell

    for path in PATHS:
        shell = HTMLResponse(page_shell(path), headers={"Cache-Control": REVALIDATED})
        app.add_api_route(path, serve(shell), include_in_schema=False, response_model=None)


READING = (
    app_language,
    dry_runs,
    app_archives,
    app_texts,
    stored_apps,
    app_errors,
    app_signals,
    app_rows,
    alert_rules,
    alerts,
    # before the backtests, each of which has a path of one word more
    comparisons,
    backtests,
    bots,
    candles,
    differences,
    transfers,
    inventory,
    market,
    notices,
    opportunities,
    recordings,
    regions,
    risk,
    strategies,
    sweeps,
    trades,
    tuning,
)


def _include_routes(app: FastAPI) -> None:
    app.router.routes.insert(0, OtherRequests(_templates))
    app.router.routes.extend(_our_routes())
    app.include_router(_by_name)


@cache
def _our_routes() -> tuple[BaseRoute, ...]:
    """Return the routes of every application of this process, which differ in nothing but their state.

    FastAPI reads the signatures of all of them at the first request, which takes longer than the rest of a start."""
    router = APIRouter()
    knowing = [Depends(known_parameters), Depends(known_markets)]
    for module in READING:
        # no route may forget to check who reads
        router.include_router(
            module.router, prefix="/api", dependencies=[Depends(viewer), *knowing], responses=REJECTED
        )
    for module in (audit, keys, problem_types, signing_in, tickets):
        router.include_router(module.router, prefix="/api", dependencies=knowing, responses=REJECTED)
    router.include_router(signing_in.page_router)
    for module in (health, logs):
        router.include_router(module.router, prefix="/api", dependencies=knowing, responses={422: PROBLEM_RESPONSE})
    for own in (metrics.router, openapi.router, live.router, live_app_rows.router):
        router.include_router(own)
    return tuple(router.routes)


@cache
def _templates() -> tuple[PathTemplate, ...]:
    return path_templates(_our_routes())


_by_name = APIRouter(include_in_schema=False)


@_by_name.get(LIVE_BY_NAME, response_model=None)
async def live_by_name(request: Request) -> RedirectResponse:
    query = request.url.query
    return RedirectResponse(f"/?{query}" if query else "/")


@_by_name.get(ARBITRAGE_BY_ID, response_model=None)
async def arbitrage_by_id(arbitrage_id: str) -> RedirectResponse:
    return RedirectResponse(f"/arbitrage?id={quote(arbitrage_id, safe='')}")


@_by_name.get("/docs")
async def documentation() -> HTMLResponse:
    """Return Swagger UI from our own files; FastAPI's own page would fetch it from another host."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Cross-exchange arbitrage: API",
        swagger_js_url="/vendor/swagger-ui/swagger-ui-bundle.js",
        swagger_css_url="/vendor/swagger-ui/swagger-ui.css",
        swagger_favicon_url=ICON,
        # it draws a long list as one scrolls, and then a page's search finds nothing of what is further down
        swagger_ui_parameters={"docExpansion": "none"},
    )
    page.headers["Content-Security-Policy"] = page_policy(bytes(page.body).decode())
    return page


@asynccontextmanager
async def _following(app: FastAPI, session: Session, config: Path | None) -> AsyncIterator[None]:
    ensure_api_key(session.home)
    reader = await open_reader(session)
    hub = LiveHub(session, reader)
    following = asyncio.create_task(hub.run())
    auditing = asyncio.create_task(audit_key_changes(session.home, reader.audit))
    app.state.left_out_actions = LeftOutActions()
    following_apps = follow_acting_apps(session, reader.settings, hub.apply_settings, app.state.left_out_actions)
    acting = asyncio.create_task(following_apps)
    watch, cycles = HealthService(session, hub, reader), FoundCycles(session)
    loop = asyncio.get_running_loop()
    app.state.dashboard = Dashboard(session, hub, reader, loop, following, Access(session), watch, cycles)
    rules, notices = RuleKeeper(session.home, app.state.metrics, hub), RuleNotices(reader.audit.begin)
    app.state.signals = AppSignals(session.home)
    app.state.alerts = AlertKeeper(session.home, watch, hub, rules, notices, app.state.signals.alerting)
    alerting = asyncio.create_task(app.state.alerts.run())
    app.state.app_texts = AppTexts(session, configured(TEXTS, config))
    app.state.app_endpoints = AppEndpoints(OrderedDict())
    _begin_runs(app, session, config)
    announce(app.state.dashboard)
    try:
        yield
    finally:
        withdraw()
        await app.state.app_texts.close()
        await app.state.dry_runs.close()
        await app.state.recording_jobs.close()
        await app.state.sweep_jobs.close()
        tasks = (following, auditing, acting, alerting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await hub.candles.write()
        await watch.close()
        await cycles.close()
        await reader.close()


def _begin_runs(app: FastAPI, session: Session, config: Path | None) -> None:
    """Take up what people asked of texts, recordings and settings."""
    app.state.what_if, app.state.comparisons = WhatIf(), Comparisons()
    app.state.uploads = Uploads(session.home / "uploads")
    app.state.dry_runs = DryRuns(session.home, configured(DRY_RUN, config))
    app.state.recording_jobs, app.state.sweep_jobs = recording_jobs(session.home), sweep_jobs(session.home)
    app.state.dry_runs.begin()
    app.state.recording_jobs.begin()
    app.state.sweep_jobs.begin()


def is_from_operator(app: FastAPI, headers: RawHeaders) -> bool:
    """Return whether these headers are of an operator's request."""
    return operator_of(dashboard_of(app).access, Headers(raw=headers)) is not None
