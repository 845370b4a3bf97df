"""One Python function for what a row does in a pattern, of which most rows do nothing.

What a pattern means is defined by its stages (`cep.apps.parts.pattern_stages`). Of the common shape (steps of one
stream each, one row each, with conditions that look at nothing before) a function is generated that asks whether a row
matters to what waits, and tells its stage if so. What is late is dropped before the next row that matters, which is the
same as long as times go forward. If they go back, or a condition fails, the stages do with the row all that they do.
"""

from collections.abc import Iterator, Sequence
from typing import cast

from cep.apps.compiler.expression_code import function_made
from cep.apps.compiler.fused_query import OF_THE_CLOCK
from cep.apps.parts.pattern_stages import Part
from cep.apps.parts.patterns import PatternPlan, StepPlan, Watch
from cep.apps.parts.scope import Environment

TEMPLATE = """
def bind(stages, seen, take_by_stages, expire, tell):
    {stages}, = stages
    def take(at, row):
        if at < seen[0]: return take_by_stages(at, row)
{arrivals}
        try:
{hits}
        except (ArithmeticError, TypeError, ValueError, AttributeError, LookupError):
            return take_by_stages(at, row)
        seen[0] = at
        if {any_hit}:
            expire(at)
{reports}
    return take
"""


def watches(plan: PatternPlan, environment: Environment) -> dict[str, Watch]:
    """Return what takes the rows of each stream, for those that have it."""
    if plan.kind != "pattern" or not all(_is_plain(step, number) for number, step in enumerate(plan.steps)):
        return {}
    first = plan.steps[0].parts[0]
    read = {name: list(_offered(plan, name)) for name in plan.streams}
    return {
        name: cast(Watch, function_made(_source(parts, first), "bind", environment))
        for name, parts in read.items()
        if not any(part.looks_back or OF_THE_CLOCK.search(part.source) for part in parts)
    }


def _is_plain(step: StepPlan, number: int) -> bool:
    """Whether it waits for one row of one stream, and what is late there makes room for nothing."""
    is_one_row = len(step.parts) == 1 and not (step.is_counted or step.limits or step.parts[0].is_absent)
    return is_one_row and set(step.restarts) <= ({0} if number == 0 else set())


def _offered(plan: PatternPlan, stream: str) -> Iterator[Part]:
    """Yield the parts that read the stream, from the last step to the first, as rows are offered."""
    return (part for step in reversed(plan.steps) for part in step.parts if part.stream == stream)


def _source(parts: Sequence[Part], first: Part) -> str:
    """Return the Python. A condition is asked only if something waits for its row, as the stages do."""
    stages, hits = ([f"{word}{number}" for number in range(len(parts))] for word in ("stage", "hit"))
    arrivals = [
        f"        if {stage}.arriving: {stage}.let_arrive()"
        if part is first
        else f"        if {stage}.arriving and not {stage}.arrives(at): return take_by_stages(at, row)"
        for stage, part in zip(stages, parts, strict=True)
    ]
    asked = [
        f"            {hit} = {stage}.pending and ({part.source})"
        for hit, stage, part in zip(hits, stages, parts, strict=True)
    ]
    reports = [f"            if {hit}: tell({stage}, at, row)" for hit, stage in zip(hits, stages, strict=True)]
    return TEMPLATE.format(
        stages=", ".join(stages),
        arrivals="\n".join(arrivals),
        hits="\n".join(asked),
        any_hit=" or ".join(hits),
        reports="\n".join(reports),
    )
