"""Shared by the lists and answers of all resources."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from agui_host.backends.postgres.servers import replica
from agui_host.errors import BadCursor


class FromReplica:
    """Of a list view: its page is read from the read replica, where that is as new."""

    @replica.reading
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The page."""
        answer: Response = super().list(request, *args, **kwargs)  # type: ignore[misc]
        return answer


class NewestFirst(CursorPagination):
    """Keyset pages: the next page costs as much as the first one."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = "-id"
    position: Callable[[str], object] = UUID
    """Makes a position of the ordering's field from text, or raises ValueError."""

    def parse_position(self, text: str) -> object:
        """The position in the text, or ValueError."""
        return type(self).position(text)

    def decode_cursor(self, request: Request) -> Any:
        """Raises BadCursor for a cursor that this host never issued."""
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None:
                self.parse_position(str(cursor.position))
        except (NotFound, ValueError):
            raise BadCursor("This cursor does not belong to this list.") from None
        return cursor

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The shape of a page, without DRF's examples, of which one is no address."""
        page: dict[str, Any] = super().get_paginated_response_schema(schema)
        for name in ("next", "previous"):
            page["properties"][name].pop("example")
        return page
