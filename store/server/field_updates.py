"""The update that turns one stored document into another: only the fields that differ. Pure."""

from collections.abc import Mapping

from store.server.client import Document


def field_update(before: Mapping[str, object], after: Mapping[str, object]) -> Document:
    """`$set` and `$unset` by path ("legs.0.state"); {} if both are equal.

    A list that only grew or changed inside is changed by its elements; one that lost any is set whole.
    """
    changed: Document = {}
    removed: Document = {}
    _compare("", before, after, changed, removed)
    update: Document = {}
    if changed:
        update["$set"] = changed
    if removed:
        update["$unset"] = removed
    return update


def _compare(
    path: str, before: Mapping[str, object], after: Mapping[str, object], changed: Document, removed: Document
) -> None:
    for name, value in after.items():
        if name not in before:
            changed[path + name] = value
        else:
            _compare_value(path + name, before[name], value, changed, removed)
    removed.update((path + name, "") for name in before if name not in after)


def _compare_value(path: str, before: object, after: object, changed: Document, removed: Document) -> None:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        _compare(f"{path}.", before, after, changed, removed)
    elif isinstance(before, list) and isinstance(after, list) and len(before) <= len(after):
        for number, value in enumerate(after):
            if number < len(before):
                _compare_value(f"{path}.{number}", before[number], value, changed, removed)
            else:
                changed[f"{path}.{number}"] = value
    else:
        changed[path] = after
