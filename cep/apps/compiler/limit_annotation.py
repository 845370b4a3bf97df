"""`@App:limits(window.rows = '1000', …)`: less than the operator allows; and windows that could never be within it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cep.apps.compiler.window_plans import STREAM_WORKER_NAMES
from cep.apps.language.app_tree import Annotation, App, Window, WindowDefinition
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Constant, FunctionCall
from cep.apps.language.stream_names import nodes_of
from cep.apps.parts.app_limits import AppLimits
from cep.apps.parts.scope import unknown


@dataclass(frozen=True, slots=True)
class LimitName:
    field: str
    read: Callable[[str], float]


LIMITS: Mapping[str, LimitName] = {
    "window.rows": LimitName("window_rows", int),
    "partial.matches": LimitName("partial_matches", int),
    "keys": LimitName("keys", int),
    "table.rows": LimitName("table_rows", int),
    "event.seconds": LimitName("event_seconds", float),
    "state.bytes": LimitName("state_bytes", int),
}
"""By the name in an app's text."""
SIZES: Mapping[str, int] = {"length": 0, "lengthBatch": 0, "timeLength": 1, "sort": 0, "batch": 0, "frequent": 0}
"""Which argument of a window is its size in rows."""
KEPT_BATCHES = 2
"""A batch window keeps the batch before the one that it collects."""


def app_limits(app: App, most: AppLimits) -> AppLimits:
    """Those of the app, if it has some, and else `most`. Raises AppTextError."""
    limits = most
    for annotation in app.annotations:
        if annotation.name.lower() == "app:limits":
            limits = replace(limits, **dict(_given(annotation, most)))
    _check_sizes(app, limits)
    return limits


def _given(annotation: Annotation, most: AppLimits) -> Iterator[tuple[str, Any]]:
    for item in annotation.items:
        key = item.key or ""
        if key not in LIMITS:
            raise unknown(annotation.at, f"there is no limit {key!r}", key, list(LIMITS))
        limit = LIMITS[key]
        try:
            value = limit.read(item.value)
        except ValueError:
            value = 0
        allowed = getattr(most, limit.field)
        if not 0 < value <= allowed:
            problem = f"{key} = {item.value!r}: a number above 0 and up to {allowed:,} is expected"
            raise AppTextError(annotation.at, f"{problem}, which the operator allows")
        yield limit.field, value


def _check_sizes(app: App, limits: AppLimits) -> None:
    for node in nodes_of((app.definitions, app.elements)):
        if isinstance(node, Window | WindowDefinition):
            _check_size(node.window, limits)


def _check_size(call: FunctionCall, limits: AppLimits) -> None:
    name = STREAM_WORKER_NAMES.get(call.name.upper(), call.name)
    place = SIZES.get(name, len(call.arguments))
    size = call.arguments[place] if place < len(call.arguments) else None
    kept = KEPT_BATCHES if name == "lengthBatch" else 1
    if isinstance(size, Constant) and size.type == "int" and size.value * kept > limits.window_rows:  # type: ignore[operator]
        problem = f"a window of {size.value:,} rows is larger than the {limits.window_rows:,} that are allowed"
        raise AppTextError(size.at, problem)
