"""Pages of rows, newest first, with opaque cursors."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from ui.api.problems import ProblemError

Row = TypeVar("Row")
Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=500, description="Rows in a page.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`next_cursor` of the page before.")]


class PageRow(BaseModel, Generic[Row]):
    """`next_cursor` is null on the last page."""

    items: list[Row]
    next_cursor: str | None


def page_after(items: Iterable[Item], id_of: Callable[[Item], str], cursor: str | None, limit: int) -> Sequence[Item]:
    """At most `limit` + 1 items behind the one with the id `cursor`. Raises ProblemError where it is gone."""
    remaining = iter(items)
    if cursor is not None and not any(id_of(item) == cursor for item in remaining):
        raise ProblemError(422, "The cursor is unknown or too old; start again without it.")
    return list(islice(remaining, limit + 1))


def next_cursor(items: Sequence[Item], id_of: Callable[[Item], str], limit: int) -> str | None:
    """The cursor behind the first `limit` items; None where there are no more."""
    return id_of(items[limit - 1]) if len(items) > limit else None
