"""Paths into JSON: `$.a.b[0]`, `$['a b'].c[*]`, `a.b`. They compute nothing."""

import re
from collections.abc import Mapping
from typing import Any

Step = str | int | None
"""A name, a place in a list, or all of a list or an object."""
_STEP = re.compile(r"""\.?(?:([A-Za-z_][\w-]*)|(\*)|\[(-?[0-9]{1,6})\]|\[(\*)\]|\['([^']*)'\]|\["([^"]*)"\])""")


def json_path(text: str) -> tuple[Step, ...]:
    """Raise ValueError if the text is no such path."""
    rest, steps = text.strip().removeprefix("$"), list[Step]()
    while rest:
        found = _STEP.match(rest)
        if found is None or (found[0].startswith(".") and found[0][1] == "["):
            raise ValueError(f"{text!r} is no path; write $, $.name, $.name[0].other, $['a name'] or $.*")
        name = next((one for one in (found[1], found[5], found[6]) if one is not None), None)
        steps.append(name if name is not None else int(found[3]) if found[3] is not None else None)
        rest = rest[found.end() :]
    return tuple(steps)


def json_values(found: Any, steps: tuple[Step, ...]) -> list[Any]:
    """Return what is there; nothing if nothing is. More than one only behind `*`."""
    values = [found]
    for step in steps:
        values = [below for value in values for below in _below(value, step)]
    return values


def _below(value: Any, step: Step) -> list[Any]:
    match step:
        case None:
            return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        case str():
            return [value[step]] if isinstance(value, Mapping) and step in value else []
        case _:
            is_there = isinstance(value, list) and -len(value) <= step < len(value)
            return [value[step]] if is_there else []
