"""`@App:processor('file.Class', events = 'sign_in, sale', emits = 'at_risk')`: a processor per key of the operator's
folder, the streams that it takes rows of, and those that it gives rows to. Pure."""

import re
from collections.abc import Iterator, Sequence

from cep.apps.language.app_tree import Annotation, InsertInto, ProcessorDefinition, Source
from cep.apps.language.errors import AppTextError

PROCESSOR = "app:processor"
WRITE = "write @App:processor('file.Class', events = 'sign_in, sale', emits = 'at_risk')"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def processors_of(annotations: Sequence[Annotation]) -> Iterator[ProcessorDefinition]:
    """Yield the app's processors. Raises AppTextError."""
    seen: set[str] = set()
    for annotation in annotations:
        if annotation.name.lower() == PROCESSOR:
            found = _processor(annotation)
            if found.name in seen:
                raise AppTextError(annotation.at, f"there are two processors {found.name!r}")
            seen.add(found.name)
            yield found


def _processor(annotation: Annotation) -> ProcessorDefinition:
    at, given = annotation.at, {item.key: item.value for item in annotation.items}
    name = given.get(None, "")
    if set(given) != {None, "events", "emits"} or _NAMED.fullmatch(name) is None:
        raise AppTextError(at, f"a processor has a name, events and emits: {WRITE}")
    events, emits = _names(annotation, given["events"]), _names(annotation, given["emits"])
    return ProcessorDefinition(
        at,
        name,
        tuple(Source(at, one) for one in events),
        tuple(InsertInto(at, Source(at, one)) for one in emits),
    )


def _names(annotation: Annotation, text: str) -> list[str]:
    names = [one.strip() for one in text.split(",")]
    if len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
        raise AppTextError(annotation.at, f"{text!r} are no names of streams, each once, with commas: {WRITE}")
    return names
