"""The host's servers: PostgreSQL, and Valkey unless ``REDIS_URL`` is empty."""

from typing import Any

from agui_host.backends import valkey
from agui_host.backends.postgres import address, deadlines
from agui_host.embedded import embedded
from agui_project.settings.host import AGUI_DATA_DIR, env
from agui_project.settings.limits import AGUI_DB_THREADS, AGUI_REQUEST_SLOTS

AGUI_EMBEDDED = embedded.own_engines()
AGUI_DATABASE_ROLES: bool = env.flag("AGUI_DATABASE_ROLES", default=True)
AGUI_DATABASE_APP_PASSWORD: str = env.text("AGUI_DATABASE_APP_PASSWORD", secret=True)
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.parsed(
        "DATABASE_URL",
        address.database,
        default=embedded.database(AGUI_DATA_DIR) | {"OPTIONS": address.with_defaults({})},
        secret=True,
    )
}
NO_ADDRESS: dict[str, Any] = {}
AGUI_DATABASE_DIRECT: dict[str, Any] = env.parsed(
    "DATABASE_DIRECT_URL", address.direct, default=NO_ADDRESS, secret=True
)
"""The address that workers and commands use where DATABASE_URL leads to a connection pooler."""
if AGUI_DATABASE_DIRECT and AGUI_EMBEDDED["postgres"]:
    env.problem("DATABASE_DIRECT_URL", "DATABASE_URL is empty; set both or neither")
AGUI_DATABASE_REPLICA: dict[str, Any] = env.parsed(
    "DATABASE_REPLICA_URL", address.replica, default=NO_ADDRESS, secret=True
)
"""The standby from which web processes read where it is as new as the primary."""
if AGUI_DATABASE_REPLICA and AGUI_EMBEDDED["postgres"]:
    env.problem("DATABASE_REPLICA_URL", "DATABASE_URL is empty; set both or neither")
# Without the pool, 54 of 300 concurrent POSTs got 500 and CONN_MAX_AGE leaked connections.
DATABASES["default"] |= {
    "ENGINE": "agui_host.backends.postgres",
    "CONN_MAX_AGE": 0,
    "CONN_HEALTH_CHECKS": True,  # A pooled connection can have died with a restart of Postgres.
}
DATABASES["default"]["OPTIONS"]["pool"] = {
    "connection_class": deadlines.Connection,
    "min_size": 2,
    "max_size": env.number(
        "AGUI_DB_POOL", default=AGUI_DB_THREADS + AGUI_REQUEST_SLOTS + 2, least=2, most=10_000
    ),
    "timeout": 10,
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

EMBEDDED_VALKEY = "" if env.is_blank("REDIS_URL") else embedded.valkey_url(AGUI_DATA_DIR)
REDIS_URL: str = env.parsed("REDIS_URL", valkey.address, default=EMBEDDED_VALKEY, secret=True)
"""Empty: no Valkey, PostgreSQL notifies and counts (``agui_host.backends.without_valkey``)."""
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "agui_host.backends.bell.BellLayer", "CONFIG": {"hosts": [REDIS_URL]}}
}
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "agui_host.backends.cache.ForgivingCache", "LOCATION": REDIS_URL}
}
if not REDIS_URL:
    CHANNEL_LAYERS["default"] = {"BACKEND": "agui_host.backends.without_valkey.layer.PostgresLayer"}
    CACHES["default"] = {"BACKEND": "agui_host.backends.without_valkey.cache.PostgresCache"}
