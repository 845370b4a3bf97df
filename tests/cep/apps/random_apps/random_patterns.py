"""Random patterns and sequences."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.cep.apps.random_apps.random_drafts import Draft, Selected, joined_words
from tests.cep.apps.random_apps.random_expressions import Names, condition
from tests.cep.apps.random_apps.random_queries import span
from tests.cep.apps.random_apps.random_rows import Column, Shape

OWN, UNINDEXED = 0.4, 0.4
"""How often a step with a count looks at its own rows, and is named without an index."""
COUNTS = ("<2>", "<1:2>", "<2:3>", "<1:>", "<2:>", "<:2>")


@dataclass
class Steps:
    """The steps so far. `known`: what later steps may name; `texts` and `columns`: what can be selected."""

    draft: Draft
    shapes: Sequence[Shape]
    known: Names = field(default_factory=lambda: Names(()))
    texts: list[str] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    _count: int = 0

    def shape(self) -> Shape:
        return self.draft.rng.choice(self.shapes)

    def reference(self) -> str:
        self._count += 1
        return f"e{self._count}"

    def test(self, shape: Shape, chance: float = 0.75) -> str:
        rng = self.draft.rng
        if rng.random() > chance:
            return ""
        same = [name for name, _ in self.known.attributes if name.split(".")[-1] in shape.of_types("string")]
        numbers = [name for name, type_ in self.known.attributes if type_ in ("double", "int", "long")]
        kinds = [condition(rng, Names.of(shape), rng.choice([0, 0, 1]))]
        if same:
            earlier = rng.choice(same)
            kinds.append(f"{earlier.split('.')[-1]} == {earlier}")
        if numbers:
            kinds.append(f"{rng.choice(shape.numbers)} {rng.choice('<>')} {rng.choice(numbers)}")
        return f"[{rng.choice(kinds)}]"

    def own_test(self, name: str, shape: Shape) -> str:
        """Return a condition on the rows that the step has already: rows that rise, fall or stay apart."""
        rng, column = self.draft.rng, self.draft.rng.choice(shape.numbers)
        earlier = f"{name}[{rng.choice(['last', 'last', 'last', 'last-1', '0', '1', '2'])}].{column}"
        compared = f"{column} {rng.choice(['>', '<', '>=', '!='])} {earlier}"
        others = [f"({earlier} is null or {compared})", f"({earlier} is null and {column} > 1) or {compared}"]
        return f"[{rng.choice([*others, others[0], compared])}]"

    def plain(self) -> str:
        text, name, shape = self._step()
        self._is_known(name, shape)
        return text

    def _step(self) -> tuple[str, str, Shape]:
        shape, name = self.shape(), self.reference()
        return f"{name}={shape.name}{self.test(shape)}", name, shape

    def _is_known(self, name: str, shape: Shape) -> None:
        self.known += Names.of(shape, f"{name}.")
        for column, type_ in self.draft.rng.sample(shape.columns, min(2, len(shape.columns))):
            self._select(f"{name}.{column}", f"{name}_{column}", type_)

    def _select(self, text: str, name: str, type_: str) -> None:
        self.texts.append(f"{text} as {name}")
        self.columns.append((name, type_))

    def counted(self, counts: Sequence[str]) -> str:
        rng, shape, name = self.draft.rng, self.shape(), self.reference()
        test = self.own_test(name, shape) if rng.random() < OWN else self.test(shape)
        text = f"{name}={shape.name}{test}{rng.choice(counts)}"
        column, type_ = rng.choice(shape.columns)
        if rng.random() < UNINDEXED:
            number = rng.choice(shape.numbers)
            self._select(f"{name}.{number}", f"{name}_all", "object")
            self.known += Names(((f"{name}.{number}", dict(shape.columns)[number]),))
        for index in rng.sample(["0", "1", "2", "last", "last-1"], 2):
            self._select(f"{name}[{index}].{column}", f"{name}_{index.replace('-', '_')}", type_)
        return text

    def logical(self) -> str:
        # neither part may name the other
        parts = [self._step(), self._step()]
        for _, name, shape in parts:
            self._is_known(name, shape)
        return f" {self.draft.rng.choice(['and', 'or'])} ".join(text for text, _, _ in parts)

    def absent(self, *, waits: bool) -> str:
        shape = self.shape()
        return f"not {shape.name}{self.test(shape)}" + (f" for {span(self.draft.rng)}" if waits else "")

    def absent_beside(self) -> str:
        absent = self.absent(waits=self.draft.rng.random() < 0.5)
        return f"{absent} and {self.plain()}"

    def selected(self) -> Selected:
        rng = self.draft.rng
        if not self.texts:
            return "'quiet' as said", (("said", "string"),)
        places = sorted(rng.sample(range(len(self.texts)), min(len(self.texts), rng.randint(2, 4))))
        return ", ".join(self.texts[place] for place in places), tuple(self.columns[place] for place in places)


def matched(draft: Draft, shapes: Sequence[Shape]) -> Shape:
    return sequence(draft, shapes) if draft.rng.random() < 0.4 else pattern(draft, shapes)


def pattern(draft: Draft, shapes: Sequence[Shape]) -> Shape:
    rng, steps = draft.rng, Steps(draft, shapes)
    draft.may_have_nulls = draft.may_have_nulls and rng.random() < 0.3
    count = rng.randint(2, 4)
    texts = list[str]()
    for place in range(count):
        kind = rng.choice(["plain", "plain", "plain", "counted", "logical", "absent", "beside"])
        if kind == "counted":
            texts.append(steps.counted(COUNTS if place else COUNTS[:4]))
        elif kind == "logical":
            texts.append(steps.logical())
        elif kind == "absent" and place > 0 and not texts[-1].startswith("not "):
            texts.append(steps.absent(waits=True))
        elif kind == "beside" and place > 0:
            texts.append(steps.absent_beside())
        else:
            texts.append(steps.plain())
    text = _with_every(draft, texts)
    limit = f"within {span(rng)}" if rng.random() < 0.35 else ""
    return draft.query(joined_words([text, limit]), steps.selected(), is_single=False)


def _with_every(draft: Draft, texts: list[str]) -> str:
    rng = draft.rng
    kind = rng.choice(["none", "first", "first", "first", "group"])
    if kind == "first":
        return " -> ".join([f"every {texts[0]}", *texts[1:]])
    if kind == "group" and len(texts) > 1:
        count = rng.randint(2, len(texts))
        return " -> ".join([f"every ({' -> '.join(texts[:count])})", *texts[count:]])
    return " -> ".join(texts)


def sequence(draft: Draft, shapes: Sequence[Shape]) -> Shape:
    rng, steps = draft.rng, Steps(draft, shapes)
    draft.may_have_nulls = draft.may_have_nulls and rng.random() < 0.3
    texts = list[str]()
    count = rng.randint(2, 4)
    for place in range(count):
        kind = rng.choice(["plain", "plain", "plain", "counted", "logical"])
        if kind == "counted":
            some, any_ = ["+", "+", "<1:2>", "<2>"], ["*", "?"]
            texts.append(steps.counted(any_ if place == count - 1 else [*some, *any_] if place else some))
        elif kind == "logical" and place:
            texts.append(steps.logical())
        else:
            texts.append(steps.plain())
    text = ", ".join([f"every {texts[0]}" if rng.random() < 0.75 else texts[0], *texts[1:]])
    limit = f"within {span(rng)}" if rng.random() < 0.3 else ""
    return draft.query(joined_words([text, limit]), steps.selected(), is_single=False)
