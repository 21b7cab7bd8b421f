"""What many queries return, read by one statement that is compiled once."""

from typing import Any

from django.db import connection
from django.db.models import QuerySet


class Glance:
    """The rows of each query as texts, in no order of the query's own."""

    def __init__(self, *queries: "QuerySet[Any, Any]") -> None:
        parts, self._parameters = [], list[Any]()
        for query in queries:
            text, parameters = query.order_by().query.sql_with_params()
            parts.append(f"(select array_agg(x::text order by x::text) from ({text}) x)")  # noqa: S608
            self._parameters += parameters
        self._statement = f"select {', '.join(parts)}"

    def __call__(self) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(self._statement, self._parameters)
            return cursor.fetchone()
