"""The engines that a host of a history can have in place of those that ``up`` starts."""

from tests.histories.engines import postgresql, valkey
from tests.histories.engines.engine import Begin, Engine

__all__ = ["ENGINES", "Begin", "Engine"]

ENGINES: dict[str, Begin] = {
    "synchronous": postgresql.synchronous,
    "asynchronous": postgresql.asynchronous,
    "haproxy": postgresql.haproxy,
    "patroni": postgresql.patroni,
    "pgbouncer": postgresql.pgbouncer,
    "replica": postgresql.replica,
    "bucket": postgresql.bucket,
    "sentinel": valkey.sentinel,
    "cluster": valkey.cluster,
    "without-valkey": valkey.without,
}
"""By the name that ``--engine`` takes."""
