"""How PostgreSQL answers a page: ``python -m benchmarks.inspector.plans ADDRESS …``.

For a data directory that ``pages`` has filled, which ``AGUI_DATA_DIR`` names: each statement of the
page that takes SLOW milliseconds or more, with its plan, and how often each index was read since
the directory was filled.
"""

import os
import sys
import time
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

SLOW = float(os.environ.get("SLOW", "20"))
READS = """
select indexrelname, idx_scan, pg_size_pretty(pg_relation_size(indexrelid))
  from pg_stat_user_indexes where relname = 'runs_run' order by idx_scan desc
"""


class Plans:
    """Wraps each statement of a request, in whose transaction its plan is made."""

    def __init__(self) -> None:
        self.statements, self.seconds = 0, 0.0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        outcome = execute(sql, params, many, context)
        took = time.perf_counter() - began
        self.statements, self.seconds = self.statements + 1, self.seconds + took
        if took * 1e3 >= SLOW and sql.lstrip("\n (").lower().startswith(("select", "with")):
            with context["connection"].connection.cursor() as cursor:
                cursor.execute(f"explain (analyze, buffers) {sql}", params)
                plan = "\n".join(str(line) for (line,) in cursor.fetchall())
            print(f"{took * 1e3:.1f} ms\n{sql[:2000]}\n{plan}\n", flush=True)
        return outcome


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.row_security import switch

    embedded.ensure()
    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client

    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client(headers={"accept": "text/html,application/json;q=0.9"})
    client.force_login(User.objects.get(username__in=("leader", "finder")))
    switch(True)
    for address in sys.argv[1:]:
        client.get(address)
        plans = Plans()
        with connection.execute_wrapper(plans):
            began = time.perf_counter()
            status = client.get(address).status_code
            took = time.perf_counter() - began
        print(
            f"{address}: {status}, {took * 1e3:.0f} ms, of which {plans.seconds * 1e3:.0f} ms in"
            f" {plans.statements} statements\n",
            flush=True,
        )
    switch(False)
    with connection.cursor() as cursor:
        cursor.execute(READS)
        for name, reads, size in cursor.fetchall():
            print(f"{name:<32} {reads:>9} reads   {size}")


if __name__ == "__main__":
    main()
