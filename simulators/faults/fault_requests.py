"""A fault as JSON, in and out."""

from dataclasses import asdict, fields

import orjson
from pydantic import TypeAdapter, ValidationError

from market.validation_messages import fault_text
from simulators.faults.faults import FAULT_KINDS, ActiveFault, Fault, FaultRejectedError

_FAULT = TypeAdapter(Fault)
_NAMES = tuple(field.name for field in fields(Fault))


def fault_from(body: object) -> Fault:
    """Raises FaultRejectedError with one sentence."""
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
        # strict as JSON is read: a mapping is taken for a fault, a text never for a number
        return _FAULT.validate_json(orjson.dumps(body), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise FaultRejectedError(f"{first['loc'][0]}: {fault_text(first)}, not {first['input']!r}.") from None


def fault_row(active: ActiveFault, now: int) -> dict[str, object]:
    """The requested fault, its number, its remaining count or time, and how often it was injected."""
    asked = {name: value for name, value in asdict(active.fault).items() if value is not None}
    left = {"count_left": active.left, "seconds_left": active.seconds_left(now)}
    rest = {name: value for name, value in left.items() if value is not None}
    return {"number": active.number, **asked, **rest, "struck": active.struck}
