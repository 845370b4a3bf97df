"""Random stream apps: number and seed give the same app with the same rows each time.

An app is one to three queries over two streams; later ones may read the rows of earlier ones.
"""

from collections.abc import Callable
from random import Random

from tests.cep.apps.random_apps.random_drafts import Draft, grouped_selection, plain_selection
from tests.cep.apps.random_apps.random_parts import (
    collided,
    grouped,
    purged,
    self_joined,
    session_joined,
    starred,
    summed_by_calendar,
)
from tests.cep.apps.random_apps.random_patterns import matched, pattern, sequence
from tests.cep.apps.random_apps.random_queries import (
    counted_window,
    filtered,
    joined,
    named_window,
    rated,
    tabled,
    windowed,
)
from tests.cep.apps.random_apps.random_rows import BASES, DEALS, TICKS, RandomCase, Shape

Template = Callable[[Draft, Shape], Shape | None]
TIMED = ("time", "Time", " for ", "delay", "session", "sec")
"""Words of queries whose clock may have to do with several keys at once."""


def random_case(seed: int, number: int) -> RandomCase:
    rng = Random(f"{seed}/{number}")
    name = rng.choice([*FIRST])
    draft = Draft(rng)
    made = FIRST[name](draft, draft.base())
    while made is not None and rng.random() < 0.35:
        made = rng.choice(LATER)(draft, made)
    return draft.case(f"{name}/{seed}/{number}")


def _joined(draft: Draft, shape: Shape) -> Shape:
    return joined(draft, shape, draft.base())


def _pattern(draft: Draft, _: Shape) -> Shape:
    return pattern(draft, _some(draft))


def _sequence(draft: Draft, _: Shape) -> Shape:
    return sequence(draft, _some(draft))


def _some(draft: Draft) -> list[Shape]:
    wanted = draft.rng.choice([[TICKS], [DEALS], [*BASES], [*BASES]])
    return [draft.base(shape) for shape in wanted]


def partitioned(draft: Draft, shape: Shape) -> Shape | None:
    """Every key has queries of its own. Which key's timer comes first is not promised."""
    rng = draft.rng
    key = rng.choice(shape.of_types("string"))
    if rng.random() < 0.3:
        number = rng.choice([name for name in shape.numbers if name != "moment"])
        key = f"{number} < 4 as 'low' or {number} >= 4 as 'high'"
    first = len(draft.queries)
    kind = rng.choice(["inner", "windowed", "windowed", "matched"])
    made: Shape | None
    if kind == "inner":
        read = f"{shape.name}#window.length({rng.randint(1, 3)})"
        inner = draft.query(read, grouped_selection(draft, shape, extremes=False), into="#In")
        made = draft.query(inner.name + draft.handlers(inner, 0.3), plain_selection(draft, inner))
    else:
        made = counted_window(draft, shape) if kind == "windowed" else matched(draft, [shape])
    inside = draft.queries[first:]
    draft.queries[first:] = ["\n".join([f"partition with ({key} of {shape.name})", "begin", *inside, "end;"])]
    if any(word in text for text in inside for word in TIMED):
        draft.has_order, made = False, None
    return made


FIRST: dict[str, Template] = {
    "filter": filtered,
    "window": windowed,
    "rate": rated,
    "named": named_window,
    "join": _joined,
    "table": tabled,
    "pattern": _pattern,
    "sequence": _sequence,
    "partition": partitioned,
    "grouped": grouped,
    "starred": starred,
    "purged": purged,
    "collided": collided,
    "self": self_joined,
    "session": session_joined,
    "calendar": summed_by_calendar,
}
LATER: list[Template] = [filtered, windowed, rated]
