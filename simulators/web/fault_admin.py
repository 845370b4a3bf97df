"""Routes to inject faults over HTTP; the token's file gives access."""

import hmac
import secrets
from pathlib import Path

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from runtime.clock import Clock
from simulators.faults.fault_kinds import FAULT_KINDS, FaultKind, FaultRejectedError, Faults
from simulators.faults.requests import fault_description, fault_from, fault_row
from simulators.web.account_keys import write_private
from simulators.web.exchange_gateway import json_reply


def token_path(home: Path) -> Path:
    return home / "exchange_admin_token"


def ensure_token(home: Path) -> str:
    """Return the token that opens the admin routes, made at the first start; only its owner may read the file."""
    path = token_path(home)
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32))
    return path.read_text().strip()


def admin_application(faults: Faults, clock: Clock, token: str) -> web.Application:
    """Return GET, POST and DELETE of `/faults`; errors are `{"error": "<one sentence>"}`."""
    routes = _FaultRoutes(faults, clock)
    application = web.Application(middlewares=[_guard(token)])
    application.add_routes(
        [
            web.get("/faults", routes.listed),
            web.post("/faults", routes.switched_on),
            web.delete("/faults", routes.cleared),
        ]
    )
    return application


def _guard(token: str) -> Middleware:
    expected = f"Bearer {token}".encode()

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode(errors="surrogateescape")
        if not hmac.compare_digest(expected, given):
            rejection = json_reply(
                {"error": "This needs the header Authorization: Bearer <exchange_admin_token>."}, 401
            )
            rejection.headers["WWW-Authenticate"] = "Bearer"
            return rejection
        try:
            return await handler(request)
        except FaultRejectedError as error:
            return json_reply({"error": str(error)}, 400)

    return guard


class _FaultRoutes:
    def __init__(self, faults: Faults, clock: Clock) -> None:
        self._faults = faults
        self._clock = clock

    async def listed(self, _request: web.Request) -> web.Response:
        """Return active faults, how often each kind was injected since the start, and descriptions of all kinds."""
        kinds = {kind: {name: fault_description(kind, name) for name in self._faults.exchanges} for kind in FAULT_KINDS}
        return json_reply({"faults": self._rows(), "strikes": self._faults.injected_counts(), "kinds": kinds})

    async def switched_on(self, request: web.Request) -> web.Response:
        try:
            body = orjson.loads(await request.read())
        except orjson.JSONDecodeError:
            raise FaultRejectedError("The body is not JSON.") from None
        active = self._faults.switch_on(fault_from(body))
        return json_reply(fault_row(active, self._clock.now()), 201)

    async def cleared(self, request: web.Request) -> web.Response:
        """Clear all faults, or those of `?exchange=` and `?kind=`. Returns what is left."""
        self._faults.clear(request.query.get("exchange"), _kind(request.query.get("kind")))
        return json_reply({"faults": self._rows()})

    def _rows(self) -> list[dict[str, object]]:
        now = self._clock.now()
        return [fault_row(active, now) for active in self._faults.active()]


def _kind(name: str | None) -> FaultKind | None:
    for kind in FAULT_KINDS:
        if name == kind:
            return kind
    if name is not None:
        raise FaultRejectedError(f"There is no fault {name!r}; there are {', '.join(FAULT_KINDS)}.")
    return None
