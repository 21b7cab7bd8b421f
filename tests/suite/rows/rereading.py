"""What tests read from the database again and again, read only when it can have changed."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connection

T = TypeVar("T")


class Reread(Generic[T]):
    """What ``read`` returns; it is called again once a transaction that writes has ended.

    PostgreSQL numbers those transactions only, in the whole cluster. Asking for the newest number
    takes one query, the state of a house takes thirty.
    """

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._newest: Any = None

    def __call__(self) -> T:
        with connection.cursor() as cursor:
            cursor.execute("select pg_snapshot_xmax(pg_current_snapshot())::text")
            (newest,) = cursor.fetchone()
        if newest != self._newest:
            self._value, self._newest = self._read(), newest
        return self._value
