"""A stored document becomes another one by its changed fields alone."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.server.client import Document
from store.server.field_updates import field_update

NAMES = st.sampled_from("abc")
VALUES = st.recursive(
    st.none() | st.integers(0, 2) | st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=3)


def applied(document: Document, update: Document) -> Document:
    """As MongoDB applies `$set` and `$unset`."""
    changed = copy.deepcopy(document)
    for kind, fields in update.items():
        assert isinstance(fields, dict)
        for path, value in fields.items():
            *inner, last = path.split(".")
            place: dict[str, object] | list[object] = changed
            for name in inner:
                place = place[int(name)] if isinstance(place, list) else place[name]  # type: ignore[assignment]
            if isinstance(place, list):
                if int(last) == len(place):
                    place.append(value)
                else:
                    place[int(last)] = value
            elif kind == "$set":
                place[last] = value
            else:
                del place[last]
    return changed


@given(before=DOCUMENTS, after=DOCUMENTS)
def test_the_update_turns_one_into_the_other(before: Document, after: Document) -> None:
    assert applied(before, field_update(before, after)) == after


@pytest.mark.parametrize(
    ("before", "after", "update"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"$set": {"b": 3}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"$unset": {"a.c": ""}}),
        ({"legs": [{"is": 1, "x": 1}]}, {"legs": [{"is": 2, "x": 1}]}, {"$set": {"legs.0.is": 2}}),
        ({"legs": [1]}, {"legs": [1, 2]}, {"$set": {"legs.1": 2}}),
        ({"legs": [1, 2]}, {"legs": [1]}, {"$set": {"legs": [1]}}),
    ],
)
def test_only_what_differs_is_named(before: Document, after: Document, update: Document) -> None:
    assert field_update(before, after) == update
