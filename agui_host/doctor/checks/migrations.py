"""The database's schema is that of this release."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from agui_host.backends.postgres.functions.sql_files import APPS
from agui_host.doctor.findings import Fault, check


@check("migrations", needs="database")
def migrations() -> str | list[Fault]:
    """Whether all migrations are applied, and none of a newer release."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        first, _ = plan[0]
        return [
            Fault(
                f"{len(plan)} migrations are not applied; the first is {first}.",
                "agui-host migrate",
            )
        ]
    files = executor.loader.disk_migrations
    ours = {key for migration in files.values() for key in migration.replaces} | files.keys()
    newer = sorted(
        key for key in executor.loader.applied_migrations if key[0] in APPS and key not in ours
    )
    if newer:
        return [
            Fault(
                f"The database is of a newer release: it has {newer[-1][0]}.{newer[-1][1]}.",
                "Start the newer release, or restore a backup of this one.",
            )
        ]
    return "all are applied"
