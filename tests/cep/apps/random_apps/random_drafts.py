"""An app that is being written: its definitions and queries so far, and what is known of its rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.cep.apps.random_apps.random_expressions import Names, condition, expression
from tests.cep.apps.random_apps.random_rows import BASES, BEATS, UNIQUE, Column, RandomCase, Shape, random_events

OF_NUMBERS = ["sum", "sum", "avg", "stdDev", "minForever", "maxForever"]
TYPES = ("int", "long", "double", "bool", "string", "float")
UNHEARD = ("partition with", "expired events", "length(0)", "lengthBatch(0)")
"""Words of apps in which listeners to queries are not compared: there are none of a partition's, and the time that is
given for a chunk of expired rows alone is another."""
Selected = tuple[str, tuple[Column, ...]]
"""The text of a selection, and the columns that it gives."""


@dataclass
class Draft:
    """`has_order`: whether Siddhi's rows have an order that its hash tables do not make."""

    rng: Random
    definitions: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    has_order: bool = True
    has_times: bool = True
    may_have_nulls: bool = True
    _names: int = 0

    def fresh(self, letter: str) -> str:
        """Return a column's name that nothing has yet."""
        self._names += 1
        return f"{letter}{self._names}"

    def base(self, wanted: Shape | None = None) -> Shape:
        shape = wanted or self.rng.choice(BASES)
        self.read.add(shape.name)
        return shape

    def query(
        self, read: str, selected: Selected, *, kind: str = "", rate: str = "", is_single: bool = False, into: str = ""
    ) -> Shape:
        """Return a query of its own into a new stream."""
        text, shape = self.text(read, selected, kind=kind, rate=rate, is_single=is_single, into=into)
        self.queries.append(text)
        return shape

    def text(
        self, read: str, selected: Selected, *, kind: str = "", rate: str = "", is_single: bool = False, into: str = ""
    ) -> tuple[str, Shape]:
        target = into or f"Out{len(self.outputs) + 1}"
        name = f"q{len(self.named) + 1}"
        self.named.append(name)
        if not target.startswith("#"):
            self.outputs.append(target)
        lines = [
            f"@info(name = '{name}')",
            f"from {read}",
            f"select {selected[0]}",
            rate,
            f"insert {kind} into {target};",
        ]
        return "\n".join(line for line in lines if line), Shape(target, selected[1], is_single=is_single)

    def case(self, name: str) -> RandomCase:
        """With rows for the streams that it reads."""
        bases = [shape for shape in BASES if shape.name in self.read]
        nulls = self.rng.choice([0.0, 0.0, 0.1, 0.25]) if self.may_have_nulls else 0.0
        text = "\n".join(
            ["@app:playback", *(one.definition for one in (*bases, BEATS)), *self.definitions, *self.queries]
        )
        queries = self.named if not any(word in text for word in UNHEARD) else []
        return RandomCase(
            id=name,
            app=text,
            events=random_events(self.rng, bases, nulls=nulls),
            outputs=list(self.outputs),
            queries=list(queries) if self.has_times else [],
            compare="ordered" if self.has_order else "set",
            times=self.has_times,
        )

    def handlers(self, shape: Shape, chance: float = 0.4) -> str:
        """No filter or one."""
        if self.rng.random() > chance or not shape.numbers:
            return ""
        return f"[{condition(self.rng, Names.of(shape), self.rng.randint(0, 2))}]"


def plain_selection(draft: Draft, shape: Shape, prefix: str = "", names: Names | None = None) -> Selected:
    """All columns, or some and expressions; the first texts stay under their names."""
    rng, known = draft.rng, names or Names.of(shape, prefix)
    if not prefix and rng.random() < 0.15:
        return "*", shape.columns
    kept = [column for column in shape.columns if column[1] == "string" or rng.random() < 0.5]
    columns, texts = list(kept), [prefix + name for name, _ in kept]
    for _ in range(rng.randint(0 if texts else 1, 3)):
        type_, name = rng.choice(TYPES), draft.fresh("x")
        texts.append(f"{expression(rng, known, type_, rng.randint(1, 3))} as {name}")
        columns.append((name, type_))
    return ", ".join(texts), tuple(columns)


def aggregates(
    draft: Draft, shape: Shape, *, extremes: bool, leaves: bool, prefix: str = ""
) -> list[tuple[str, Column]]:
    """Return some aggregators. `extremes`: also `min` and `max`; `leaves`: also `distinctCount`, where only what came
    leaves."""
    rng, numbers = draft.rng, [name for name in shape.numbers if name != "moment"]
    made = list[tuple[str, Column]]()
    for _ in range(rng.randint(1, 3)):
        name = draft.fresh("n")
        of_one = rng.choice(numbers) if numbers else ""
        kinds = [
            "count",
            *(["distinctCount"] if leaves and shape.of_types("string", "int", "long") else []),
            *(OF_NUMBERS if of_one else []),
        ]
        unique = [one for one in numbers if one in UNIQUE]
        kinds += ["min", "max"] if extremes and unique else []
        kinds += ["and", "or"] if numbers else []
        kind = rng.choice(kinds)
        type_ = dict(shape.columns).get(of_one, "int")
        match kind:
            case "count":
                text, type_ = "count()", "long"
            case "distinctCount":
                text, type_ = f"distinctCount({prefix}{rng.choice(shape.of_types('string', 'int', 'long'))})", "long"
            case "min" | "max":
                text, type_ = f"{kind}({prefix}{rng.choice(unique)})", "double"
            case "and" | "or":
                text, type_ = f"{kind}({prefix}{of_one} > {rng.randint(0, 5)})", "bool"
            case "sum":
                text, type_ = f"sum({prefix}{of_one})", "long" if type_ in ("int", "long") else "double"
            case "minForever" | "maxForever":
                text = f"{kind}({prefix}{of_one})"
            case _:
                text, type_ = f"{kind}({prefix}{of_one})", "double"
        made.append((f"{text} as {name}", (name, type_)))
    return made


def grouped_selection(draft: Draft, shape: Shape, *, extremes: bool, leaves: bool = True, prefix: str = "") -> Selected:
    """Return aggregators, by groups or not, with or without `having`."""
    rng = draft.rng
    keys = [column for column in shape.columns if column[1] == "string"]
    groups = rng.sample(keys, min(len(keys), rng.choice([0, 1, 1, 1, 2])))
    made = aggregates(draft, shape, extremes=extremes, leaves=leaves, prefix=prefix)
    columns = (*groups, *(column for _, column in made))
    text = ", ".join([*(prefix + name for name, _ in groups), *(one for one, _ in made)])
    if groups:
        text += f"\ngroup by {', '.join(prefix + name for name, _ in groups)}"
    numbers = [name for name, type_ in (column for _, column in made) if type_ != "bool"]
    if numbers and rng.random() < 0.3:
        text += f"\nhaving {rng.choice(numbers)} {rng.choice(['>', '<', '>='])} {rng.choice(['1', '2', '50', '200.0'])}"
    return text, columns


def ordered(draft: Draft, selected: Selected) -> Selected:
    """With an order, a limit or an offset of the rows of a chunk."""
    rng, (text, columns) = draft.rng, selected
    draft.may_have_nulls = False
    by = rng.choice([name for name, type_ in columns if type_ != "bool"] or [columns[0][0]])
    if rng.random() < 0.7:
        text += f"\norder by {by}{rng.choice(['', ' asc', ' desc'])}"
    if rng.random() < 0.7:
        text += f"\nlimit {rng.randint(1, 4)}"
        text += rng.choice(["", "", f" offset {rng.randint(0, 2)}"])
    return text, columns


def joined_words(words: Sequence[str]) -> str:
    return " ".join(word for word in words if word)
