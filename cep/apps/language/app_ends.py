"""Where an app meets the outside: sinks, sources and stores, in both spellings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cep.apps.language.app_tree import (
    AggregationDefinition,
    Annotation,
    AnnotationItem,
    App,
    StreamDefinition,
    TableDefinition,
)
from cep.apps.language.expression_tree import Place

KINDS = ("sink", "source", "store")


@dataclass(frozen=True, slots=True)
class AppEnd:
    """`kind`: sink, source or store; `type`: such as http-call; empty if the text names none. `options`: all others,
    by name; those of `@map(…)` begin with `map.`."""

    at: Place
    name: str
    kind: str
    type: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind} {self.type} of {self.name}".replace("  ", " ")


def app_ends(app: App) -> Iterator[AppEnd]:
    """In the order of the text."""
    for definition in app.definitions:
        match definition:
            case AggregationDefinition():
                yield from _store_of(definition)
            case StreamDefinition() | TableDefinition():
                yield from _ends_of(definition)
            case _:
                pass


def _ends_of(definition: StreamDefinition | TableDefinition) -> Iterator[AppEnd]:
    for annotation in definition.annotations:
        if annotation.name.lower() in KINDS:
            yield _end(annotation.at, definition.name, annotation.name.lower(), _options(annotation))
    if isinstance(definition, TableDefinition):
        if definition.properties or definition.scope is not None:
            yield _end(definition.at, definition.name, "store", dict(_named(definition.properties)))
    elif definition.role != "stream":
        yield _end(definition.at, definition.name, definition.role.split()[0], dict(_named(definition.properties)))


def _store_of(definition: AggregationDefinition) -> Iterator[AppEnd]:
    options = aggregation_options(definition)
    if "store.type" in options:
        at = next((one.at for one in definition.annotations if one.name.lower() == "store"), definition.at)
        own = {key.removeprefix("store."): one for key, one in options.items() if key.startswith("store.")}
        yield _end(at, definition.name, "store", own)


def aggregation_options(definition: AggregationDefinition) -> dict[str, str]:
    """Return what an aggregation's text says beside its query, by names in small letters: `store.type`,
    `purge.interval`, `purge.retentionperiod.sec`, `aggtimezone`."""
    options = {key.lower(): value for key, value in _named(definition.properties)}
    for annotation in definition.annotations:
        name = annotation.name.lower()
        for key, value in _options(annotation).items():
            options[f"{name}.{key}".rstrip(".").lower()] = value
        if name == "store":
            # without a type, too, it says that the rows are kept
            options.setdefault("store.type", "")
    return options


def error_action(definition: StreamDefinition) -> tuple[Place, str] | None:
    """Return what `@OnError` says of a stream, in small letters, and where; None if it says nothing."""
    for annotation in definition.annotations:
        if annotation.name.lower() == "onerror":
            action = next(
                (item.value.lower() for item in annotation.items if (item.key or "action") == "action"), "log"
            )
            return annotation.at, action
    return None


STORE_ERRORS = "store"


def keeps_errors(definition: StreamDefinition) -> bool:
    """Return whether rows of the stream that fail go into the error store: so its `@OnError` says, or a sink of it."""
    said = error_action(definition)
    if said is not None and said[1] == STORE_ERRORS:
        return True
    ends = _ends_of(definition)
    return any(end.kind == "sink" and end.options.get("on.error", "").lower() == STORE_ERRORS for end in ends)


def kept_streams(app: App) -> tuple[str, ...]:
    """Return the streams whose rows go into the error store if they fail, in the order of the text."""
    return tuple(one.name for one in app.definitions if isinstance(one, StreamDefinition) and keeps_errors(one))


def has_sink(definition: StreamDefinition) -> bool:
    return "sink" in definition.role or any(one.name.lower() == "sink" for one in definition.annotations)


def _end(at: Place, name: str, kind: str, options: dict[str, str]) -> AppEnd:
    type_ = options.pop("type", "") or options.pop("store.type", "")
    return AppEnd(at, name, kind, type_, options)


def _options(annotation: Annotation) -> dict[str, str]:
    """With those of the annotations in it, each below the annotation's name. Of several texts without a name those
    behind the first have their places as names."""
    options: dict[str, str] = {}
    for name, value in _named(annotation.items):
        options[name if name or "" not in options else str(len(options))] = value
    for inner in annotation.annotations:
        options |= {f"{inner.name.lower()}.{key}": value for key, value in _options(inner).items()}
    return options


def _named(items: Iterable[AnnotationItem]) -> Iterator[tuple[str, str]]:
    return ((item.key or "", item.value) for item in items)
