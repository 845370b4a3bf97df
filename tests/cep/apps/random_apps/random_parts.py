"""Kinds of queries that people write and that the other templates have not: groups of a batch without an aggregator,
all columns of an absence, keys that are purged, updates that collide, windows that meet themselves, sessions in joins,
aggregations in the order of their buckets."""

from tests.cep.apps.random_apps.random_drafts import Draft, joined_words, plain_selection
from tests.cep.apps.random_apps.random_expressions import Names, condition
from tests.cep.apps.random_apps.random_queries import SPANS, other_window, sliding_window, span
from tests.cep.apps.random_apps.random_rows import BEATS, DEALS, TICKS, Shape

IDLE = "@purge(enable = 'true', interval = '1 sec', idle.period = '4 sec')"
"""Longer than what a key waits for in these apps."""


def grouped(draft: Draft, shape: Shape) -> Shape:
    """Return the last row of each group of a chunk, in an order or not."""
    rng = draft.rng
    window = sliding_window(rng, shape) if rng.random() < 0.3 else other_window(draft, shape)
    keys = rng.sample(shape.of_types("string"), 1)
    names = [*keys, *rng.sample([name for name, _ in shape.columns if name not in keys], 2)]
    text = ", ".join(names) + f"\ngroup by {keys[0]}"
    if rng.random() < 0.3:
        draft.may_have_nulls = False
        text += f"\norder by {rng.choice(names)}{rng.choice(['', ' desc'])}\nlimit {rng.randint(1, 3)}"
    columns = tuple((name, type_) for name in names for own, type_ in shape.columns if own == name)
    read = f"{shape.name}{draft.handlers(shape, 0.25)}#window.{window}"
    return draft.query(read, (text, columns), kind=rng.choice(["", "", "all events", "expired events"]))


def starred(draft: Draft, _: Shape) -> Shape:
    """All columns of a pattern with an absence."""
    rng, base = draft.rng, draft.base(TICKS)
    test = f"[{condition(rng, Names.of(base), 0)}]"
    absent = rng.choice([f"not {BEATS.name}", f"not {BEATS.name}[n > 0]"])
    wait = f"for {span(rng)}"
    texts = [
        f"e1={base.name}{test} -> {absent} {wait}",
        f"every e1={base.name}{test} -> {absent} {wait}",
        f"{absent} and e1={base.name}{test}",
        f"every ({absent} and e1={base.name}{test})",
        f"{absent} {wait} and e1={base.name}",
        f"e1={base.name}{test} or {absent} {wait}",
        f"e1={base.name}<1:2> -> {absent} {wait}",
        f"every e1={base.name} -> e2={BEATS.name}",
        f"e1={base.name} or e2={BEATS.name}",
    ]
    return draft.query(rng.choice(texts), ("*", (*base.columns, *BEATS.columns)), is_single=False)


def purged(draft: Draft, shape: Shape) -> None:
    """Add a partition whose keys are forgotten once nothing is waited for; the clock may leap past both."""
    rng, key = draft.rng, draft.rng.choice(shape.of_types("string"))
    first = len(draft.queries)
    other = f"[{condition(rng, Names.of(shape), 0)}]" if rng.random() < 0.5 else ""
    absent = f"not {shape.name}{other} for {rng.choice(SPANS)}"
    also = f" or e2={shape.name}[{condition(rng, Names.of(shape), 0)}]" if rng.random() < 0.3 else ""
    draft.query(f"every e1={shape.name} -> {absent}{also}", plain_selection(draft, shape, "e1."))
    inside = draft.queries[first:]
    block = [f"{IDLE}\npartition with ({key} of {shape.name})", "begin", *inside, "end;"]
    draft.queries[first:] = ["\n".join(block)]
    # which key's timer comes first is not promised
    draft.has_order = False


def collided(draft: Draft, _: Shape) -> None:
    """Add a table with a key that updates change, so that rows may come to have the same one."""
    rng = draft.rng
    draft.may_have_nulls = draft.has_order = False
    ticks, deals = draft.base(TICKS), draft.base(DEALS)
    draft.definitions.append(
        "@PrimaryKey('coin')\ndefine table Held (coin string, cost double, ratio float, rank long);"
    )
    draft.queries.append(f"from {deals.name} select coin, cost, 1.1f as ratio, quantity as rank insert into Held;")
    key = rng.choice(["Held.coin = coin", "Held.coin = venue", "Held.coin = 'btc'", ""])
    # no int for the long: Siddhi leaves it an int, and whoever reads it as a long fails
    values = ["Held.ratio = ratio", "Held.ratio = size", "Held.ratio = 55.6", "Held.rank = volume", "Held.rank = 7L"]
    value = rng.choice([*values, ""] if key else values)
    meets = rng.choice(["Held.rank > volume", "Held.coin == coin", "Held.cost < price", "Held.rank == volume"])
    changes = ", ".join(one for one in (key, value) if one)
    draft.queries.append(f"from {ticks.name} select * update Held set {changes} on {meets};")
    text = "a.coin as coin, Held.coin as held, Held.cost as cost, Held.ratio as ratio, Held.rank as rank"
    types = (("coin", "string"), ("held", "string"), ("cost", "double"), ("ratio", "float"), ("rank", "long"))
    draft.query(
        f"{ticks.name} as a join Held on {rng.choice(['a.coin == Held.coin', 'a.price > Held.cost'])}", (text, types)
    )


def self_joined(draft: Draft, shape: Shape) -> Shape:
    """Return a named window that meets itself."""
    rng, name = draft.rng, f"Kept{len(draft.definitions)}"
    columns = ", ".join(f"{column} {type_}" for column, type_ in shape.columns)
    output = rng.choice(["", "output all events"])
    window = joined_words([f"define window {name} ({columns}) {sliding_window(rng, Shape('', ()), 1)}", output])
    draft.definitions.append(f"{window};")
    draft.queries.append(f"from {shape.name} select * insert into {name};")
    sides = rng.choice(
        [("", "join", ""), ("", "join", ""), (" unidirectional", "join", ""), ("", "left outer join", "")]
    )
    key, number = rng.choice(shape.of_types("string")), rng.choice(shape.numbers)
    meets = rng.choice(
        [f"a.{key} == b.{key}", f"a.{number} < b.{number}", f"a.{key} == b.{key} and a.{number} <= b.{number}"]
    )
    read = f"{name} as a{sides[0]} {sides[1]} {name} as b{sides[2]} on {meets}"
    type_ = dict(shape.columns)[number]
    text = f"a.{key} as k, a.{number} as x, b.{number} as y"
    return draft.query(read, (text, (("k", "string"), ("x", type_), ("y", type_))), kind=rng.choice(["", "all events"]))


def session_joined(draft: Draft, shape: Shape) -> Shape:
    rng, other = draft.rng, draft.base(DEALS)
    draft.may_have_nulls = False
    read = f"{shape.name}#window.session({span(rng)}) as a join {other.name}#window.length({rng.randint(1, 4)}) as b"
    text = "a.coin as coin, b.cost as cost"
    return draft.query(f"{read} on a.coin == b.coin", (text, (("coin", "string"), ("cost", "double"))))


def summed_by_calendar(draft: Draft, _: Shape) -> None:
    """Add an aggregation of one day, read by a row, in the order of its buckets."""
    rng = draft.rng
    draft.may_have_nulls = draft.has_order = False
    ticks, deals = draft.base(TICKS), draft.base(DEALS)
    value = rng.choice(["sum(price)", "count()", "max(price)", "sum(ratio)"])
    draft.definitions.append(
        f"define aggregation Daily from {ticks.name} select coin, {value} as total group by coin aggregate every day;"
    )
    read = f"{deals.name} as d join Daily as g on d.coin == g.coin within 0L, 86400000L per 'days'"
    selected = "d.coin as coin, g.total as total\norder by AGG_TIMESTAMP", (("coin", "string"), ("total", "double"))
    draft.query(read, selected)
