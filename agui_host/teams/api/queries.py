"""The query of a list: an unknown name is refused, so that the answer is no broader than asked."""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.request import Request
from rest_framework.views import APIView

from agui_host.protocol.input.members import unknown


def refuse_unknown(request: Request, names: Collection[str]) -> None:
    """Raises UnknownMember for a name in the query that is none of ``names``."""
    for name in request.query_params:
        if name not in names:
            raise unknown(name, names)


class KnownFilters(DjangoFilterBackend):  # type: ignore[misc]
    """The filters of a list. A view names in ``queries`` the parameters that it reads itself."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> Any:
        """Raises UnknownMember before anything is read."""
        names = set(getattr(view, "queries", ()))
        if (filters := getattr(view, "filterset_class", None)) is not None:
            names |= set(filters.base_filters)
        if (paginator := getattr(view, "paginator", None)) is not None:
            names |= {paginator.cursor_query_param, paginator.page_size_query_param}
        refuse_unknown(request, names)
        return super().filter_queryset(request, queryset, view)
