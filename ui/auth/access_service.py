"""Identifies callers and decides what they may do: one service for REST, WebSocket and pages."""

from runtime.clock import wall_now
from runtime.loopback import is_loopback
from session.access_terms import AccessTerms, RateTerms
from session.session import Session
from ui.auth.address_groups import counted_address
from ui.auth.api_keys import caller_of, key_named, known_key
from ui.auth.callers import ANYBODY, Caller
from ui.auth.last_seen import LastSeen
from ui.auth.oidc_tokens import Tokens
from ui.auth.rate_buckets import Rates
from ui.auth.sign_ins import SignIns
from ui.auth.socket_tickets import Tickets

AUDITED_REJECTIONS = RateTerms(per_second=1, burst=100)
QUESTIONS = RateTerms(per_second=20, burst=60)
PIECES = RateTerms(per_second=20, burst=40)
SIGN_INS = RateTerms(per_second=0.2, burst=30)
RECHECK_SECONDS = 2.0


class Access:
    """Tickets, sign-ins and rates of one process. Keys are read from the data folder at each use."""

    def __init__(self, session: Session) -> None:
        terms: AccessTerms = session.page.access
        self.home = session.home
        self.tokens = None if terms.oidc is None else Tokens(terms.oidc)
        """None if no OIDC issuer is configured."""
        self.is_reading_open = is_loopback(session.page.host) and not terms.require_key
        """Whether reading needs no key."""
        self.tickets = Tickets()
        self.sign_ins = SignIns(session.home)
        self.seen = LastSeen()
        self.requests = Rates(terms.requests)
        self.changes = Rates(terms.changes)
        self.questions = Rates(QUESTIONS)
        """Questions that cost CPU: texts to check, and queries."""
        self.pieces = Rates(PIECES)
        """Pieces of uploaded files: by the hundred, and none may keep anybody from the kill switch."""
        self.signing_in = Rates(SIGN_INS)
        """By key; each is written to the disk."""
        self.guesses = Rates(terms.guesses)
        self.audited_rejections = Rates(AUDITED_REJECTIONS)
        """Rejections that are written to the audit log, of all callers together."""
        self.recheck_seconds = RECHECK_SECONDS
        """Interval at which a stream checks whether its caller may still listen."""

    def by_key(self, given: str | None, address: str = "") -> Caller | None:
        """Return the caller with this key; None for an unknown key."""
        key = known_key(self.home, given)
        return None if key is None else caller_of(key, "key", address)

    def count_wrong_key(self, address: str) -> float:
        """Count a wrong key. Return 0, or the seconds for which this address may not try again."""
        return self.guesses.take(counted_address(address))

    def anybody(self, address: str = "") -> Caller | None:
        """Return the anonymous viewer if reading is open; else None."""
        return Caller(ANYBODY, "viewer", "open", address) if self.is_reading_open else None

    def still_holds(self, caller: Caller) -> bool:
        """Return whether a long connection may go on: key, role, sign-in and token are still valid."""
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
