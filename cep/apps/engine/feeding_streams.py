"""Streams whose rows come back to themselves: an app with such a circle may never be done with one row."""

from collections.abc import Mapping, Sequence

from cep.apps.language.app_tree import App, InsertInto, PartitionBlock, Source
from cep.apps.language.stream_names import nodes_of


def too_deep(app: App) -> str:
    """Why a row needs more calls within calls than there may be."""
    circle = feeding_circle(app)
    if circle is None:
        return "too many queries follow each other"
    return f"the stream {circle[0]!r} feeds itself without end ({' -> '.join((*circle, circle[0]))})"


def feeding_circle(app: App) -> tuple[str, ...] | None:
    """Return the first circle of streams, each of which a query writes to that reads the one before; None: there is
    none."""
    feeds = _feeds(app)
    for first in feeds:
        path = path_back(feeds, first)
        if path is not None:
            return path
    return None


def _feeds(app: App) -> Mapping[str, list[str]]:
    """Stream → those that a query writes to which reads it."""
    feeds: dict[str, list[str]] = {}
    for element in app.elements:
        for query in element.queries if isinstance(element, PartitionBlock) else (element,):
            if isinstance(query.output, InsertInto):
                target = query.output.target.mark + query.output.target.name
                for node in nodes_of(query.input):
                    if isinstance(node, Source):
                        feeds.setdefault(node.mark + node.name, []).append(target)
    for processor in app.processors:
        for event in processor.events:
            feeds.setdefault(event.name, []).extend(one.target.name for one in processor.emits)
    return feeds


def path_back(feeds: Mapping[str, Sequence[str]], first: str) -> tuple[str, ...] | None:
    """From `first` by which streams back to it, the shortest; None if no way leads back."""
    waiting: list[tuple[str, ...]] = [(first,)]
    seen = {first}
    for path in waiting:
        for after in feeds.get(path[-1], ()):
            if after == first:
                return path
            if after not in seen:
                seen.add(after)
                waiting.append((*path, after))
    return None
