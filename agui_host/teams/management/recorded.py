"""The migrations that a database has recorded, compared with those of this release."""

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from agui_host.backends.postgres.functions.sql_files import APPS

STEP = "17386624"
"""The newest commit that has each migration that an initial one replaces since."""
IN_BETWEEN = f"This database has only some of the migrations of commit {STEP}."
FIRST = (
    f"Check out {STEP}, let its `migrate` finish, and come back; or use another database, without"
    " DATABASE_URL another AGUI_DATA_DIR."
)


def is_in_between(alias: str) -> bool:
    """Whether it has some of the migrations that an initial one replaces, but not all.

    Django would look for the rest, which are no more, or would even take them for applied.
    """
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    loader = MigrationLoader(connections[alias], load=False)
    loader.load_disk()
    for migration in loader.disk_migrations.values():
        gone = [key for key in migration.replaces if key not in loader.disk_migrations]
        if 0 < sum(key in applied for key in gone) < len(gone):
            return True
    return False


def of_newer_release(loader: MigrationLoader) -> list[str]:
    """Our migrations that the database has and this release has not, in order."""
    ours = {key for migration in loader.disk_migrations.values() for key in migration.replaces}
    ours |= loader.disk_migrations.keys()
    newer = (key for key in loader.applied_migrations if key[0] in APPS and key not in ours)
    return [".".join(key) for key in sorted(newer)]


def is_newest(alias: str) -> bool:
    """Whether exactly our migrations are applied: our functions need the tables of all of them.

    In the database of a newer release, its functions stay.
    """
    loader = MigrationLoader(connections[alias])
    is_complete = loader.graph.nodes.keys() <= loader.applied_migrations.keys()
    return is_complete and not of_newer_release(loader)
