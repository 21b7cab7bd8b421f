"""The one place that connects to Valkey: one server, a primary that sentinels name, or a cluster.

The bell, the cache and the counted seats take their clients from here; none of them knows which
kind of server ``REDIS_URL`` names.
"""

from backends.valkey.addresses import address, has_replicas, place
from backends.valkey.clients import ERRORS, async_client, client, hosts, renew, rest
from backends.valkey.probes import reach, refusal, state

__all__ = [
    "ERRORS",
    "address",
    "async_client",
    "client",
    "has_replicas",
    "hosts",
    "place",
    "reach",
    "refusal",
    "renew",
    "rest",
    "state",
]
