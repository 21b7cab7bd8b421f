"""A pool of database connections for the host's own calls, which others cannot empty.

All code in a process shares Django's pool: views, and in a worker the agents' own ORM calls, which
can take all of it for as long as they like. The threads of ``bridge.db`` take theirs here.
"""

from typing import Any

from django.db import connection, connections

from agui_host.backends.postgres.base import DatabaseWrapper


class ReservedWrapper(DatabaseWrapper):
    """Django's connection under the same alias, with its own pools."""

    _connection_pools: dict[str, Any] = {}

    @classmethod
    def close_pools(cls) -> None:
        """Close all of these pools; threads that are still there open new ones."""
        while cls._connection_pools:
            cls._connection_pools.popitem()[1].close()


def connect(size: int) -> None:
    """Let this thread take its connections from the host's own pool, of ``size`` connections."""
    settings = connection.settings_dict
    options = dict(settings["OPTIONS"])
    if isinstance(pool := options.get("pool"), dict):
        options["pool"] = {**pool, "min_size": min(2, size), "max_size": size}
    connection.close()
    connections["default"] = ReservedWrapper({**settings, "OPTIONS": options}, "default")
