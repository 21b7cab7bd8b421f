"""The database's schema is that of this release."""

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.migrations.executor import MigrationExecutor

from agui_host.doctor.findings import Fault, check
from agui_host.teams.management import recorded


@check("migrations", needs="database")
def migrations() -> str | list[Fault]:
    """Whether all migrations are applied, and none of a newer release."""
    if recorded.is_in_between(DEFAULT_DB_ALIAS):
        return [Fault(recorded.IN_BETWEEN, recorded.FIRST)]
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
    newer = recorded.of_newer_release(executor.loader)
    if newer:
        return [
            Fault(
                f"The database is of a newer release: it has {newer[-1]}.",
                "Start the newer release, or restore a backup of this one.",
            )
        ]
    return "all are applied"
