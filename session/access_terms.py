"""The access rules that the session's owner configures. Hold no secret."""

from dataclasses import dataclass, field

from session.app_actions import AppActionTerms


@dataclass(frozen=True, slots=True)
class RateTerms:
    """Requests of one caller: `per_second` in the long run, `burst` at once."""

    per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class OidcTerms:
    """Whose tokens are taken, and what makes their bearers viewers, authors or operators. Holds no secret."""

    issuer: str
    audience: str
    role_claim: str = "roles"
    """Name of the claim; a path with dots if it lies deeper."""
    operators: tuple[str, ...] = ("operator",)
    """Values of the claim."""
    viewers: tuple[str, ...] = ("viewer",)
    authors: tuple[str, ...] = ("author",)


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
    acting_apps: tuple[AppActionTerms, ...] = ()
    """What else the rows of stream apps may do, by app."""

    def acts_on_trading(self, app: str) -> bool:
        """Return whether rows of the app may change a setting, or notify people."""
        return app in self.halting_apps or any(one.app == app for one in self.acting_apps)
