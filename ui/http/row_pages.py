"""Pages of rows, newest first, with opaque cursors."""

from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

Row = TypeVar("Row")

Limit = Annotated[int, Query(ge=1, le=500, description="Rows per page.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`next_cursor` of the previous page.")]


class PageRow(BaseModel, Generic[Row]):
    """`next_cursor` is null on the last page."""

    items: list[Row]
    next_cursor: str | None
