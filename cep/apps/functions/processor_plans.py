"""From a processor of an app's text to its plan: the operator's class, and the streams' columns."""

from collections.abc import Iterator, Mapping

from cep.apps.functions.key_processors import ProcessorPlan
from cep.apps.functions.own_functions import OwnFunctions
from cep.apps.functions.processor_api import ProcessorTerms
from cep.apps.language.app_tree import ProcessorDefinition
from cep.apps.language.errors import AppTextError
from cep.apps.parts.scope import Columns, unknown

KEYS = ("string", "int", "long", "bool")
"""Types of a key."""


def processor_plan(
    definition: ProcessorDefinition, readable: Mapping[str, Columns], written: Mapping[str, Columns], own: OwnFunctions
) -> ProcessorPlan:
    """`readable`: columns of what it may read; `written`: of streams that it may give rows to. Raises AppTextError."""
    made, terms = own.processor(definition)
    events = [one.name for one in definition.events]
    if set(events) != set(terms.events):
        problem = f"{definition.name} takes rows of {', '.join(terms.events)}, and the text says {', '.join(events)}"
        raise AppTextError(definition.at, problem)
    columns = {one: _columns(definition, one, readable) for one in events}
    emits = {one.target.name: _columns(definition, one.target.name, written) for one in definition.emits}
    keys = dict(_keys(definition, terms, columns))
    types = {columns[stream][place].type for stream, place in keys.items()}
    if len(types) > 1:
        raise AppTextError(
            definition.at, f"the key {terms.key!r} is {' and '.join(sorted(types))}: one key has one type"
        )
    return ProcessorPlan(f"the processor {definition.name}", made, keys, columns, emits)


def _columns(definition: ProcessorDefinition, stream: str, known: Mapping[str, Columns]) -> Columns:
    if stream not in known:
        problem = f"{definition.name}: there is no stream {stream!r}; define it"
        raise unknown(definition.at, problem, stream, list(known))
    return known[stream]


def _keys(
    definition: ProcessorDefinition, terms: ProcessorTerms, columns: Mapping[str, Columns]
) -> Iterator[tuple[str, int]]:
    for stream, of_stream in columns.items():
        names = [one.name for one in of_stream]
        if terms.key not in names:
            problem = f"{definition.name}: the stream {stream!r} has no column {terms.key!r}, which is the key"
            raise unknown(definition.at, problem, terms.key, names)
        place = names.index(terms.key)
        if of_stream[place].type not in KEYS:
            problem = f"{definition.name}: the key {terms.key!r} of {stream!r} is {of_stream[place].type}"
            raise AppTextError(definition.at, f"{problem}; a key is {', '.join(KEYS)}")
        yield stream, place
