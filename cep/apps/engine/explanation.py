"""What an app is made of, and the Python that it became, for people who read it."""

from collections.abc import Iterator

from cep.apps.compiler.app import AppPlan
from cep.apps.parts.scope import described


def described_parts(plan: AppPlan) -> Iterator[str]:
    """Yield a line for each part."""
    for name, columns in plan.streams.items():
        yield f"stream {name} ({described(columns)})"
    for name, window in plan.windows.items():
        yield f"window {name} ({described(window.columns)})"
    for name, table in plan.tables.items():
        yield f"table {name} ({described(table.columns)})"
    for name, columns in plan.of_aggregations.items():
        yield f"aggregation {name} ({described(columns)})"
    for own in plan.own.defined.values():
        yield f"function {own.name} -> {own.returns}"
    yield from map(str, plan.ends)
    for processor in plan.processors.values():
        yield f"{processor.label}: {', '.join(processor.columns)} -> {', '.join(processor.emits)}"
    for query in plan.queries:
        target = "listeners" if query.target is None else query.target
        yield f"query {query.name or f'at line {query.at.line}'} -> {target}"


def generated_python(plan: AppPlan) -> Iterator[tuple[str, str]]:
    """Yield the Python of what one row does in each query that has it in one function: where the query is, and the
    text."""
    for query in plan.queries:
        if query.fused is not None:
            yield f"query at line {query.at.line}", query.fused.source
