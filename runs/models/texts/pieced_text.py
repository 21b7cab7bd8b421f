"""PiecedText: a column with a text, or with references to the pieces of a text."""

from typing import Any

from django.db import models
from django.db.models import F, Func, IntegerField


class PiecedText(models.TextField):  # type: ignore[type-arg]
    """A text of which ``runs/lifecycle/pieces/`` may have stored the long parts as pieces.

    Whatever reads the column gets the whole text: ``agui_whole`` puts it together in the query.
    Only that function, ``agui_whole_size`` and ``agui_drop_pieces`` see what is stored.
    """

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """The column in the list of what a query selects."""
        return f"agui_whole({sql})", params


def whole_size(name: str) -> Func:
    """The bytes of the whole text of that column, without reading the text."""
    return Func(F(name), function="agui_whole_size", output_field=IntegerField())
