"""Shared by the lists and answers of all resources."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request

from agui_project.errors import BadCursor


class NewestFirst(CursorPagination):
    """Keyset pages: the next page costs as much as the first one."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = "-id"
    position: Callable[[str], object] = UUID
    """Makes a position of the ordering's field from text, or raises ValueError."""

    def parse_position(self, text: str) -> object:
        """The position that the text stands for, or ValueError."""
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
