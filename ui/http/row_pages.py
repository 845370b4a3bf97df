"""Pages of rows, newest first, with opaque cursors."""

from collections.abc import Callable
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from store.server.page_reader import Page

Row = TypeVar("Row")
Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=500, description="Rows per page.")]
Cursor = Annotated[str | None, Query(max_length=400, description="`next_cursor` of the previous page.")]


class PageRow(BaseModel, Generic[Row]):
    """`next_cursor` is null on the last page."""

    items: list[Row]
    next_cursor: str | None


def page_row(page: Page[Item], row: Callable[[Item], Row]) -> PageRow[Row]:
    """Return `page` with each item as its `row`."""
    return PageRow(items=[row(item) for item in page.items], next_cursor=page.next_cursor)
