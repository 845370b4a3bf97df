"""What a destination's HTTP answer means: taken, to be tried again, or rejected for good."""

from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from market.time_units import MICROSECONDS
from notices.errors import DestinationRejectedError, DestinationUnavailableError
from runtime.clock import wall_now

LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
LONGEST_WAIT = 3_600.0
"""Maximum wait in seconds; a destination that asks for more is tried earlier all the same."""


def check_answer(status: int, retry_after: float | None = None, said: str = "") -> None:
    """Return if the message was accepted (2xx). Raises DestinationUnavailableError for 408, 425, 429 and 5xx,
    DestinationRejectedError for anything else; `said`, the reason that it gave, must hold no secret."""
    if 200 <= status < 300:
        return
    reason = f"HTTP {status}{_phrase(status)}{f': {said}' if said else ''}"
    if status in LATER or status >= 500:
        raise DestinationUnavailableError(reason, retry_after)
    if 300 <= status < 400:
        raise DestinationRejectedError(f"{reason}; name the address that it sends to")
    raise DestinationRejectedError(reason)


def seconds_to_wait(header: str | None, now: int | None = None) -> float | None:
    """Return the wait in a Retry-After header, which has seconds or a date (RFC 9110, 10.2.3); None if it has
    neither."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        # a time zone of twenty digits overflows
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    seconds = moment.timestamp() - (wall_now() if now is None else now) / MICROSECONDS
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
