"""Where an app meets the outside: sinks, sources and stores, in both spellings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cep.language.app_tree import AnnotationItem, App, StreamDefinition, TableDefinition
from cep.language.expression_tree import Place

KINDS = ("sink", "source", "store")


@dataclass(frozen=True, slots=True)
class AppEnd:
    """`kind`: sink, source or store; `type`: such as http-call; empty where the text names none."""

    at: Place
    name: str
    kind: str
    type: str

    def __str__(self) -> str:
        return f"{self.kind} {self.type} of {self.name}".replace("  ", " ")


def app_ends(app: App) -> Iterator[AppEnd]:
    """In the order of the text."""
    for definition in app.definitions:
        if not isinstance(definition, StreamDefinition | TableDefinition):
            continue
        for annotation in definition.annotations:
            if annotation.name.lower() in KINDS:
                yield AppEnd(annotation.at, definition.name, annotation.name.lower(), _type(annotation.items))
        if isinstance(definition, TableDefinition):
            if definition.properties or definition.scope is not None:
                yield AppEnd(definition.at, definition.name, "store", _type(definition.properties))
        elif definition.role != "stream":
            yield AppEnd(definition.at, definition.name, definition.role.split()[0], _type(definition.properties))


def _type(items: Iterable[AnnotationItem]) -> str:
    return next((item.value for item in items if item.key in ("type", "store.type")), "")
