"""The one place that connects to Valkey: one server, a primary that sentinels name, or a cluster.

The bell, the cache and the counted seats take their clients from here; none of them depends on the
kind of server that ``REDIS_URL`` names.
"""

from agui_host.backends.valkey.addresses import address, has_replicas, place
from agui_host.backends.valkey.clients import ERRORS, async_client, client, hosts, renew, rest
from agui_host.backends.valkey.probes import reach, refusal, state

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
