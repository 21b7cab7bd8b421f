"""The server of notifications: Valkey, or PostgreSQL in its place."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from redis.exceptions import RedisError

from agui_host.backends import ringer, valkey
from agui_host.backends.valkey.addresses import parse
from agui_host.doctor.findings import Fault, check, of_line

KINDS = {"sentinel": "the primary that sentinels name", "cluster": "a cluster"}


@check("valkey", needs="database")
def notifications() -> str | list[Fault]:
    """Whether it accepts the host's writes, passes messages on, and stays so when it is full."""
    try:
        place = ringer.reach()
    except ImproperlyConfigured as error:
        return [of_line(str(error))]
    if not settings.REDIS_URL:
        return "none; PostgreSQL notifies"
    kind = parse(settings.REDIS_URL).kind
    where = valkey.place(settings.REDIS_URL)
    state = ringer.state()
    if place == "unreachable" or state == "down":
        return [
            Fault(
                f"Valkey at {where} does not answer, so events arrive late.",
                "Start it, or correct REDIS_URL (docs/operations.md#valkey-down).",
            )
        ]
    if state != "ok":
        return [
            Fault(
                f"Valkey at {where} {state}.",
                "Name a server that accepts writes in REDIS_URL (docs/howto-valkey.md).",
            )
        ]
    if kind not in KINDS and _fills_up():
        return [
            Fault(
                f"Valkey at {where} refuses writes when it is full: maxmemory-policy is"
                " noeviction.",
                "config set maxmemory-policy allkeys-lru",
            )
        ]
    return f"{KINDS.get(kind, 'one server')} at {where}"


def _fills_up() -> bool:
    client = valkey.client(settings.REDIS_URL, 2.0)
    try:
        memory = client.info("memory")
    except RedisError:
        return False  # The user has no right to ask.
    finally:
        client.close()
    return bool(memory.get("maxmemory")) and memory.get("maxmemory_policy") == "noeviction"
