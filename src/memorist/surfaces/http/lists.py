"""Lists on the wire: which page is asked for, and how it is answered."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Query

from memorist.platform.paging import Page
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.texts import CursorText

T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=100, description="How many rows a page has.")]
Cursor = Annotated[CursorText | None, Query(description="`next_cursor` of the page before.")]


def listed(page: Page[T], encode: Callable[[T], Any]) -> Json:
    rows = [encode(one) for one in page.items]
    return Json({"data": rows, "next_cursor": page.next_cursor, "has_more": page.next_cursor is not None})
