"""Kinds of queries that the random apps are made of. Each adds one, or a few that belong together, to a draft and gives
the stream that can be read after it.

What Siddhi is known to get wrong is not written here if a template can leave it out; `oracle_defects.py` has the
rest.
"""

from random import Random

from tests.cep.apps.random_apps.random_drafts import (
    Draft,
    Selected,
    grouped_selection,
    joined_words,
    ordered,
    plain_selection,
)
from tests.cep.apps.random_apps.random_expressions import Names, condition
from tests.cep.apps.random_apps.random_rows import DEALS, TICKS, UNIQUE, Shape

SPANS = ("250 milliseconds", "500 milliseconds", "1 sec", "1 sec", "2 sec", "3 sec 500 milliseconds")
KINDS = ("", "", "expired events", "all events")


def span(rng: Random) -> str:
    return rng.choice(SPANS)


def filtered(draft: Draft, shape: Shape) -> Shape:
    selected = plain_selection(draft, shape)
    return draft.query(shape.name + draft.handlers(shape, 0.8), selected, is_single=shape.is_single)


def sliding_window(rng: Random, shape: Shape, least: int = 0) -> str:
    """One that rows leave in the order in which they came."""
    windows = [
        f"length({rng.randint(least, 6)})",
        f"time({span(rng)})",
        f"timeLength({span(rng)}, {rng.randint(1, 5)})",
    ]
    windows.append(f"expression('count() <= {rng.randint(1, 5)}')")
    if shape is TICKS:
        windows.append(f"externalTime(moment, {span(rng)})")
    return rng.choice(windows)


def other_window(draft: Draft, shape: Shape) -> str:
    rng, texts = draft.rng, shape.of_types("string")
    windows = [
        f"lengthBatch({rng.randint(1, 5)}{rng.choice(['', '', ', true'])})",
        f"timeBatch({span(rng)}{rng.choice(['', '', ', 0', ', 300', ', true'])})",
        f"delay({span(rng)})",
        "batch()",
        f"expressionBatch('count() <= {rng.randint(1, 4)}'{rng.choice(['', ', true', ', false, true'])})",
        f"session({span(rng)})",
    ]
    if texts:
        windows.append(f"frequent({rng.randint(1, 3)}, {rng.choice(texts)})")
    if shape is TICKS:
        windows.append(f"externalTimeBatch(moment, {span(rng)}{rng.choice(['', ', 0', ', 100', ', 0, 2 sec'])})")
    unique = [name for name in shape.of_types("double") if name in UNIQUE]
    if shape.is_base and unique:
        order = rng.choice(["", ", 'desc'", ", 'asc'"])
        windows.append(f"sort({rng.randint(1, 4)}, {unique[0]}{order})")
    window = rng.choice(windows)
    if window.startswith(("sort", "frequent", "externalTimeBatch")):
        draft.may_have_nulls = False
    return window


def windowed(draft: Draft, shape: Shape) -> Shape:
    rng = draft.rng
    is_sliding = rng.random() < 0.55
    window = sliding_window(rng, shape) if is_sliding else other_window(draft, shape)
    selected = _selection_over(draft, shape, extremes=is_sliding)
    return draft.query(f"{shape.name}{draft.handlers(shape, 0.25)}#window.{window}", selected, kind=rng.choice(KINDS))


def counted_window(draft: Draft, shape: Shape) -> Shape:
    """As `windowed`, of a window that the clock moves nothing in, without what leaves."""
    rng = draft.rng
    windows = [f"length({rng.randint(1, 5)})", f"expression('count() <= {rng.randint(1, 4)}')"]
    windows += [f"lengthBatch({rng.randint(1, 4)})", f"lengthBatch({rng.randint(1, 4)}, true)"]
    selected = _selection_over(draft, shape, extremes=False)
    return draft.query(f"{shape.name}{draft.handlers(shape, 0.25)}#window.{rng.choice(windows)}", selected)


def _selection_over(draft: Draft, shape: Shape, *, extremes: bool) -> Selected:
    rng = draft.rng
    is_grouped = rng.random() < 0.65
    selected = grouped_selection(draft, shape, extremes=extremes) if is_grouped else plain_selection(draft, shape)
    return ordered(draft, selected) if rng.random() < 0.25 else selected


def rated(draft: Draft, shape: Shape) -> Shape:
    rng = draft.rng
    window = rng.choice(["", f"#window.{sliding_window(rng, shape)}", f"#window.lengthBatch({rng.randint(2, 4)})"])
    kind = rng.choice(["", "all", "last", *([] if "Batch" in window else ["first"])])
    every = rng.choice([f"{rng.randint(2, 5)} events", span(rng)])
    selected = grouped_selection(draft, shape, extremes=False) if rng.random() < 0.6 else plain_selection(draft, shape)
    rate = joined_words(["output", kind, "every", every])
    if rng.random() < 0.2 and "Batch" not in window:
        rate, draft.may_have_nulls = f"output snapshot every {span(rng)}", False
    return draft.query(
        shape.name + draft.handlers(shape, 0.2) + window, selected, kind=rng.choice(["", "", "all events"]), rate=rate
    )


def named_window(draft: Draft, shape: Shape) -> Shape:
    rng = draft.rng
    name = f"Kept{len(draft.definitions)}"
    window = sliding_window(rng, Shape("", ()))
    output = rng.choice(["", "output all events", "output expired events", "output current events"])
    columns = ", ".join(f"{column} {type_}" for column, type_ in shape.columns)
    draft.definitions.append(joined_words([f"define window {name} ({columns}) {window}", output]) + ";")
    draft.queries.append(f"from {shape.name} select * insert into {name};")
    kept = Shape(name, shape.columns, is_single=False)
    kind = rng.choice(["", "all events"])
    selected = (
        grouped_selection(draft, kept, extremes=False, leaves=False)
        if rng.random() < 0.5
        else plain_selection(draft, kept)
    )
    return draft.query(name + draft.handlers(kept, 0.3), selected, kind=kind)


def joined(draft: Draft, shape: Shape, other: Shape) -> Shape:
    rng = draft.rng
    kind = rng.choice(["join", "join", "inner join", "left outer join", "right outer join", "full outer join"])
    alone = rng.choice(["", "", "", "left", "right"])
    sides = []
    for side, of_side, alias in (("left", shape, "a"), ("right", other, "b")):
        window = f"#window.{sliding_window(rng, of_side, 1)}"
        if alone == side and rng.random() < 0.5:
            window = ""
        only = "unidirectional" if alone == side else ""
        sides.append(joined_words([of_side.name + draft.handlers(of_side, 0.2) + window, f"as {alias}", only]))
    read = f"{sides[0]} {kind} {sides[1]}{_meeting(rng, shape, other)}"
    return draft.query(read, _joined_selection(draft, shape, other), kind=rng.choice(["", "", "all events"]))


def _meeting(rng: Random, shape: Shape, other: Shape) -> str:
    same = set(shape.of_types("string")) & set(other.of_types("string"))
    equal = [f"a.{name} == b.{name}" for name in sorted(same)]
    numbers = Names.of(shape, "a.") + Names.of(other, "b.")
    if equal and rng.random() < 0.8:
        more = f" and {condition(rng, numbers, 0)}" if rng.random() < 0.3 else ""
        return f" on {rng.choice(equal)}{more}"
    return rng.choice(["", f" on {condition(rng, numbers, 1)}"])


def _joined_selection(draft: Draft, shape: Shape, other: Shape) -> Selected:
    rng = draft.rng
    if rng.random() < 0.25:
        draft.may_have_nulls = False
        return grouped_selection(draft, shape, extremes=False, leaves=False, prefix="a.")
    texts, columns = [], []
    for prefix, of_side in (("a", shape), ("b", other)):
        for name, type_ in rng.sample(of_side.columns, rng.randint(1, min(3, len(of_side.columns)))):
            texts.append(f"{prefix}.{name} as {prefix}_{name}")
            columns.append((f"{prefix}_{name}", type_))
    return ", ".join(texts), tuple(columns)


def tabled(draft: Draft, _: Shape) -> None:
    """Add a table that deals are written to, that ticks change, and that both read."""
    rng = draft.rng
    draft.may_have_nulls = False
    ticks, deals = draft.base(TICKS), draft.base(DEALS)
    name = f"Held{len(draft.definitions)}"
    key = rng.choice(["", "", "@PrimaryKey('coin')\n", "@Index('coin')\n"])
    draft.has_order = draft.has_order and not key
    columns = "coin string, side string, cost double, quantity long"
    draft.definitions.append(f"{key}define table {name} ({columns});")
    mine = "coin, side, cost, quantity"
    writes = [f"insert into {name};"]
    if not key.startswith("@Index"):
        writes.append(f"update or insert into {name} on {name}.coin == coin;")
    batch = rng.choice(["", "", "#window.lengthBatch(2)"])
    draft.queries.append(f"from {deals.name}{batch} select {mine} {rng.choice(writes)}")
    given = f"from {ticks.name} select coin, venue as side, price as cost, volume as quantity"
    draft.queries += [f"{given} {change}" for change in [rng.choice(_table_changes(rng, name, key))] if change]
    _table_reads(draft, name, ticks)


def _table_changes(rng: Random, name: str, key: str) -> list[str]:
    meets = rng.choice(
        [
            f"{name}.coin == coin",
            f"{name}.coin == coin and {name}.cost < cost",
            f"{name}.quantity < quantity",
            f"{name}.coin == coin and {name}.side == side",
        ]
    )
    of_both = ["", f"update {name} set {name}.cost = cost, {name}.quantity = quantity + 1L on {meets};"]
    if key:
        return of_both
    own = f"update {name} set {name}.quantity = {name}.quantity + 1L on {meets};"
    return [*of_both, own, f"update {name} on {meets};"]


def _table_reads(draft: Draft, name: str, ticks: Shape) -> None:
    rng = draft.rng
    reads = rng.choice(["join", "left outer join", "in"])
    if reads == "in":
        asked = f"{name}.coin == coin in {name}"
        test = rng.choice([asked, f"not ({asked})", f"({name}.coin == coin and {name}.cost < price) in {name}"])
        draft.query(f"{ticks.name}[{test}]", plain_selection(draft, ticks))
        return
    on = rng.choice([f"a.coin == {name}.coin", f"a.coin == {name}.coin and {name}.cost > a.price", ""])
    read = joined_words([f"{ticks.name} as a {reads} {name}", f"on {on}" if on else ""])
    text = f"a.coin as coin, a.price as price, {name}.side as side, {name}.cost as cost, {name}.quantity as quantity"
    types = (("coin", "string"), ("price", "double"), ("side", "string"), ("cost", "double"), ("quantity", "long"))
    draft.query(read, (text, types))
