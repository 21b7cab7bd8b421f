"""The PostgreSQL that this pass tests: the wheel's 18, or the one of ``AGUI_TEST_POSTGRES``."""

import os
import re
import select
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor

from agui_host.backends.postgres.base import own_connection
from tests.machine_postgres import VARIABLE


def expected() -> int:
    """The major version of the binaries that the engines were told to run."""
    if not (folder := os.environ.get(VARIABLE)):
        return 18
    command = [Path(folder) / "postgres", "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    major = re.search(r"(\d+)\.", answer)
    assert major, answer
    return int(major[1])


@pytest.mark.django_db
def test_it_is_migrated_from_nothing() -> None:
    """The database of the tests was made by the migrations, from an empty one."""
    connection.ensure_connection()
    assert connection.connection.info.server_version // 10_000 == expected()
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    assert len(executor.loader.applied_migrations) > 50


@pytest.mark.django_db
def test_no_statement_is_compiled() -> None:
    """Debian's PostgreSQL does so by default, which takes longer than a search."""
    with connection.cursor() as cursor:
        cursor.execute("show jit")
        assert cursor.fetchone()[0] == "off"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", ["busy", "idle"])
def test_a_transaction_has_its_limit(step: str) -> None:
    """PostgreSQL 15 and 16 bound its statements and its pauses, 17 the whole."""

    def overstay() -> bool:
        """Whether the server ended it; on a connection of this thread's own."""
        own_connection(f"agui-test-{step}", transaction_seconds=1)
        try:
            with connection.cursor() as cursor:
                cursor.execute("begin")
                if step == "busy":
                    cursor.execute("select pg_sleep(20)")
            return bool(select.select([connection.connection.fileno()], [], [], 20)[0])
        except Error:
            return True
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        began = time.monotonic()
        assert thread.submit(overstay).result()
        assert time.monotonic() - began < 15
