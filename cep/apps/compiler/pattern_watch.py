"""One Python function for a row that moves no partial match of a pattern, which most rows do not.

What a pattern means is defined by its stages (`cep.apps.parts.pattern_stages`). Of the common shape (steps of one stream
each, one row each, with conditions that look at nothing before) a function is generated that looks whether a row
matters at all, and lets the stages have it if so. What they would do besides, they do later: what is late is dropped
before the next row that matters, which is the same as long as times go forward; if they go back, the stages have the
row.
"""

from collections.abc import Sequence
from typing import cast

from cep.apps.compiler.expression_code import function_made
from cep.apps.compiler.fused_query import OF_THE_CLOCK
from cep.apps.parts.pattern_stages import Part
from cep.apps.parts.patterns import PatternPlan, StepPlan, Watch
from cep.apps.parts.scope import Environment


def watches(plan: PatternPlan, environment: Environment) -> dict[str, Watch]:
    """Return what looks at the rows of each stream, for those that have it."""
    if plan.kind != "pattern" or not all(_is_plain(step, number) for number, step in enumerate(plan.steps)):
        return {}
    # from the last step to the first, as rows are offered
    read = {name: [part for step in plan.steps[::-1] for part in step.parts if part.stream == name] for name in plan.streams}
    return {
        name: cast(Watch, function_made(_source(parts), "bind", environment))
        for name, parts in read.items()
        if not any(part.looks_back or OF_THE_CLOCK.search(part.source) for part in parts)
    }


def _is_plain(step: StepPlan, number: int) -> bool:
    """Whether it waits for one row of one stream, and what is late there makes room for nothing."""
    is_one_row = len(step.parts) == 1 and not (step.is_counted or step.limits or step.parts[0].is_absent)
    return is_one_row and set(step.restarts) <= ({0} if number == 0 else set())


def _source(parts: Sequence[Part]) -> str:
    """Return the Python. A condition is asked only if something waits for its row, as the stages do."""
    stages = [f"stage{number}" for number in range(len(parts))]
    matters = [
        "at < seen[0]",
        *(f"{stage}.arriving" for stage in stages),
        *(f"({stage}.pending and ({part.source}))" for stage, part in zip(stages, parts, strict=True)),
    ]
    return "\n".join(
        (
            "def bind(stages, seen, take_by_stages):",
            f"    {', '.join(stages)}, = stages",
            "    def take(at, row):",
            f"        if {' or '.join(matters)}: take_by_stages(at, row)",
            "        else: seen[0] = at",
            "    return take",
            "",
        )
    )
