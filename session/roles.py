"""Access control: roles, callers, and the terms that the session's owner configures."""

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["viewer", "operator"]
"""A viewer reads; an operator changes too."""
Means = Literal["open", "key", "sign-in", "token"]
"""By what a caller is known: by nothing (reading is open), an API key, a signed-in browser, an OIDC token."""

ANYBODY = "anybody"
OWNER = "owner"
"""Whom the first key of a data folder belongs to."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller. `name` is a key's name, or a token's subject; `address` where the request came from."""

    name: str
    role: Role
    means: Means = "open"
    address: str = ""
    mark: str = field(default="", repr=False)
    """Tells keys apart, so that a replaced key differs from the one before; not the key, nor its hash."""
    until: int | None = field(default=None, compare=False)
    """When the sign-in or the token ends, microseconds UTC; None for what has no end."""
    sign_in: str = field(default="", repr=False, compare=False)
    """Which sign-in of a browser it is, so that its end ends what it opened; empty if it is none."""

    @property
    def may_change(self) -> bool:
        return self.role == "operator"


@dataclass(frozen=True, slots=True)
class RateTerms:
    """Requests of one caller: `per_second` in the long run, `burst` at once."""

    per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class OidcTerms:
    """Whose tokens are taken, and what makes their bearers viewers or operators. Holds no secret."""

    issuer: str
    audience: str
    role_claim: str = "roles"
    """Name of the claim; a path with dots if it lies deeper."""
    operators: tuple[str, ...] = ("operator",)
    """Values of the claim."""
    viewers: tuple[str, ...] = ("viewer",)


@dataclass(frozen=True, slots=True)
class AccessTerms:
    """The access rules of a session."""

    require_key: bool = False
    """Whether reading needs a key too; beyond loopback it does in any case."""
    requests: RateTerms = field(default=RateTerms(250, 500))
    changes: RateTerms = field(default=RateTerms(10, 40))
    guesses: RateTerms = field(default=RateTerms(0.2, 10))
    """Wrong keys, tickets and tokens from one address."""
    oidc: OidcTerms | None = None
    halting_apps: tuple[str, ...] = ()
    """Names of the stream apps whose rows may take an exchange off."""
