"""Who asks, and whether they may: one service for REST, WebSocket and pages."""

from session.clock import wall_now
from session.roles import ANYBODY, AccessTerms, Caller, RateTerms
from session.session import Session
from ui.auth.address_groups import counted_address
from ui.auth.api_keys import caller_of, key_named, known_key
from ui.auth.oidc_tokens import Tokens
from ui.auth.rate_buckets import Rates
from ui.auth.sign_ins import SignIns
from ui.auth.socket_tickets import Tickets

NOTED_REJECTIONS = RateTerms(per_second=1, burst=100)
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


class Access:
    """Of one process: tickets, sign-ins and rates; keys are those of the data folder as they stand at each use."""

    def __init__(self, session: Session) -> None:
        terms: AccessTerms = session.access
        self.home = session.home
        self.tokens = None if terms.oidc is None else Tokens(terms.oidc)
        """None where no tokens are taken."""
        self.is_reading_open = is_loopback(session.web_host) and not terms.require_key
        """Whether reading needs no key."""
        self.tickets = Tickets()
        self.sign_ins = SignIns(session.home)
        self.requests = Rates(terms.requests)
        self.changes = Rates(terms.changes)
        self.guesses = Rates(terms.guesses)
        self.noted_rejections = Rates(NOTED_REJECTIONS)
        """Of all callers together: what the audit log is told of those that were turned away."""

    def by_key(self, given: str | None, address: str = "") -> Caller | None:
        """Whose key it is; None where it is nobody's."""
        key = known_key(self.home, given)
        return None if key is None else caller_of(key, "key", address)

    def guessed_wrong(self, address: str) -> float:
        """0 where another wrong key may come from there, else the seconds until it may."""
        return self.guesses.take(counted_address(address))

    def anybody(self, address: str = "") -> Caller | None:
        """The viewer that everybody is where reading is open; else None."""
        return Caller(ANYBODY, "viewer", "open", address) if self.is_reading_open else None

    def still_holds(self, caller: Caller) -> bool:
        """Whether a long connection may go on: its key has not been revoked, nor its role been taken, nor its sign-in
        or token come to its end."""
        if caller.until is not None and wall_now() >= caller.until:
            return False
        if caller.means == "open":
            return self.is_reading_open
        if caller.means == "token":
            return True
        if caller.sign_in and self.sign_ins.has_ended(caller.sign_in):
            return False
        key = key_named(self.home, caller.name)
        return key is not None and (key.role, key.mark) == (caller.role, caller.mark)


def is_loopback(web_host: str) -> bool:
    return web_host in LOOPBACK_NAMES or web_host.startswith("127.")
