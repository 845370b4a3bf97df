"""A small OpenID Connect issuer on loopback: its document, its keys, and tokens that it signs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.access_terms import OidcTerms

AUDIENCE = "arbitrage"


@dataclass(slots=True)
class Issuer:
    """`asked`: how often its keys were read; `is_away`: it answers with errors."""

    url: str = ""
    kid: str = "first"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    asked: int = 0
    is_away: bool = False
    calls_itself: str = ""

    @property
    def terms(self) -> OidcTerms:
        return OidcTerms(self.url, AUDIENCE, "realm_access.roles", ("trader",), ("desk",))

    def token(self, role: object = "trader", **claims: object) -> str:
        """Return a token that is valid for a minute, unless `claims` say otherwise."""
        return jwt.encode(self.claims(role, **claims), self.key, "ES256", headers={"kid": self.kid})

    def claims(self, role: object = "trader", **claims: object) -> dict[str, object]:
        reported = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "erika-1",
            "exp": wall_now() // MICROSECONDS + 60,
            "realm_access": {"roles": [role]},
        } | claims
        return {name: value for name, value in reported.items() if value is not None}

    async def document(self, _: web.Request) -> web.Response:
        if self.is_away:
            return web.Response(status=503)
        return web.json_response({"issuer": self.calls_itself or self.url, "jwks_uri": f"{self.url}/keys"})

    async def keys(self, _: web.Request) -> web.Response:
        self.asked += 1
        public = jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return web.json_response({"keys": [{**public, "kid": self.kid, "use": "sig", "alg": "ES256"}]})


@asynccontextmanager
async def issuing() -> AsyncIterator[Issuer]:
    issuer = Issuer()
    app = web.Application()
    app.router.add_get("/realm/.well-known/openid-configuration", issuer.document)
    app.router.add_get("/realm/keys", issuer.keys)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        issuer.url = f"http://127.0.0.1:{runner.addresses[0][1]}/realm"
        yield issuer
    finally:
        await runner.cleanup()
