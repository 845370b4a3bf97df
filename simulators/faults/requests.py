"""A fault as JSON, in and out, and a description of each kind: in general, and for exchanges that differ."""

from collections.abc import Mapping
from dataclasses import asdict, fields

import orjson
from pydantic import TypeAdapter, ValidationError

from market.validation_messages import fault_text
from simulators.catalogue import terms_of
from simulators.faults.fault_kinds import FAULT_KINDS, ActiveFault, Fault, FaultKind, FaultRejectedError

_DESCRIPTIONS: Mapping[FaultKind, str] = {
    "latency": "every request takes this many milliseconds longer, half of them before it reaches the exchange",
    "http_429": "requests are answered by HTTP 429 with the exchange's text for too many requests",
    "http_418": "requests are answered by HTTP 418 with the exchange's text for a ban",
    "http_5xx": "requests are answered by HTTP 500 or 503 with the exchange's text, other statuses with a proxy's page",
    "ban": "requests, including new streams, are answered as to a banned client",
    "maintenance": "requests are answered as in maintenance, and streams are closed with code 1012",
    "garbage_frame": "an unreadable frame is sent before the right one",
    "truncated_frame": "a frame is truncated, and the rest is never sent",
    "dropped_message": "a message of a channel is not sent",
    "duplicated_message": "a message of a channel is sent twice",
    "reordered_message": "two messages of a channel are swapped",
    "silent_stream": "a connection sends nothing more but answers to requests; pings are answered",
    "no_pongs": "pings are not answered, neither WebSocket's nor the exchange's own",
    "socket_ended": "a stream's connection is closed as after its longest life",
    "crossed_book": "a book message has a bid above the best ask; the next one corrects it",
    "clock_skew": "the exchange's clock is off, in its answers and in its checks of signatures",
    "lost_acknowledgement": "the order, or the withdrawal, is accepted, but never answered",
    "duplicate_fill_report": "the account's stream reports a fill twice, or a list of fills has its newest twice",
    "rejected_order": "an order is rejected without a reason",
    "partial_fill_then_nothing": "a part of the order fills; the rest neither fills nor is cancelled until then",
    "lie": "an answer about an order says what is not true, one field or all that belong together; nothing is done",
    "disconnect_during_order": "all connections break while an order is being posted; it may have arrived",
}
_FAULT = TypeAdapter(Fault)
_NAMES = tuple(field.name for field in fields(Fault))


def fault_description(kind: FaultKind, exchange: str) -> str:
    """Return a description of the fault, in one sentence."""
    return terms_of(exchange).faults.get(kind, _DESCRIPTIONS[kind])


def fault_from(body: object) -> Fault:
    """Return the fault. Raises FaultRejectedError with one sentence."""
    if not isinstance(body, dict):
        raise FaultRejectedError(
            'A fault is a JSON object such as {"exchange": "kraken", "kind": "ban", "seconds": 5}.'
        )
    for name in body:
        if name not in _NAMES:
            raise FaultRejectedError(f"A fault has no field {name!r}; it has {', '.join(_NAMES)}.")
    for name in ("exchange", "kind"):
        if name not in body:
            raise FaultRejectedError(f"The fault's {name} is missing.")
    if body["kind"] not in FAULT_KINDS:
        raise FaultRejectedError(f"There is no fault {body['kind']!r}; there are {', '.join(FAULT_KINDS)}.")
    try:
        # strict as JSON is read: a mapping is taken as a fault, text never as a number
        return _FAULT.validate_json(orjson.dumps(body), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise FaultRejectedError(f"{first['loc'][0]}: {fault_text(first)}, not {first['input']!r}.") from None


def fault_row(active: ActiveFault, now: int) -> dict[str, object]:
    """Return the requested fault, its number, its remaining count or time, and how often it was injected."""
    asked = {name: value for name, value in asdict(active.fault).items() if value is not None}
    left = {"count_left": active.left, "seconds_left": active.seconds_left(now)}
    rest = {name: value for name, value in left.items() if value is not None}
    return {"number": active.number, **asked, **rest, "struck": active.injected}
