"""Races: calls in threads of their own, from the same moment; transactions that stand still."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What came of each call: its result, or what it raised."""
    barrier = threading.Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            barrier.wait(10)
            return call()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


@contextmanager
def frozen(*rows: QuerySet[Any]) -> Iterator[threading.Event]:
    """Another process has locked these rows and does not go on; set the event to let it go."""
    locked, done = threading.Event(), threading.Event()

    def freeze() -> None:
        try:
            with transaction.atomic():
                assert all(list(each.select_for_update()) for each in rows), "nothing to lock"
                locked.set()
                done.wait(60)
        finally:
            connection.close()

    thread = threading.Thread(target=freeze)
    thread.start()
    try:
        assert locked.wait(10)
        yield done
    finally:
        done.set()
        thread.join(10)
