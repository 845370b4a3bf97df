"""Access configuration: `require_key`, `[limits]`, `[oidc]`."""

from itertools import combinations
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from runtime.loopback import LOOPBACK_HOSTS
from session.access_terms import AccessTerms, OidcTerms, RateTerms

Claims = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=50)]
PerSecond = Annotated[float, Field(gt=0, le=100_000)]
Burst = Annotated[int, Field(ge=1, le=1_000_000)]


class LimitConfiguration(BaseModel):
    """Rate limits per key, or per address without a key: sustained rate and burst."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requests_per_second: PerSecond = 250.0
    requests_burst: Burst = 500
    changes_per_second: PerSecond = 10.0
    changes_burst: Burst = 40
    wrong_keys_per_second: PerSecond = 0.2
    """Limit of one address."""
    wrong_keys_burst: Burst = 10


class OidcConfiguration(BaseModel):
    """OpenID Connect issuer whose tokens REST accepts beside keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str = Field(min_length=1, max_length=500)
    """As its tokens name it; `/.well-known/openid-configuration` is requested below it."""
    audience: str = Field(min_length=1, max_length=200)
    role_claim: str = Field(default="roles", min_length=1, max_length=200)
    operators: Claims = ("operator",)
    viewers: Claims = ("viewer",)
    authors: Claims = ("author",)

    @field_validator("issuer")
    @classmethod
    def _is_reached_safely(cls, issuer: str) -> str:
        """Check the issuer's address: whoever can read or change the issuer's answers can make keys of its own."""
        parts = urlsplit(issuer)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS)
        if not is_safe or not parts.hostname or parts.username is not None or parts.query or parts.fragment:
            raise ValueError("must be an https address (http on loopback) without a name, password or query")
        return issuer

    @model_validator(mode="after")
    def _roles_differ(self) -> "OidcConfiguration":
        roles = {"operators": self.operators, "authors": self.authors, "viewers": self.viewers}
        for (one, words), (other, others) in combinations(roles.items(), 2):
            both = sorted(set(words) & set(others))
            if both:
                raise ValueError(f"{both[0]!r} is among {one} and {other}")
        return self


def access_terms(require_key: bool, limits: LimitConfiguration, oidc: OidcConfiguration | None) -> AccessTerms:
    """Return the access terms of the session."""
    return AccessTerms(
        require_key=require_key,
        requests=RateTerms(limits.requests_per_second, limits.requests_burst),
        changes=RateTerms(limits.changes_per_second, limits.changes_burst),
        guesses=RateTerms(limits.wrong_keys_per_second, limits.wrong_keys_burst),
        oidc=None if oidc is None else OidcTerms(**oidc.model_dump()),
    )
